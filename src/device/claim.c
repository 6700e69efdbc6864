/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claims where any number of senders in any process share W: loads W, checks
 * for room, advances W by CAS. The op record names the claim before the CAS.
 *
 * Ordering edges:
 *   N1 load W, then N1e load epoch: a recycled VPID gets its new epoch before
 *      its W opens (queue_set_open()), so if the epoch matches, W is of this
 *      epoch or older, and an older one fails in the CAS.
 *   N2 CAS W (acq_rel): publishes TRY (X1) to the next claimer and to repair.
 */

/*
 * Returns true if a claim of an entry would fail for lack of room now, so that
 * the caller need not prepare it. Loads only.
 */
static inline bool claim_would_fail(struct context *to, uint32_t keep)
{
	struct claim unused;
	uint64_t now = host_load(&to->control->w, HOST_W), w;
	uint32_t tries = 0;
	/* The queue is full only if W has not changed; see claim_try(). */
	do {
		w = now;
		if (w & W_CLOSED || host_epoch(to) != to->epoch ||
			room_claim(to, w, 1, 0, keep, &unused))
			return false;
		now = host_load(&to->control->w, HOST_W);
	} while (now != w && host_retry(&tries));
	return true;
}

/*
 * Claims up to `entries` entries with one CAS, at most QUEUE_CLAIM_MAX. Returns
 * 0, -EAGAIN (no room for one) or -EPIPE (closed, or another epoch). `keep` is
 * the number of entries that must stay free. On failure the caller resets the
 * record, which may also cover a posted receive.
 */
static folded int claim_try(struct context *to, struct op_record *op,
	uint32_t entries, uint32_t units, uint32_t keep, struct claim *claim)
{
	_Atomic uint64_t *word = &to->control->w;
	uint64_t w = host_load(word, HOST_W); /* N1 */
	uint32_t tries = 0;
	int failure;
	do {
		failure = -EPIPE;
		if (unlikely(w & W_CLOSED) ||
			unlikely(host_epoch(to) != to->epoch)) /* N1e */
			break;
		failure = -EAGAIN;
		if (unlikely(!room_claim(to, w, entries, units, keep, claim))) {
			/*
			 * R may be newer than this W, if other messages were
			 * sent and received in between. The queue is full only
			 * if W has not changed.
			 */
			uint64_t now = host_load(word, HOST_W);
			if (now == w)
				break;
			w = now;
			continue;
		}
		record_try(op, to, w, claim->w_new);
		host_step(op, STEP_TRY);
		if (likely(host_cas(word, &w, claim->w_new, HOST_W))) { /* N2 */
			host_step(op, STEP_CLAIMED);
			record_own(op, to);
			host_step(op, STEP_OWN);
			return 0;
		}
	} while (host_retry(&tries));
	return failure;
}
