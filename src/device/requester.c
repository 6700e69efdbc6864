/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester: turns a work request into a packet. Its steps are context
 * load, descriptor load, routing fetch, command frame, (window load for remote
 * memory), payload, completion, context write-back. A direct call passes its
 * arguments in registers and needs none of the first three steps; a VCI from
 * the work queue goes through all of them.
 */

/* The steps after the route is known: command frame, payload, completion. */
static folded int requester_issue(struct origin *o, struct op_record *op,
	struct context *to, const struct packet *p, struct reference *ref,
	bool may_be_posted)
{
	/* A borrowed message completes when its target has read it. */
	bool borrowed = ref && !reference_is_copied(p->reference - 1);
	bool notify = borrowed || p->flags & CAY_VCI_NOTIFY ||
		      p->command & CAY_COMMAND_ACK;
	/* A message by reference checks before it allocates its slot. */
	if (!ref && hazard_fence(o, p->flags))
		return -EAGAIN;
	if (notify && unlikely(!ack_reserve(o)))
		return -EAGAIN;

	int r = transmit_message(to, op, p, ref, may_be_posted);
	if (unlikely(r)) {
		if (notify)
			ack_unreserve(o, 1);
		return r;
	}
	if (notify && !borrowed)
		complete_message(o, op, p, to->vpid);
	return 0;
}

/*
 * Does the same and follows migrations of the peer. may_be_posted is a constant
 * where it is false, so that the packet stays in registers.
 */
static folded int requester_route(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct packet *p,
	struct reference *ref, bool may_be_posted)
{
	for (;;) {
		struct context *to = host_context(slot);
		int r = requester_issue(o, op, to, p, ref, may_be_posted);
		if (likely(r != -EPIPE && r != -ESTALE))
			return r;
		if (!host_follow(slot, to))
			return -EPIPE;
	}
}

/*
 * Sends up to QUEUE_CLAIM_MAX messages of up to 40 bytes without flags, and
 * follows migrations of the peer. Returns how many are sent, or -EAGAIN or
 * -EPIPE if none is.
 */
static folded int requester_burst(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct cay_message *messages,
	uint32_t count)
{
	const struct packet common = { .command = CAY_FAST_SEND,
		.origin_vpid = o->vpid,
		.origin_node = o->node,
		.pieces = 1 };
	uint32_t sent = 0;
	do {
		struct context *to = host_context(slot);
		int r = completer_burst(
			to, op, common, messages + sent, count - sent);
		if (likely(r > 0))
			sent += (uint32_t)r;
		else if (r == -EAGAIN || !host_follow(slot, to))
			return sent ? (int)sent : r == -EAGAIN ? r : -EPIPE;
	} while (sent < count);
	return (int)sent;
}

/* Fills in a reference slot of this thread and sends the message. */
static inline int requester_issue_reference(struct origin *o,
	struct op_record *op, _Atomic(struct context *) *slot, struct packet *p,
	const struct reference *source, uint32_t index)
{
	struct reference *ref = &o->refs[index];
	struct context *to = host_context(slot);
	p->sequence = reference_fill(ref, source, p, to);
	p->reference = index + 1;
	reference_ready(ref, p->sequence, op);
	return requester_route(o, op, slot, p, ref, false);
}

/* Sends a borrowed message: allocates a reference slot first. */
static inline int requester_reference(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, struct packet *p,
	const struct reference *source, uint32_t *used)
{
	int index = hazard_fence(o, p->flags) ? -1 : reference_allocate(o);
	if (index < 0)
		return -EAGAIN;
	int r = requester_issue_reference(
		o, op, slot, p, source, (uint32_t)index);
	if (unlikely(r))
		reference_free(o, (uint32_t)index);
	*used = (uint32_t)index;
	return r;
}

/*
 * Sends a copied message: copies the payload into staging memory, which the
 * target reads in place. The calling thread owns the slot and the memory; after
 * a failure the slot is FREE.
 */
static inline int requester_copied(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, struct packet *p,
	const struct reference *source, unsigned char *staging, uint32_t index)
{
	struct context *to = host_context(slot);
	if (hazard_fence(o, p->flags) ||
		claim_would_fail(to, completer_reserve(to, p->flags)))
		return -EAGAIN;
	for (uint32_t i = 0; i < p->pieces; i++) {
		const struct iovec *piece = &p->payload[i];
		if (piece->iov_len)
			host_stage(
				to, staging, piece->iov_base, piece->iov_len);
		staging += piece->iov_len;
	}
	host_step(op, STEP_STAGED);
	int r = requester_issue_reference(o, op, slot, p, source, index);
	if (unlikely(r))
		reference_reset(&o->refs[index]);
	return r;
}

/* ---- remote memory ---- */

/* Word mode, at the target; follows migrations of the peer. */
__attribute__((cold, noinline)) static int requester_check_words(
	struct op_record *op, _Atomic(struct context *) *slot,
	const struct packet *p)
{
	struct context *to;
	int r;
	do {
		to = host_context(slot);
		r = window_check_words(to, op, p);
	} while (r == -EPIPE && host_follow(slot, to));
	return r;
}

/*
 * Orders earlier stores of this port before the loads of a get: a processor may
 * let a load pass a store, but operations execute in order of issue.
 */
static inline void requester_order_load(uint32_t right)
{
	if (right == CAY_RIGHT_READ)
		host_fence();
}

/*
 * Executes an access. Returns 0; 1 (refused, with an error completion); -EAGAIN
 * (nothing has happened); -EPIPE; or the result of host_emulate().
 */
static inline int requester_access(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct packet *p)
{
	bool completes = packet_completes(p);
	struct response response = { 0 };

	if (hazard_fence(o, p->flags))
		return -EAGAIN;
	if (completes && unlikely(!ack_reserve(o)))
		return -EAGAIN;
	int r = unlikely(o->word_mode) ? requester_check_words(op, slot, p) : 0;
	if (unlikely(hazard_order(o, slot, p)))
		r = r ? r : -EXDEV;
	if (!(p->flags & CAY_VCI_FREE_ORDER))
		requester_order_load(window_right(p->command));
	if (likely(!r))
		r = transmit_access(op, slot, p, &response);
	if (unlikely(r == -EXDEV && !host_can_emulate(o)))
		r = CAY_ERROR_MEMORY;
	if (unlikely(r > 0))
		return complete_refused(o, op, slot, p, completes, r);
	if (unlikely(r)) {
		if (completes)
			ack_unreserve(o, 1);
		return r == -EXDEV ? host_emulate(o, op, slot, p) : r;
	}
	if (completes)
		complete_access(o, op, slot, p, &response);
	return 0;
}

/*
 * Fast path of an access without flags. Returns the address of its memory, or
 * NULL if the fast path is not possible; requester_fast_end() ends the access.
 */
static inline unsigned char *requester_fast_begin(const struct origin *o,
	struct op_record *op, _Atomic(struct context *) *slot,
	const struct target *t, uint64_t bytes, uint32_t right)
{
	/* Relaxed: own accesses only, as in hazard_order(). */
	if (unlikely(o->word_mode ||
		     private_load32(&o->device.emulated_in_flight)))
		return NULL;
	const struct context *to = host_context(slot);
	requester_order_load(right);
	unsigned char *at = window_fast_path(to, op, t, bytes, right);
	if (unlikely(!at))
		record_access_end(op);
	return at;
}

static inline int requester_fast_end(struct op_record *op)
{
	host_step(op, STEP_STORED);
	record_access_end(op);
	return 0;
}

/* The slow path, with everything that the fast path omits. */
__attribute__((noinline, unused)) static int requester_slow_access(
	struct origin *o, struct op_record *op, _Atomic(struct context *) *slot,
	const struct target *t, struct packet p)
{
	p.origin_vpid = o->vpid;
	p.origin_node = o->node;
	p.origin_lock = o->lock_word;
	p.window = (uint16_t)t->window;
	p.capability = t->capability;
	p.offset = t->offset;
	p.pieces = 1;
	return requester_access(o, op, slot, &p);
}

/* ---- a VCI from the work queue ---- */

/* Executes a checked VCI. Returns 0, -EAGAIN or -EPIPE. */
static int requester_vci(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct cay_vci *v)
{
	uint64_t fetched[CAY_FAST_PUT_WORDS];
	struct iovec data;
	struct packet p;

	requester_packet(o, v, fetched, &p, &data);
	if (!command_is_send(p.command)) {
		int r = requester_access(o, op, slot, &p);
		return r > 0 ? 0 : r;
	}
	if (p.length > QUEUE_PAYLOAD_MAX)
		p.flags |= CAY_VCI_NOTIFY; /* as if by reference */
	int r = requester_route(o, op, slot, &p, NULL,
		command_operation(p.command) == CAY_SEND);
	if (r != -E2BIG)
		return r;
	const unsigned char *base = host_context(&o->device.own)->arena->base;
	struct reference source = { .kind = REFERENCE_ARENA,
		.address = (uint64_t)((unsigned char *)data.iov_base - base),
		.length = p.length };
	uint32_t used;
	return requester_reference(o, op, slot, &p, &source, &used);
}

/* The first check that fails decides: command, route, origin, target. */
static enum cay_error requester_check(struct origin *o, const struct cay_vci *v,
	_Atomic(struct context *) **slot)
{
	unsigned command = command_operation((unsigned)v->word[0]);
	uint64_t route = v->word[0] >> CAY_VCI_ROUTING_OFFSET_SHIFT;
	enum cay_error error;

	if (!vci_valid(v))
		return CAY_ERROR_COMMAND;
	error = route_fetch(o, (uint32_t)(route & CAY_VCI_ROUTING_OFFSET_MASK),
		(uint8_t)(v->word[0] >> CAY_VCI_ROUTING_LENGTH_SHIFT), slot);
	if (!error && command == CAY_SEND)
		error = requester_check_send(o, v);
	if (!error && requester_two_windows(command))
		error = requester_check_origin(o, v);
	if (error)
		return error;
	struct context *to = host_context(*slot);
	return to->vpid == (uint16_t)v->word[CAY_VCI_WORD_TARGET]
		       ? CAY_ERROR_NONE
		       : CAY_ERROR_TARGET_VPID;
}
