/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Acknowledgements and completions: the NOTIFY_CC in the NQ of the origin. Its
 * entry was reserved before the instruction had any effect
 * (origin.device.completions), so there is always room for it, unless the
 * origin is closed.
 */

/* Reserves an entry for one completion; returns false if none is left. */
static inline bool ack_reserve(struct origin *o)
{
	if (likely(private_add32(&o->device.completions, 1) < o->cq_reserve))
		return true;
	private_add32(&o->device.completions, -1u);
	return false;
}

static inline void ack_unreserve(struct origin *o, uint32_t count)
{
	/* R orders the reuse of the entries (N5, N6). */
	private_add32(&o->device.completions, -count);
}

/*
 * Writes a completion into the NQ of `origin`, on a thread of the origin, or of
 * the target for a message by reference. `keep` is 0 if an entry was reserved.
 * wq_read is that of the origin's device, and 0 at the target, which does not
 * know it. The notification is NOTIFY_CC or NOTIFY_ULTRA. Returns 0, -EPIPE,
 * -EAGAIN (the completion was not reserved), or -ESTALE (fenced: retry).
 */
static inline int ack_complete(struct context *origin, struct op_record *op,
	const struct completion *c, uint16_t notification, uint32_t keep,
	uint32_t wq_read)
{
	struct claim claim;
	int r = notify_claim(origin, op, 0, keep, &claim);
	if (unlikely(r))
		return r;

	uint64_t position = queue_nq(claim.w_old);
	struct cay_nqe *nqe = notify_entry(origin, position);
	notify_head(nqe, c->tag, c->peer_node, c->api_tag);
	notify_fill(nqe, &(struct notify_body){ c->length, c->result,
				 c->previous, notify_pointers(&claim) | wq_read,
				 c->command |
					 (uint64_t)c->reference
						 << CAY_NQE_REFERENCE_SHIFT |
					 (uint64_t)c->sequence
						 << CAY_NQE_SEQUENCE_SHIFT });
	host_step(op, STEP_ENTRY);
	notify_publish(
		nqe, notify_word(origin, position,
			     (uint16_t)(notification |
					c->error << CAY_COMMAND_ERROR_SHIFT),
			     c->bytes, c->peer_vpid));
	host_step(op, STEP_PUBLISH);
	return notify_finish(origin, op, &claim, 0);
}

/* Does the same for the port's own NQ, and follows migrations. */
static inline void ack_own(struct origin *o, struct op_record *op,
	const struct completion *c, uint16_t notification)
{
	for (;;) {
		struct context *own = host_context(&o->device.own);
		int r = ack_complete(own, op, c, notification, 0,
			private_load32(&o->device.wq_read));
		if (likely(r == 0))
			return;
		if (!host_follow(&o->device.own, own) && r != -ESTALE)
			break;
	}
	ack_unreserve(o, 1); /* the port is closed */
}
