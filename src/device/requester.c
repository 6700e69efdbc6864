/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester: turns a work request into a packet. Its steps are
 * context load, descriptor load, routing fetch, command frame, (window load
 * for remote memory), payload, completion, context write-back. A direct issue
 * hands it what it already has in registers, so that the first three steps
 * fold away; a VCI from the work queue goes through all of them.
 */

/* A fenced request waits for all before it: for long messages under way. */
static inline bool requester_fenced(const struct origin *o, unsigned flags)
{
	return unlikely(flags & CAY_VCI_FENCE) && reference_pending(o);
}

/* Steps after the route is known: command frame out, payload, completion. */
static inline int requester_issue(struct origin *o, struct op_record *op,
	struct context *to, const struct packet *p, struct reference *ref)
{
	bool notify = ref || p->flags & CAY_VCI_NOTIFY ||
		      p->command & CAY_COMMAND_ACK;
	/* A long message has looked before it took its slot. */
	if (!ref && requester_fenced(o, p->flags))
		return -EAGAIN;
	if (notify && unlikely(!ack_reserve(o)))
		return -EAGAIN;

	int r = dispatch_request(to, op, p, ref);
	if (unlikely(r)) {
		if (notify)
			ack_unreserve(o, 1);
		return r;
	}
	/* A long message completes when its target has taken it. */
	if (!notify || ref)
		return 0;
	struct completion c = { .tag = p->tag,
		.api_tag = p->api_tag,
		.command = p->command,
		.peer_node = o->node,
		.peer_vpid = to->vpid,
		.length = p->length };
	ack_own(o, op, &c);
	return 0;
}

/* The same, wherever the peer has moved to meanwhile. */
static inline int requester_route(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct packet *p,
	struct reference *ref)
{
	for (;;) {
		struct context *to =
			atomic_load_explicit(slot, memory_order_acquire);
		int r = requester_issue(o, op, to, p, ref);
		if (likely(r != -EPIPE && r != -ESTALE))
			return r;
		if (!context_follow(slot, to))
			return -EPIPE;
	}
}

/* A long message: fill in a reference slot, then as any other. */
static inline int requester_reference(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, struct packet *p,
	const struct reference *source, uint32_t *used)
{
	int index = requester_fenced(o, p->flags) ? -1 : reference_take(o);
	if (index < 0)
		return -EAGAIN;
	struct reference *ref = &o->refs[index];
	struct context *to = atomic_load_explicit(slot, memory_order_acquire);
	p->sequence = reference_fill(ref, source, p->tag, to);
	p->reference = (uint32_t)index + 1;
	reference_ready(ref, p->sequence, op);

	int r = requester_route(o, op, slot, p, ref);
	if (unlikely(r))
		reference_free(o, (uint32_t)index);
	*used = (uint32_t)index;
	return r;
}

/* ---- a VCI from the work queue ---- */

static inline struct packet requester_frame(
	const struct origin *o, const struct cay_vci *v)
{
	return (struct packet){
		.command = (uint16_t)v->word[0],
		.flags = (uint8_t)(v->word[0] >> CAY_VCI_FLAGS_SHIFT),
		.origin_vpid = o->vpid,
		.origin_node = o->node,
		.tag = v->word[CAY_VCI_WORD_TAG],
		.api_tag = (uint32_t)(v->word[CAY_VCI_WORD_TARGET] >>
				      CAY_VCI_API_TAG_SHIFT),
		.pieces = 1,
	};
}

static int requester_fast_send(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct cay_vci *v)
{
	struct packet p = requester_frame(o, v);
	struct iovec data = { (void *)&v->word[CAY_VCI_WORD_DATA],
		(v->word[CAY_VCI_WORD_TARGET] >> CAY_VCI_BYTES_SHIFT) &
			0xffff };
	p.length = data.iov_len;
	p.payload = &data;
	return requester_route(o, op, slot, &p, NULL);
}

static int requester_send(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct cay_vci *v,
	const struct arena *arena)
{
	struct packet p = requester_frame(o, v);
	uint64_t offset = v->word[CAY_VCI_WORD_SDR_OFFSET];
	struct iovec data = { o->sdr + offset, v->word[CAY_VCI_WORD_LENGTH] };
	p.length = data.iov_len;
	p.payload = &data;
	if (p.length <= QUEUE_PAYLOAD_MAX)
		return requester_route(o, op, slot, &p, NULL);
	struct reference source = { .kind = REFERENCE_ARENA,
		.address = (uint64_t)(o->sdr + offset - arena->base),
		.length = p.length };
	uint32_t used;
	return requester_reference(o, op, slot, &p, &source, &used);
}

/* The first check that fails decides: command, route, origin, target. */
static enum cay_error requester_check(struct origin *o, const struct cay_vci *v,
	_Atomic(struct context *) **slot)
{
	unsigned command = v->word[0] & CAY_COMMAND_OPERATION;
	uint32_t route =
		(uint32_t)(v->word[0] >> CAY_VCI_ROUTING_OFFSET_SHIFT) &
		CAY_VCI_ROUTING_OFFSET_MASK;

	if (!vci_valid(v) || (command != CAY_FAST_SEND && command != CAY_SEND))
		return CAY_ERROR_COMMAND;
	enum cay_error error = route_fetch(o, route, slot);
	if (error)
		return error;
	if (command == CAY_SEND &&
		!bits_inside(v->word[CAY_VCI_WORD_SDR_OFFSET],
			v->word[CAY_VCI_WORD_LENGTH], o->sdr_bytes))
		return CAY_ERROR_ORIGIN_BOUNDS;
	struct context *to = atomic_load_explicit(*slot, memory_order_acquire);
	return to->vpid == (uint16_t)v->word[CAY_VCI_WORD_TARGET]
		       ? CAY_ERROR_NONE
		       : CAY_ERROR_TARGET_VPID;
}

/*
 * All steps for one VCI, which is the device's own copy. 0, or -EAGAIN: the
 * request stays where it is. Whatever is wrong with it becomes a NOTIFY_CC
 * with the error; the caller has made sure that there is room for one.
 */
static int requester_execute(
	struct origin *o, struct op_record *op, const struct cay_vci *v)
{
	struct context *own =
		atomic_load_explicit(&o->own, memory_order_acquire);
	unsigned command = v->word[0] & CAY_COMMAND_OPERATION;
	uint16_t target = (uint16_t)v->word[CAY_VCI_WORD_TARGET];
	_Atomic(struct context *) *slot = NULL;
	int r = 0;

	host_step(op, STEP_DESCRIPTOR);
	enum cay_error error = requester_check(o, v, &slot);
	host_step(op, STEP_ROUTE);
	if (!error)
		r = command == CAY_SEND
			    ? requester_send(o, op, slot, v, own->arena)
			    : requester_fast_send(o, op, slot, v);
	if (r == -EPIPE)
		error = CAY_ERROR_GONE;
	if (!error)
		return r;
	if (!ack_reserve(o))
		return -EAGAIN;
	struct completion c = { .tag = v->word[CAY_VCI_WORD_TAG],
		.api_tag = (uint32_t)(v->word[CAY_VCI_WORD_TARGET] >>
				      CAY_VCI_API_TAG_SHIFT),
		.command = (uint16_t)v->word[0],
		.error = (uint8_t)error,
		.peer_node = o->node,
		.peer_vpid = target };
	ack_own(o, op, &c);
	return 0;
}
