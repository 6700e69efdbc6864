/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of replaying, one file each; see replay.h. */
#ifndef CAY_TRACE_REPLAY_PARTS_H
#define CAY_TRACE_REPLAY_PARTS_H

#include "trace/replay.h"

/*
 * issue.c: what the device executes, as the library of a port hands it over.
 * 0; 1: refused; -EAGAIN; -EPIPE. `got` is the digest of what came to memory.
 */
int issue(struct replay *, const struct trace_instruction *, uint64_t *got);

/* owner.c: windows, locks and posted receives. 0 or -errno. */
int owner_step(struct replay *, const struct trace_instruction *);
int owner_close(struct replay *, uint32_t port);

/* The buffer of a posted receive is its owner's again. */
void owner_posted_free(struct replay *, uint32_t port, uint64_t index);

static inline struct cay_window_descriptor *replay_window(
	const struct replay *r, uint32_t port, uint16_t window)
{
	return &r->bench.port[port].origin.wdt[window];
}

#endif
