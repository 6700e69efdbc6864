/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives: a message of more than 40 bytes is copied into a buffer that
 * its receiver has posted, in the arena or, through the kernel, in private
 * memory of the receiver. The sender claims the buffer and fills it before it
 * claims an entry, so that no other message waits for a long copy.
 *
 * The op record names the slot before it is claimed (X6), and is not IDLE until
 * the slot is announced or READY again: until then the receiver does not reuse
 * buffer or slot. If the sender dies, a slot that it has CLAIMED becomes READY;
 * a FILLED one only if the entry that would have announced it is void.
 * models/posted.pml, node/repair_posted.c.
 *
 * `available` is never less than the number of READY slots, so that none is
 * missed: it is incremented before a slot becomes READY and decremented after
 * it is claimed. A sender that dies in between leaves it too large, which costs
 * other senders a search.
 */

static inline _Atomic uint64_t *posted_state(struct cay_posted_receive *slot)
{
	return (_Atomic uint64_t *)&slot->state;
}

static inline uint64_t posted_claimer(
	const struct context *to, const struct op_record *op)
{
	if (!host_records()) /* the record is private, and so is its address */
		return 0;
	uint64_t at = (uint64_t)((const unsigned char *)op - to->arena->base) /
		      sizeof(*op);
	return at << POSTED_CLAIMER_SHIFT;
}

/* P1: release: the fields, or stores of the last claimer, before the state. */
static inline void posted_set_state(
	struct cay_posted_receive *slot, uint64_t state)
{
	host_store(posted_state(slot), state, HOST_POSTED);
}

static inline void posted_available_add(struct context *to, uint64_t change)
{
	host_add(&to->posted_head->available, change, HOST_POSTED);
}

static inline void posted_record(struct op_record *op, uint64_t slot)
{
	if (host_records())
		host_store(&op->posted, slot, HOST_RECORD);
}

static inline void posted_unclaim(
	struct context *to, struct op_record *op, uint32_t index)
{
	posted_available_add(to, 1);
	posted_set_state(&to->posted[index], POSTED_READY);
	posted_record(op, 0);
}

/*
 * An earlier call of this thread, or of the previous owner of the record, did
 * not return: the slot that it had claimed becomes READY.
 */
static void posted_recover(struct context *to, struct op_record *op)
{
	uint64_t left = host_load_relaxed(&op->posted, HOST_RECORD);
	uint32_t index = (uint32_t)left - 1;
	if ((uint16_t)(left >> 32) == to->vpid && index < to->posted_entries) {
		uint64_t state = posted_claimer(to, op) | POSTED_CLAIMED;
		posted_available_add(to, 1);
		if (!host_cas(posted_state(&to->posted[index]), &state,
			    POSTED_READY, HOST_POSTED))
			posted_available_add(to, (uint64_t)-1);
	}
	posted_record(op, 0);
}

/* X6, then P2: acquire pairs with P1. */
static inline bool posted_claim_slot(
	struct context *to, struct op_record *op, uint32_t index)
{
	struct cay_posted_receive *slot = &to->posted[index];
	uint64_t state = host_load(posted_state(slot), HOST_POSTED);
	if ((state & POSTED_STATE_MASK) != POSTED_READY)
		return false;
	/* The kernel does not let this process write the receiver's memory. */
	if (unlikely(private_load32(&to->process_memory_denied)) &&
		host_load_relaxed(
			(const _Atomic uint64_t *)&slot->flags, HOST_POSTED) &
			CAY_POSTED_PRIVATE)
		return false;
	posted_record(op, (uint64_t)to->vpid << 32 | (index + 1ull));
	host_step(op, STEP_POSTED);
	return host_cas(posted_state(slot), &state,
		posted_claimer(to, op) | POSTED_CLAIMED, HOST_POSTED);
}

/*
 * Copies and checks the fields of a claimed slot, which a peer has written. If
 * they are invalid, or the receiver has cancelled the slot (posted_cancel_on()
 * in port/posted.c), the slot becomes FREE.
 */
static inline bool posted_fields(struct context *to,
	struct cay_posted_receive *slot, struct cay_posted_receive *copy)
{
	*copy = (struct cay_posted_receive){ .offset = host_read(&slot->offset,
						     HOST_POSTED),
		.length = host_load_relaxed(
			(const _Atomic uint64_t *)&slot->length, HOST_POSTED),
		.cookie = host_read(&slot->cookie, HOST_POSTED),
		.flags = host_read(&slot->flags, HOST_POSTED) };
	if (copy->flags & CAY_POSTED_PRIVATE) {
		copy->pid = host_read32(&slot->pid, HOST_POSTED);
		copy->process_cookie =
			host_read32(&slot->process_cookie, HOST_POSTED);
		copy->cookie_address =
			host_read(&slot->cookie_address, HOST_POSTED);
	}
	if (likely(posted_valid(copy, to->arena->bytes)))
		return true;
	posted_set_state(slot, POSTED_FREE);
	return false;
}

/* Claims a slot; returns its index, or -1. */
static int posted_claim(struct context *to, struct op_record *op,
	struct cay_posted_receive *copy)
{
	if (host_load(&to->posted_head->available, HOST_POSTED) == 0)
		return -1;
	uint32_t first = (uint32_t)host_load_relaxed(
		&to->posted_head->next, HOST_POSTED);
	for (uint32_t i = 0; i < to->posted_entries; i++) {
		uint32_t index = (first + i) & (to->posted_entries - 1);
		if (!posted_claim_slot(to, op, index))
			continue;
		host_store_relaxed(
			&to->posted_head->next, index + 1, HOST_POSTED);
		posted_available_add(to, (uint64_t)-1);
		if (posted_fields(to, &to->posted[index], copy))
			return (int)index;
	}
	posted_record(op, 0);
	return -1;
}

/*
 * Copies as much of the payload, from `start` in the buffer, as fits. Returns
 * 0, or 1 for private memory that this process may not write, or that is not
 * mapped.
 */
static int posted_copy(struct context *to, const struct packet *p,
	const struct cay_posted_receive *slot, uint64_t start)
{
	const struct process_memory owner = { .pid = slot->pid,
		.cookie = slot->process_cookie,
		.cookie_address = slot->cookie_address };
	uint64_t at = slot->offset + start;
	uint64_t left = slot->length - bits_min(start, slot->length);
	for (uint32_t i = 0; i < p->pieces && left; i++) {
		uint64_t some = bits_min(p->payload[i].iov_len, left);
		void *from = p->payload[i].iov_base;
		int r = 0;
		if (some && slot->flags & CAY_POSTED_PRIVATE)
			r = host_process(&owner, at, from, some, true);
		else if (some)
			host_copy(
				to->arena->base + at, from, some, HOST_MEMORY);
		if (r == -EPERM || r == -ENOSYS || r == -ESRCH)
			private_store32(&to->process_memory_denied, 1);
		if (r)
			return 1;
		at += some;
		left -= some;
	}
	return 0;
}

static void posted_entry(struct context *to, const struct packet *p,
	const struct cay_posted_receive *slot, uint32_t index,
	const struct claim *claim)
{
	uint64_t position = queue_nq(claim->w_old);
	struct cay_nqe *nqe = notify_entry(to, position);
	unsigned error = p->length > slot->length ? CAY_ERROR_POSTED_TRUNCATED
						  : CAY_ERROR_NONE;
	notify_head(nqe, p->tag, p->origin_node, p->api_tag);
	notify_fill(nqe, &(struct notify_body){ p->length, slot->cookie,
				 index + 1ull, notify_pointers(claim), 0 });
	notify_publish(
		nqe, notify_word(to, position,
			     (uint16_t)(CAY_NOTIFY_POSTED_RECV |
					error << CAY_COMMAND_ERROR_SHIFT),
			     0, p->origin_vpid));
}

/* Announces a filled buffer. The record is not IDLE afterwards. */
static int posted_publish(struct context *to, struct op_record *op,
	const struct packet *p, const struct cay_posted_receive *slot,
	uint32_t index, const struct claim *claim)
{
	posted_set_state(
		&to->posted[index], posted_claimer(to, op) | POSTED_FILLED);
	host_step(op, STEP_FILLED);
	posted_entry(to, p, slot, index, claim);
	host_step(op, STEP_PUBLISH);
	return notify_wake(to, op, claim, p->flags);
}

/* Returns 0, -EAGAIN, -EPIPE, -ESTALE, or 1 if no buffer is posted. */
static int posted_deliver(
	struct context *to, struct op_record *op, const struct packet *p)
{
	struct cay_posted_receive slot;
	struct claim claim;
	int index = posted_claim(to, op, &slot);
	if (index < 0)
		return 1;
	if (unlikely(posted_copy(to, p, &slot, 0))) {
		/* The slot stays for other senders. */
		posted_unclaim(to, op, (uint32_t)index);
		return 1;
	}
	host_step(op, STEP_PAYLOAD);
	int r = claim_try(
		to, op, 1, 0, completer_reserve(to, p->flags), &claim);
	if (!r)
		r = posted_publish(to, op, p, &slot, (uint32_t)index, &claim);
	if (r)
		posted_unclaim(to, op, (uint32_t)index);
	else
		posted_record(op, 0);
	return r;
}

/*
 * Returns 0, -EAGAIN, -EPIPE, -ESTALE, or 1 if no buffer is posted and the
 * message goes to the RDR.
 */
__attribute__((noinline, unused)) static int posted_send(
	struct context *to, struct op_record *op, const struct packet *p)
{
	uint32_t mode = host_load32(&to->control->posted, HOST_W);
	int r = -EPIPE;
	record_access(op, to, 0);
	/* While access_epoch is the epoch, slots and buffers are valid. */
	if (host_load32(&to->control->access_epoch, HOST_MIGRATION) ==
		to->epoch) {
		if (host_records() &&
			unlikely(host_load_relaxed(&op->posted, HOST_RECORD)))
			posted_recover(to, op);
		/* Before a long copy. */
		r = claim_would_fail(to, completer_reserve(to, p->flags))
			    ? -EAGAIN
			    : posted_deliver(to, op, p);
	}
	record_access_end(op);
	return r > 0 && mode == POSTED_ONLY ? -EAGAIN : r;
}
