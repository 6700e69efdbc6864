/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * References: the payload of a long message stays at its origin; the
 * notification names a slot that says where. FREE -> READY (origin) -> SENT
 * (origin) -> STARTED (target) -> DONE (target, or the node for a dead one) ->
 * FREE (origin, when it reads the completion of a borrowed message, or at a
 * later call for a copied one). The origin may withdraw a SENT borrowed
 * reference, which is then DONE. The sequence number in the state distinguishes
 * uses of a slot, so that a duplicate completion is recognized.
 * models/reference.pml.
 */

static inline uint64_t reference_word(
	uint32_t sequence, enum reference_state state)
{
	return (uint64_t)sequence << REFERENCE_SEQUENCE_SHIFT | state;
}

/* Returns true if the memory is still needed. */
static inline bool reference_open(uint64_t state)
{
	unsigned now = state & REFERENCE_STATE_MASK;
	return now == REFERENCE_READY || now == REFERENCE_SENT ||
	       now == REFERENCE_STARTED;
}

/* G1: release: the fields. Pairs with G3, at the target. */
static inline void reference_ready(
	struct reference *slot, uint32_t sequence, struct op_record *op)
{
	host_store(&slot->state, reference_word(sequence, REFERENCE_READY),
		HOST_REFERENCE);
	host_step(op, STEP_REFERENCE);
}

/*
 * The CAS fails if the target has already finished with the reference: the slot
 * is DONE, or in its next use.
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
 * The target starts to read: the origin can no longer withdraw the reference.
 * Returns false if it has, or if the slot is in another use.
 */
static inline bool reference_begin(struct reference *slot, uint32_t sequence)
{
	uint64_t state = host_load(&slot->state, HOST_REFERENCE); /* G3 */
	uint32_t tries = 0;
	while (state >> REFERENCE_SEQUENCE_SHIFT == sequence &&
		reference_open(state) && host_retry(&tries)) {
		if ((state & REFERENCE_STATE_MASK) == REFERENCE_STARTED)
			return true;
		if (host_cas(&slot->state, &state,
			    reference_word(sequence, REFERENCE_STARTED),
			    HOST_REFERENCE))
			return true;
	}
	return false;
}

/*
 * The target copies what it reads of the slot. Returns false if the slot is
 * free or in another use; the copy is then undefined.
 */
static inline bool reference_read(
	const struct reference *slot, uint32_t sequence, struct reference *copy)
{
	uint64_t state = host_load(&slot->state, HOST_REFERENCE); /* G3 */
	copy->address = host_read(&slot->address, HOST_REFERENCE);
	copy->length = host_read(&slot->length, HOST_REFERENCE);
	copy->cookie = host_read(&slot->cookie, HOST_REFERENCE);
	copy->cookie_address = host_read(&slot->cookie_address, HOST_REFERENCE);
	copy->pid = host_read32(&slot->pid, HOST_REFERENCE);
	copy->kind = host_read8(&slot->kind, HOST_REFERENCE);
	copy->flags = host_read8(&slot->flags, HOST_REFERENCE);
	return state >> REFERENCE_SEQUENCE_SHIFT == sequence &&
	       reference_open(state);
}

/*
 * The target adds to the outcome before DONE; the node reads it if the target
 * dies after that. Relaxed: G2 orders it. The target owns the slot until DONE,
 * so a slot in another use stays as it is.
 */
static inline void reference_outcome(
	struct reference *slot, uint32_t sequence, uint32_t bits)
{
	if (host_load(&slot->state, HOST_REFERENCE) >>
			REFERENCE_SEQUENCE_SHIFT ==
		sequence)
		host_or32_relaxed(&slot->outcome, bits, HOST_REFERENCE);
}

/* The origin withdraws it; returns false if the target has started. */
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
 * G2: release: the target has finished reading. Returns false if the slot is in
 * another use.
 */
static inline bool reference_done(struct reference *slot, uint32_t sequence)
{
	uint64_t state = host_load(&slot->state, HOST_REFERENCE); /* G3 */
	uint32_t tries = 0;
	while (state >> REFERENCE_SEQUENCE_SHIFT == sequence &&
		reference_open(state) && host_retry(&tries))
		if (host_cas(&slot->state, &state,
			    reference_word(sequence, REFERENCE_DONE),
			    HOST_REFERENCE))
			return true;
	return false;
}

/* ---- origin: it alone knows which slots are in use ---- */

/* Allocates a slot; returns its index, or -1. Any thread. */
static inline int reference_allocate(struct origin *o)
{
	uint64_t used = private_load(&o->device.references);
	while (~used) {
		int index = __builtin_ctzll(~used);
		/* Acquire pairs with the release in reference_free(). */
		if (private_cas(
			    &o->device.references, &used, used | 1ull << index))
			return index;
	}
	return -1;
}

/* Fills in an allocated slot; returns the sequence number of this use. */
static inline uint32_t reference_fill(struct reference *slot,
	const struct reference *source, const struct packet *p,
	const struct context *to)
{
	uint32_t sequence =
		(uint32_t)(host_load_relaxed(&slot->state, HOST_REFERENCE) >>
			   REFERENCE_SEQUENCE_SHIFT) +
		1;
	host_write(&slot->address, source->address, HOST_REFERENCE);
	host_write(&slot->length, source->length, HOST_REFERENCE);
	host_write(&slot->cookie,
		(uint32_t)source->cookie | (uint64_t)p->api_tag
						   << REFERENCE_API_TAG_SHIFT,
		HOST_REFERENCE);
	host_write(
		&slot->cookie_address, source->cookie_address, HOST_REFERENCE);
	host_write(&slot->tag, p->tag, HOST_REFERENCE);
	host_write32(&slot->pid, source->pid, HOST_REFERENCE);
	host_write8(&slot->kind, source->kind, HOST_REFERENCE);
	host_write8(&slot->flags,
		(uint8_t)(source->flags | (p->command & CAY_COMMAND_ACK)),
		HOST_REFERENCE);
	host_write32(&slot->target_epoch, to->epoch, HOST_REFERENCE);
	host_store16_relaxed((_Atomic uint16_t *)&slot->target_vpid, to->vpid,
		HOST_REFERENCE);
	host_store32_relaxed(&slot->outcome, 0, HOST_REFERENCE);
	return sequence;
}

/* No other process uses the slot: it was not published, or it is DONE. */
static inline void reference_reset(struct reference *slot)
{
	uint64_t state = host_load_relaxed(&slot->state, HOST_REFERENCE);
	host_store(&slot->state, state & ~REFERENCE_STATE_MASK, HOST_REFERENCE);
}

/*
 * Makes a DONE slot of a copied message FREE; returns false if it is not DONE.
 * Acquire pairs with G2: the target no longer reads the staging memory. One
 * thread at a time calls this for a slot.
 */
static inline bool reference_reclaim(struct reference *slot)
{
	if ((host_load(&slot->state, HOST_REFERENCE) & REFERENCE_STATE_MASK) !=
		REFERENCE_DONE)
		return false;
	reference_reset(slot);
	host_step_unrecorded(STEP_RECLAIM);
	return true;
}

static inline void reference_free(struct origin *o, uint32_t index)
{
	reference_reset(&o->refs[index]);
	private_clear(&o->device.references, 1ull << index);
}

/* Relaxed: another thread may fill in the next use of the slot. */
static inline uint16_t reference_target(const struct reference *slot)
{
	return host_load16_relaxed(
		(const _Atomic uint16_t *)&slot->target_vpid, HOST_REFERENCE);
}

/*
 * Returns true if a borrowed reference to this VPID (negative: any) is in
 * flight.
 */
static inline bool reference_pending(const struct origin *o, int32_t vpid)
{
	uint64_t used = private_load(&o->device.references);
	for (; used; used &= used - 1) {
		const struct reference *slot = &o->refs[__builtin_ctzll(used)];
		/* FREE: the node has completed it for a dead target. */
		if (reference_open(host_load(&slot->state, HOST_REFERENCE)) &&
			(vpid < 0 || reference_target(slot) == vpid))
			return true;
	}
	return false;
}

/* ---- repair ---- */

/*
 * Returns true if an entry in the target's queue names a READY reference: the
 * thread that filled it in has died or left its call before it was SENT. Its op
 * record is repaired, so that the entry is published or will never be.
 */
static inline bool reference_published(struct context *to, uint16_t origin_vpid,
	uint32_t index, uint32_t sequence)
{
	uint64_t w = host_load(&to->control->w, HOST_W);
	uint64_t r = host_load(&to->control->r, HOST_R);
	/* Members write W and R: this bounds the loop by the queue's size. */
	if (!queue_position_valid(w, r, to->nq_log2, to->rdr_log2))
		return false;
	for (uint64_t at = queue_nq(r); at != queue_nq(w);
		at = (at + 1) & QUEUE_NQ_MASK) {
		uint64_t word = notify_peek(to, at);
		unsigned command = word & CAY_COMMAND_MASK;
		const struct cay_nqe *n = notify_entry(to, at);
		/* A message by reference, or an emulated access. */
		if (word != 0 &&
			(command == CAY_NOTIFY_RECV ||
				(command != CAY_NQE_INVALID &&
					command < CAY_NOTIFY_CC)) &&
			(uint16_t)(word >> CAY_NQE_VPID_SHIFT) == origin_vpid &&
			host_read(&n->word[CAY_NQE_WORD_REFERENCE], HOST_NQE) ==
				index + 1 &&
			host_read(&n->word[CAY_NQE_WORD_START], HOST_NQE) ==
				sequence)
			return true;
	}
	return false;
}
