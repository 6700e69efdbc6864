/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scoreboard: what is under way, and so what must wait. A direct request
 * is over when its issue returns; under way are only long messages that their
 * targets have not taken, and accesses that their targets carry out.
 */

/* A fenced request waits for all before it. */
static inline bool scoreboard_fence_hazard(
	const struct origin *o, unsigned flags)
{
	return unlikely(flags & CAY_VCI_FENCE) && reference_pending(o, -1);
}

/*
 * Would an access overtake one that its target still has to carry out? Then it
 * goes the same way, behind it.
 */
static inline bool scoreboard_order_hazard(const struct origin *o,
	_Atomic(struct context *) *slot, const struct packet *p)
{
	/* Relaxed: this thread's own accesses; others are not ordered. */
	if (likely(!atomic_load_explicit(
		    &o->emulated_in_flight, memory_order_relaxed)) ||
		p->flags & CAY_VCI_FREE_ORDER)
		return false;
	const struct context *to =
		atomic_load_explicit(slot, memory_order_acquire);
	return reference_pending(o, to->vpid);
}
