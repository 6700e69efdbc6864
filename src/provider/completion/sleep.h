/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeping on wait objects, with progress on their endpoints: see wait.h. */
#ifndef CAY_PROVIDER_SLEEP_H
#define CAY_PROVIDER_SLEEP_H

#include "provider/completion/wait.h"

/* Makes progress on every member. */
void wait_progress(struct wait *);

/*
 * Ends an iteration of a loop that makes progress, checks the condition that it
 * waits for and, where it can be signalled, wait_consume_signal(). Releases the
 * lock meanwhile. Spins until `spin_ns`, then sleeps; both times are absolute,
 * in CLOCK_MONOTONIC ns. Returns 0 (check again), -FI_ETIMEDOUT (the deadline
 * had passed before the last check), -FI_EINTR, or an error of a port.
 */
int wait_turn(struct wait *, uint64_t spin_ns, uint64_t deadline_ns);
/* Returns the end of spinning that begins now. */
uint64_t wait_spin_end(void);

/*
 * fi_trywait(). Returns 0 (sleep on the descriptor) or -FI_EAGAIN (read first).
 */
int wait_try(struct wait *);

/*
 * Arms an endpoint's port and polls what is there. Returns 0, or -FI_EAGAIN
 * (still more to poll) or another error after wait_wake_sleepers().
 */
int wait_arm_port(struct endpoint *);

#endif
