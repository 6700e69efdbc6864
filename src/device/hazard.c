/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hazards between operations in flight on the direct path. A direct operation
 * ends when its call returns; in flight are only messages by reference and
 * emulated accesses.
 */

/* Returns true if a fenced operation must wait for earlier ones. */
static inline bool hazard_fence(const struct origin *o, unsigned flags)
{
	return unlikely(flags & CAY_VCI_FENCE) && reference_pending(o, -1);
}

/*
 * Returns true if an access would overtake an emulated access to the same
 * target: then it must be emulated too.
 */
static inline bool hazard_order(const struct origin *o,
	_Atomic(struct context *) *slot, const struct packet *p)
{
	/* Relaxed: only accesses of this thread are ordered. */
	if (likely(!private_load32(&o->device.emulated_in_flight)) ||
		p->flags & CAY_VCI_FREE_ORDER)
		return false;
	const struct context *to = host_context(slot);
	return reference_pending(o, to->vpid);
}
