/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Room in the queues of a target: whether entries of its NQ, and payload space
 * in its RDR, are free for a claim. R is loaded only if the cached one is not
 * enough (N6 in notify.c).
 */

struct claim {
	uint64_t w_old, w_new; /* before, with flags; after */
	uint32_t start;	       /* of the payload in the RDR, in units */
};

/* Returns how many entries the claim covers. */
static inline uint32_t claim_entries(const struct claim *claim)
{
	return (uint32_t)queue_ahead(
		queue_nq(claim->w_new), queue_nq(claim->w_old));
}

/*
 * Returns true if so many units of payload fit, given this R. A payload that
 * would wrap around starts at the beginning of the ring.
 */
static inline bool room_for_payload(const struct context *to, uint64_t r,
	uint32_t units, uint64_t *rdr, struct claim *claim)
{
	uint64_t at = *rdr & (to->rdr_units - 1);
	uint64_t skip = at + units > to->rdr_units ? to->rdr_units - at : 0;
	if (queue_rdr_ahead(*rdr, queue_rdr(r)) + skip + units > to->rdr_units)
		return false;
	claim->start = (uint32_t)(skip ? 0 : at);
	*rdr += skip + units;
	return true;
}

/* Returns true if so many entries and units fit, given this R. */
static inline bool room_for(const struct context *to, uint64_t w, uint64_t r,
	uint32_t entries, uint32_t units, uint32_t keep, struct claim *claim)
{
	uint64_t used = queue_ahead(queue_nq(w), queue_nq(r));
	uint64_t rdr = queue_rdr(w);

	if (used + entries + keep > to->nq_entries)
		return false;
	claim->start = 0;
	if (units && !room_for_payload(to, r, units, &rdr, claim))
		return false;
	claim->w_old = w;
	claim->w_new = queue_word(queue_nq(w) + entries, rdr);
	return true;
}

/*
 * Prepares a claim of up to `entries` entries: of all, or of as many as are
 * free. Returns false if none is, or so many units are not.
 */
static folded bool room_claim(struct context *to, uint64_t w, uint32_t entries,
	uint32_t units, uint32_t keep, struct claim *claim)
{
	/* Acquire: another thread of this process may have stored it (N6). */
	uint64_t r = private_load(&to->r_seen);
	if (likely(room_for(to, w, r, entries, units, keep, claim)))
		return true;
	r = host_load(&to->control->r, HOST_R); /* N6 */
	private_store(&to->r_seen, r);
	if (entries > 1) {
		uint64_t used = queue_ahead(queue_nq(w), queue_nq(r)) + keep;
		if (used >= to->nq_entries)
			return false;
		entries = (uint32_t)bits_min(entries, to->nq_entries - used);
	}
	return room_for(to, w, r, entries, units, keep, claim);
}
