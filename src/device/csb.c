/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conditional store buffer: accepts or refuses a triggered request, with a
 * reason. In hardware all ports share it as the trigger queue of the device; on
 * the direct path the caller executes an accepted request at once, so the
 * buffer is always empty.
 */

/* Each VCI may need a completion, so one must be free before it starts. */
static inline bool csb_accepts(const struct origin *o)
{
	return private_load32(&o->device.completions) < o->cq_reserve;
}

static inline struct cay_answer csb_answer(
	const struct origin *o, uint32_t accepted, enum cay_error reason)
{
	return (struct cay_answer){ .accepted = accepted,
		.reason = reason,
		.free = (1u << o->wq_log2) -
			(o->client.wq_write - o->device.wq_read),
		.wait_ns = reason == CAY_ERROR_NO_RESOURCES ? 1000 : 0 };
}
