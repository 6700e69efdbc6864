/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scoreboard: detects hazards between operations in flight. A direct
 * operation ends when its call returns; in flight are only messages by
 * reference and emulated accesses.
 */

/* Returns true if a fenced operation must wait for earlier ones. */
static inline bool scoreboard_fence_hazard(
	const struct origin *o, unsigned flags)
{
	return unlikely(flags & CAY_VCI_FENCE) && reference_pending(o, -1);
}

/*
 * Returns true if an access would overtake an emulated access to the same
 * target: then it must be emulated too.
 */
static inline bool scoreboard_order_hazard(const struct origin *o,
	_Atomic(struct context *) *slot, const struct packet *p)
{
	/* Relaxed: only accesses of this thread are ordered. */
	if (likely(!private_load32(&o->device.emulated_in_flight)) ||
		p->flags & CAY_VCI_FREE_ORDER)
		return false;
	const struct context *to = host_context(slot);
	return reference_pending(o, to->vpid);
}
