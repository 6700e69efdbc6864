/* SPDX-License-Identifier: BSD-2-Clause */
/* Entry points on every platform; DEVICE(name) is as in entry.h. */
int DEVICE(complete)(struct context *origin, struct op_record *,
	const struct completion *, uint32_t keep);
int DEVICE(notify_gone)(
	struct context *to, struct op_record *, uint32_t node, uint16_t vpid);
uint64_t DEVICE(peek)(struct context *own, uint64_t position);
bool DEVICE(reference_done)(struct reference *, uint32_t sequence);
/* Returns true if an entry of the target names the READY reference. */
bool DEVICE(reference_published)(struct context *to, uint16_t origin_vpid,
	uint32_t index, uint32_t sequence);
bool DEVICE(void_entry)(struct context *, uint64_t position, int64_t rdr_write);
/*
 * Wakes the consumer of a port that sleeps, for a reason other than an entry.
 * `ring`: rings its doorbell even if it is not armed.
 */
void DEVICE(interrupt)(struct context *, bool ring);
