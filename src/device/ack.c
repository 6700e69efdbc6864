/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Acknowledges and completions: the NOTIFY_CC that ends an instruction in its
 * origin's NQ. Room for it was reserved before the instruction had any effect
 * (origin.completions), so it finds an entry in any case but one: the origin
 * is gone, and then nobody waits for it.
 */

/* Reserves room for one completion. */
static inline bool ack_reserve(struct origin *o)
{
	uint32_t used = atomic_fetch_add_explicit(
		&o->completions, 1, memory_order_relaxed);
	if (likely(used < o->cq_reserve))
		return true;
	atomic_fetch_sub_explicit(&o->completions, 1, memory_order_relaxed);
	return false;
}

static inline void ack_unreserve(struct origin *o, uint32_t count)
{
	/* Relaxed: the entries themselves come back through R (N5, N6). */
	atomic_fetch_sub_explicit(&o->completions, count, memory_order_relaxed);
}

/*
 * Writes it into the NQ of `origin`; by the origin's own thread, or by the
 * target's for a long message. `keep` is 0 where room was reserved. 0, -EPIPE,
 * -EAGAIN (a bug, or a target that completes what nobody asked for), -ESTALE
 * (fenced: try again).
 */
static inline int ack_complete(struct context *origin, struct op_record *op,
	const struct completion *c, uint32_t keep)
{
	struct claim claim;
	int r = notify_claim(origin, op, 0, keep, &claim);
	if (unlikely(r))
		return r;

	uint64_t position = queue_nq(claim.w_old);
	struct cay_nqe *nqe = notify_entry(origin, position);
	notify_head(nqe, c->tag, c->peer_node, c->api_tag);
	notify_fill(nqe, &(struct notify_body){ c->length, c->result,
				 c->previous, notify_pointers(&claim),
				 c->command |
					 (uint64_t)c->reference
						 << CAY_NQE_REFERENCE_SHIFT |
					 (uint64_t)c->sequence
						 << CAY_NQE_SEQUENCE_SHIFT });
	host_step(op, STEP_ENTRY);
	notify_publish(
		nqe, notify_word(origin, position,
			     (uint16_t)(CAY_NOTIFY_CC |
					c->error << CAY_COMMAND_ERROR_SHIFT),
			     c->bytes, c->peer_vpid));
	host_step(op, STEP_PUBLISH);
	return notify_finish(origin, op, &claim, 0);
}

/* The same into the port's own NQ, wherever that has moved to. */
static inline void ack_own(
	struct origin *o, struct op_record *op, const struct completion *c)
{
	for (;;) {
		struct context *own =
			atomic_load_explicit(&o->own, memory_order_acquire);
		int r = ack_complete(own, op, c, 0);
		if (likely(r == 0))
			return;
		if (!context_follow_migration(&o->own, own) && r != -ESTALE)
			break;
	}
	ack_unreserve(o, 1); /* the port is closed: nobody will read it */
}
