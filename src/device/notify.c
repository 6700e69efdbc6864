/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notification unit: claims entries of a port's NQ (and payload space in
 * its RDR), publishes them, and on the receiver's side returns them. Any number
 * of senders in any process, one consumer.
 *
 * Sender	notify_claim()    advances W by an entry, or by several; see
 *claim.c
 *		... fills in words 0 to 6 of the entry and the RDR
 *		notify_publish()  stores word 7, of one entry after the other
 *		notify_finish()   wakes the target if it sleeps
 * Receiver	notify_peek()     loads word 7 of the next entry
 *		notify_return()   advances R, wakes senders that wait for room
 *
 * Ordering edges (N1 and N2 are in claim.c):
 *   N3 store word 7 (release) pairs with N4 load word 7 (acquire): payload.
 *   N5 exchange R (acq_rel) pairs with N6 load R (acquire): the receiver has
 *      read what the sender is about to overwrite.
 *   N7 load `migration`: notify_wake().
 */

/* Claims an entry as claim_try() does; on failure the record is IDLE. */
static folded int notify_claim(struct context *to, struct op_record *op,
	uint32_t units, uint32_t keep, struct claim *claim)
{
	int r = claim_try(to, op, 1, units, keep, claim);
	if (unlikely(r))
		record_idle(op);
	return r;
}

static inline struct cay_nqe *notify_entry(
	const struct context *to, uint64_t position)
{
	return &to->nq[position & (to->nq_entries - 1)];
}

static inline uint64_t notify_word(const struct context *to, uint64_t position,
	uint16_t command, uint64_t bytes, uint16_t vpid)
{
	return command | bytes << CAY_NQE_BYTES_SHIFT |
	       (uint64_t)vpid << CAY_NQE_VPID_SHIFT |
	       queue_generation(position, to->nq_log2)
		       << CAY_NQE_GENERATION_SHIFT;
}

/* Stores words 0 and 1, which every entry has. */
static inline void notify_head(
	struct cay_nqe *nqe, uint64_t tag, uint32_t node, uint32_t api_tag)
{
	host_write(&nqe->word[CAY_NQE_WORD_TAG], tag, HOST_NQE);
	host_write(&nqe->word[CAY_NQE_WORD_PEER],
		node | (uint64_t)api_tag << CAY_NQE_API_TAG_SHIFT, HOST_NQE);
}

/* Words 2 to 6, of every entry but NOTIFY_FAST_RECV. */
struct notify_body {
	uint64_t length;
	uint64_t third, fourth; /* meaning depends on the command */
	uint64_t pointers;
	uint64_t completed;
};

static inline void notify_fill(
	struct cay_nqe *nqe, const struct notify_body *body)
{
	host_write(&nqe->word[CAY_NQE_WORD_LENGTH], body->length, HOST_NQE);
	host_write(&nqe->word[CAY_NQE_WORD_START], body->third, HOST_NQE);
	host_write(&nqe->word[CAY_NQE_WORD_WINDOW], body->fourth, HOST_NQE);
	host_write(&nqe->word[CAY_NQE_WORD_POINTERS], body->pointers, HOST_NQE);
	host_write(
		&nqe->word[CAY_NQE_WORD_COMPLETED], body->completed, HOST_NQE);
}

/* Returns word 5: the write position of the RDR after the claim. */
static inline uint64_t notify_pointers(const struct claim *claim)
{
	return queue_rdr(claim->w_new) << CAY_NQE_RDR_WRITE_SHIFT;
}

/* N3. The entry must not be written afterwards. */
static inline void notify_publish(struct cay_nqe *nqe, uint64_t word)
{
	host_store(queue_valid_word(nqe), word, HOST_NQE);
}

/* Returns true if this entry of a replaced queue set is fenced. */
static inline bool notify_fenced(const struct context *to, uint64_t position)
{
	const struct queue_control *c = to->control;
	/* Acquire pairs with the store in node/fence.c: the list is final. */
	if (host_migration(to) != QUEUE_MIGRATED)
		return false;
	uint32_t count = host_read32(&c->fenced_count, HOST_MIGRATION);
	for (uint32_t i = 0; i < count && i < QUEUE_FENCED_MAX; i++) {
		uint64_t from = host_read(&c->fenced[i].from, HOST_MIGRATION);
		uint64_t end = host_read(&c->fenced[i].to, HOST_MIGRATION);
		if (queue_in_range(position, from, end))
			return true;
	}
	return false;
}

/*
 * Decides in place of a node that has exited or is silent that no entry of the
 * set is fenced. The CAS pairs with that of the node, which makes its list
 * final: exactly one of them succeeds, so sender and receiver agree.
 */
static inline void notify_unfence(const struct context *to)
{
	uint32_t migrating = QUEUE_MIGRATING;
	host_cas32(&to->control->migration, &migrating, QUEUE_UNFENCED,
		HOST_MIGRATION);
}

/*
 * The queue set was replaced between claim and publication. Waits until the
 * node has listed the fenced entries (node/fence.c). Returns 0, or -ESTALE if
 * the last entry of a claim is fenced: the first fenced entry is followed by
 * fenced ones up to the end of its claim.
 */
__attribute__((cold, noinline)) static int notify_await_migration(
	const struct context *to, uint64_t last)
{
	uint64_t deadline = 0;
	while (host_migration(to) == QUEUE_MIGRATING)
		if (!host_pause(to->arena, &deadline)) {
			notify_unfence(to);
			break;
		}
	return notify_fenced(to, last) ? -ESTALE : 0;
}

/*
 * After publication of all entries of the claim: wakes the target if it sleeps.
 * Returns 0, or -ESTALE if the node fenced this thread: the last entry is void,
 * maybe earlier ones too, and the caller must retry after migration. The record
 * still covers the claim.
 *
 * N7: the load of `migration` may pass the store of word 7 (N3); the membarrier
 * of the node replaces a fence here.
 */
static inline int notify_wake(struct context *to, struct op_record *op,
	const struct claim *claim, unsigned flags)
{
	uint64_t wake = claim->w_old & (W_SLEEP | W_ARMED);
	if (flags & CAY_VCI_INTERRUPT &&
		host_load32(&to->control->doorbell, HOST_W))
		wake |= W_ARMED;
	if (unlikely(wake)) {
		host_interrupt(to, wake);
		host_step(op, STEP_WAKE);
	}
	if (unlikely(host_migration(to) != QUEUE_STABLE)) /* N7 */
		return notify_await_migration(to, queue_nq(claim->w_new - 1));
	return 0;
}

/* Does the same and resets the record. */
static inline int notify_finish(struct context *to, struct op_record *op,
	const struct claim *claim, unsigned flags)
{
	int r = notify_wake(to, op, claim, flags);
	record_idle(op);
	return r;
}

/* ---- consumer ---- */

/* Returns word 7 of the entry at `position`, or 0 if it is unpublished. */
static inline uint64_t notify_peek(struct context *own, uint64_t position)
{
	uint64_t word = host_load(
		queue_valid_word(notify_entry(own, position)), HOST_NQE);
	if (word >> CAY_NQE_GENERATION_SHIFT !=
		queue_generation(position, own->nq_log2))
		return 0; /* N4 */
	return word;
}

/* N5. Entries before `r` may be overwritten from here on. */
static inline void notify_return(struct context *own, uint64_t r)
{
	uint64_t old = host_swap(&own->control->r, r, HOST_R);
	host_step_unrecorded(STEP_RETURN);
	if (unlikely(old & R_WAITERS)) {
		host_wake_senders(own);
		host_step_unrecorded(STEP_ROOM);
	}
}

/*
 * Announces that the consumer will sleep (flag is W_SLEEP or W_ARMED). Returns
 * the W to sleep on, with the flag, or 0 if an entry from `next` on is claimed:
 * the caller polls again. A later claim replaces W and so removes the flag, so
 * no fence is needed and no wake-up is lost.
 */
static inline uint64_t notify_sleep(
	struct context *own, uint64_t next, uint64_t flag)
{
	uint64_t w = host_or(&own->control->w, flag, HOST_W);
	host_step_unrecorded(STEP_SLEEP);
	if (queue_nq(w) == next && !(w & W_CLOSED))
		return w | flag;
	host_and(&own->control->w, ~flag, HOST_W);
	return 0;
}

static inline void notify_cancel_sleep(struct context *own, uint64_t flag)
{
	host_and(&own->control->w, ~flag, HOST_W);
}

/*
 * Wakes a sleeping consumer without an entry. The flag is removed from W before
 * the wake-up, so that a consumer that is about to sleep on W does not. `ring`:
 * as CAY_VCI_INTERRUPT.
 */
static inline void notify_interrupt(struct context *to, bool ring)
{
	const uint64_t flags = W_SLEEP | W_ARMED;
	uint64_t wake = host_and(&to->control->w, ~flags, HOST_W) & flags;
	if (ring && host_load32(&to->control->doorbell, HOST_W))
		wake |= W_ARMED;
	if (wake) {
		host_interrupt(to, wake);
		host_step_unrecorded(STEP_WAKE);
	}
}

/* Returns true if the set is closed and was not replaced: the port is. */
static inline bool notify_closed(const struct context *own)
{
	const struct queue_control *c = own->control;
	return host_load(&c->w, HOST_W) & W_CLOSED &&
	       host_migration(own) == QUEUE_STABLE;
}

/* After the last swap of R: the node may reuse the queue set. */
static inline void notify_leave(struct context *own)
{
	host_or(&own->control->r, R_DONE, HOST_R);
}

/* ---- a sender without room ---- */

/*
 * Announces that a sender sleeps until the target advances R from r_before.
 * Returns the R to sleep on, or 0 if R has changed or the set is closed: try
 * again. The target advances R with a swap (N5), which finds the flag set here,
 * or else this thread finds the new R.
 */
static inline uint64_t notify_await_room(struct context *to, uint64_t r_before)
{
	uint64_t r = host_or(&to->control->r, R_WAITERS, HOST_R);
	if ((r ^ r_before) & ~R_WAITERS || r & R_CLOSED)
		return 0;
	return r | R_WAITERS;
}

/* ---- repair ---- */

static inline bool notify_published(struct context *to, uint64_t position)
{
	return notify_peek(to, position) != 0;
}

/*
 * Voids an entry that its claimer will never publish. The claimer is dead, or
 * is the caller. rdr_write is the write position of the RDR after the claim, or
 * negative if it is unknown. Only the node voids entries of other claimers, so
 * the CAS fails only if the entry was not in the expected state.
 */
static inline bool notify_void(
	struct context *to, uint64_t position, int64_t rdr_write)
{
	struct cay_nqe *nqe = notify_entry(to, position);
	_Atomic uint64_t *valid = queue_valid_word(nqe);
	uint64_t word7 = host_load(valid, HOST_NQE);
	uint64_t word = notify_word(to, position, CAY_NQE_INVALID,
		rdr_write >= 0 ? CAY_VOID_EXTENT : CAY_VOID_UNKNOWN,
		CAY_VPID_NODE);
	uint64_t previous_lap =
		queue_generation(position - to->nq_entries, to->nq_log2);

	/*
	 * Only a word of the previous lap or of a fresh page: a late repair
	 * must not destroy an entry that was published since.
	 */
	if (word7 != 0 && word7 >> CAY_NQE_GENERATION_SHIFT != previous_lap)
		return false;
	if (rdr_write >= 0)
		host_write(&nqe->word[CAY_NQE_WORD_POINTERS],
			(uint64_t)rdr_write << CAY_NQE_RDR_WRITE_SHIFT,
			HOST_NQE);
	return host_cas(valid, &word7, word, HOST_NQE);
}
