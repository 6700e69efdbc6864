/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * References: a long message stays at its origin; the notification names a
 * slot that says where. FREE -> READY (origin) -> SENT (origin) -> TAKEN
 * (target: it has begun) -> DONE (target, or the node for a dead one) -> FREE
 * (origin, when it takes the completion). What is SENT and not TAKEN the origin
 * may withdraw, and then it is DONE. The sequence number in the state tells one
 * use of a slot from the next, so that a completion that comes twice is known
 * for what it is.
 */

static inline uint64_t reference_word(
	uint32_t sequence, enum reference_state state)
{
	return (uint64_t)sequence << REFERENCE_SEQUENCE_SHIFT | state;
}

/* Not FREE and not DONE: its memory is needed. */
static inline bool reference_open(uint64_t state)
{
	unsigned now = state & REFERENCE_STATE_MASK;
	return now == REFERENCE_READY || now == REFERENCE_SENT ||
	       now == REFERENCE_STARTED;
}

/* G1: the fields are covered by this release; the target loads it at G3. */
static inline void reference_ready(
	struct reference *slot, uint32_t sequence, struct op_record *op)
{
	host_store(&slot->state, reference_word(sequence, REFERENCE_READY),
		HOST_REFERENCE);
	host_step(op, STEP_REFERENCE);
}

/*
 * The target may have been faster: then the slot is DONE and stays so, or is
 * in its next use already, which is none of our business.
 */
static inline void reference_sent(
	struct reference *slot, uint32_t sequence, struct op_record *op)
{
	uint64_t state = reference_word(sequence, REFERENCE_READY);
	host_cas(&slot->state, &state, reference_word(sequence, REFERENCE_SENT),
		HOST_REFERENCE);
	host_step(op, STEP_SENT);
}

/*
 * The target begins: from here on the origin cannot withdraw it. False if it
 * has, or if the slot is in another use.
 */
static inline bool reference_begin(struct reference *slot, uint32_t sequence)
{
	uint64_t state = host_load(&slot->state, HOST_REFERENCE); /* G3 */
	while (state >> REFERENCE_SEQUENCE_SHIFT == sequence &&
		reference_open(state)) {
		if ((state & REFERENCE_STATE_MASK) == REFERENCE_STARTED)
			return true;
		if (host_cas(&slot->state, &state,
			    reference_word(sequence, REFERENCE_STARTED),
			    HOST_REFERENCE))
			return true;
	}
	return false;
}

/* The origin takes it back; false if the target has begun. */
static inline bool reference_withdraw(struct reference *slot)
{
	uint64_t state = host_load(&slot->state, HOST_REFERENCE);
	uint32_t sequence = (uint32_t)(state >> REFERENCE_SEQUENCE_SHIFT);
	return (state & REFERENCE_STATE_MASK) == REFERENCE_SENT &&
	       host_cas(&slot->state, &state,
		       reference_word(sequence, REFERENCE_DONE),
		       HOST_REFERENCE);
}

/*
 * G2: release: the target has read what it wanted. False if the slot is in
 * another use already.
 */
static inline bool reference_done(struct reference *slot, uint32_t sequence)
{
	uint64_t state = host_load(&slot->state, HOST_REFERENCE); /* G3 */
	while (state >> REFERENCE_SEQUENCE_SHIFT == sequence &&
		reference_open(state))
		if (host_cas(&slot->state, &state,
			    reference_word(sequence, REFERENCE_DONE),
			    HOST_REFERENCE))
			return true;
	return false;
}

/* ---- the origin's side: which slots are in use is its private business --- */

/* A free slot, or -1. Any thread. */
static inline int reference_take(struct origin *o)
{
	uint64_t used =
		atomic_load_explicit(&o->references, memory_order_relaxed);
	while (~used) {
		int index = __builtin_ctzll(~used);
		/* Acquire pairs with the release in reference_free(). */
		if (atomic_compare_exchange_weak_explicit(&o->references, &used,
			    used | 1ull << index, memory_order_acquire,
			    memory_order_relaxed))
			return index;
	}
	return -1;
}

/* Fills in a slot that is ours; gives the sequence number of this use. */
static inline uint32_t reference_fill(struct reference *slot,
	const struct reference *source, uint64_t tag, const struct context *to)
{
	uint32_t sequence =
		(uint32_t)(host_load_relaxed(&slot->state, HOST_REFERENCE) >>
			   REFERENCE_SEQUENCE_SHIFT) +
		1;
	host_write(&slot->address, source->address, HOST_REFERENCE);
	host_write(&slot->length, source->length, HOST_REFERENCE);
	host_write(&slot->cookie, source->cookie, HOST_REFERENCE);
	host_write(
		&slot->cookie_address, source->cookie_address, HOST_REFERENCE);
	host_write(&slot->tag, tag, HOST_REFERENCE);
	slot->pid = source->pid;
	slot->kind = source->kind;
	slot->probe = source->probe;
	slot->target_epoch = to->epoch;
	atomic_store_explicit((_Atomic uint16_t *)&slot->target_vpid, to->vpid,
		memory_order_relaxed);
	atomic_store_explicit(&slot->outcome, 0, memory_order_relaxed);
	return sequence;
}

static inline void reference_free(struct origin *o, uint32_t index)
{
	struct reference *slot = &o->refs[index];
	uint64_t state = host_load_relaxed(&slot->state, HOST_REFERENCE);
	host_store(&slot->state, state & ~REFERENCE_STATE_MASK, HOST_REFERENCE);
	atomic_fetch_and_explicit(
		&o->references, ~(1ull << index), memory_order_release);
}

/* Relaxed: another thread may be filling in the slot's next use. */
static inline uint16_t reference_target(const struct reference *slot)
{
	return atomic_load_explicit(
		(const _Atomic uint16_t *)&slot->target_vpid,
		memory_order_relaxed);
}

/* Is anything under way to this VPID, or, if negative, to anybody? */
static inline bool reference_pending(const struct origin *o, int32_t vpid)
{
	uint64_t used =
		atomic_load_explicit(&o->references, memory_order_acquire);
	for (; used; used &= used - 1) {
		const struct reference *slot = &o->refs[__builtin_ctzll(used)];
		/* FREE: the node has completed it for a dead target. */
		if (reference_open(host_load(&slot->state, HOST_REFERENCE)) &&
			(vpid < 0 || reference_target(slot) == vpid))
			return true;
	}
	return false;
}
