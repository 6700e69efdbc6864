/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conditional store buffer: accepts a triggered request or refuses it, and
 * says why. Shared by all ports it would be the device's one trigger queue; on
 * the direct path the caller executes what is accepted at once, so it never
 * holds anything.
 */

/* Each VCI may end in a completion, so one must find room before it starts. */
static inline bool csb_accepts(const struct origin *o)
{
	return atomic_load_explicit(&o->completions, memory_order_relaxed) <
	       o->cq_reserve;
}

static inline struct cay_answer csb_answer(
	const struct origin *o, uint32_t accepted, enum cay_error reason)
{
	return (struct cay_answer){ .accepted = accepted,
		.reason = reason,
		.free = (1u << o->wq_log2) - (o->wq_write - o->wq_read),
		.wait_ns = reason == CAY_ERROR_NO_ROOM ? 1000 : 0 };
}
