/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of one scenario and its node, as seen by the controlling
 * process.
 */
#ifndef CAY_TESTS_CRASH_RUN_H
#define CAY_TESTS_CRASH_RUN_H

#include <sys/types.h>

#include "page.h"
#include "scenario.h"

struct run {
	struct page *page;
	const struct scenario *scenario;
	pid_t receiver, party[PARTY_COUNT]; /* 0: not started, or dead */
};

/* Returns true if the victim receives instead of sending. */
bool run_victim_is_target(const struct run *);

/* Starts all processes and waits until they have resolved each other. */
bool run_start(struct run *);

/*
 * Waits until a word of the page reaches a value; records a failure otherwise.
 */
bool run_until(struct run *, const _Atomic uint64_t *, uint64_t least,
	const char *otherwise);
bool run_until32(struct run *, const _Atomic uint32_t *, uint32_t least,
	const char *otherwise);

/*
 * Permits a party to fail and waits until it has. Returns false if it never
 * passes the step, or the scenario has failed.
 */
bool run_fault(struct run *, enum party);
/* Waits for a party that already has permission. */
bool run_faulted(struct run *, enum party);

/* Kills a party. */
void run_kill(struct run *, pid_t *);

/* Fences a party, as `cay node fence` does. */
void run_fence(struct run *, enum party);
pid_t run_node(struct run *);

/* Waits for a party to exit with status 0. */
void run_end(struct run *, pid_t *, const char *name);
void run_kill_all(struct run *);

#endif
