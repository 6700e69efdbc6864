/* SPDX-License-Identifier: BSD-2-Clause */
/* Interfaces between the files of the replay; see replay.h. */
#ifndef CAY_TRACE_REPLAY_INTERNAL_H
#define CAY_TRACE_REPLAY_INTERNAL_H

#include "trace/replay.h"

/*
 * replay_issue.c: executes an instruction on the device. Returns 0, 1 if it was
 * refused, -EAGAIN or -EPIPE. `data_digest` is set if it reads into memory.
 */
int replay_execute(struct replay *, const struct trace_instruction *,
	uint64_t *data_digest);

/* replay_owner.c: windows, locks and posted receives. Returns 0 or -errno. */
int replay_owner_step(struct replay *, const struct trace_instruction *);
void replay_port_close(struct replay *, uint32_t port);

/* Makes a posted receive available to its owner again. */
void replay_posted_free(struct replay *, uint32_t port, uint64_t index);

#endif
