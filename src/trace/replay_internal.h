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

/* replay_drain.c: drains all ports until no notification is left. */
void replay_drain_all(struct replay *);

/* ---- replay_machine.c; only if r->machine ---- */

/*
 * Adds what the trace needs to the sizes of the queues. Returns 0, -EINVAL or
 * -EFBIG.
 */
int replay_machine_queues(const struct trace *,
	const struct replay_machine_options *, struct queue_options *);

/* Opens the machines, with the ports of the fixture. Returns 0 or -ENOMEM. */
int replay_machine_open(struct replay *, const struct replay_machine_options *);
void replay_machine_close(struct replay *);

int replay_machine_error(const struct replay *);
void replay_machine_detach(struct replay *, uint32_t port);

/* The window of an instruction is closed or revoked: waits for accesses. */
void replay_machine_quiesce(struct replay *, const struct trace_instruction *);

/* Locks or unlocks. Returns as the call. */
int replay_machine_lock(struct replay *, const struct trace_instruction *);

/*
 * A notification was consumed: restores its tag and sets the result of its
 * instruction. Returns false if the call would not have it.
 */
bool replay_machine_consumed(struct replay *, struct outcome_nqe *);
void replay_machine_returned(
	struct replay *, uint32_t port, uint64_t r, uint32_t completions);

/* ---- replay_machine_issue.c ---- */

/*
 * Issues instruction i, and waits if it must not overlap the next. Returns its
 * result so far, or -EAGAIN: it would be held.
 */
int replay_machine_issue(struct replay *, uint32_t i);

/* Waits until nothing is in flight. */
void replay_machine_wait(struct replay *);

#endif
