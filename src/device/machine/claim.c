/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claims where the machine is the only writer of W: it advances its own W, and
 * stores a copy for software. The exchange returns the flags that a consumer
 * has set to sleep; no claim can fail, and no op record is needed, because the
 * machine does not die alone.
 */
static inline bool claim_would_fail(struct context *to, uint32_t keep)
{
	struct claim unused;
	return !room_claim(to, to->w, 1, 0, keep, &unused);
}

static inline int claim_try(struct context *to, struct op_record *op,
	uint32_t entries, uint32_t units, uint32_t keep, struct claim *claim)
{
	(void)op;
	if (!room_claim(to, to->w, entries, units, keep, claim))
		return -EAGAIN;
	to->w = claim->w_new;
	claim->w_old |= host_swap(&to->control->w, to->w, HOST_W) & W_FLAGS;
	return 0;
}
