/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of one scenario, and its node, as the one that leads it. */
#ifndef CAY_TESTS_CRASH_RUN_H
#define CAY_TESTS_CRASH_RUN_H

#include <sys/types.h>

#include "page.h"
#include "scenario.h"

struct run {
	struct page *page;
	const struct scenario *scenario;
	pid_t receiver, party[PARTY_COUNT]; /* 0: there is none, or it died */
};

/* Does the victim receive, and not send? */
bool run_takes(const struct run *);

/* Starts them all and waits until they have found each other. */
bool run_start(struct run *);

/* Waits until a word of the page is that large; else that is what failed. */
bool run_until(struct run *, const _Atomic uint64_t *, uint64_t least,
	const char *otherwise);
bool run_until32(struct run *, const _Atomic uint32_t *, uint32_t least,
	const char *otherwise);

/*
 * Lets a party strike and waits until it has. False: it never passes the step,
 * or the scenario has failed.
 */
bool run_strike(struct run *, enum party);
/* The same of one that had leave before. */
bool run_struck(struct run *, enum party);

/* Kills it for good. */
void run_kill(struct run *, pid_t *);

/* As `cay node fence` does. */
void run_fence(struct run *, enum party);
pid_t run_node(struct run *);

/* It must end by itself with status 0. */
void run_end(struct run *, pid_t *, const char *name);
void run_kill_all(struct run *);

#endif
