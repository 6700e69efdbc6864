/* SPDX-License-Identifier: BSD-2-Clause */
/* Random traces, the same for the same seed. Pure. */
#ifndef CAY_TRACE_RANDOM_H
#define CAY_TRACE_RANDOM_H

#include "trace/trace.h"

struct random_options {
	uint64_t seed;
	uint32_t ports; /* 1 to TRACE_PORTS_MAX */
	uint32_t count; /* of instructions after the set-up */
	/*
	 * Origins access the same words. Without it each has its own part of
	 * every window, so that in whatever order origins come, memory and what
	 * each is notified of are the same.
	 */
	bool conflicts;
	/*
	 * For origins that race: after the set-up only what the device
	 * executes, nothing whose end is up to another port, and with conflicts
	 * only accesses whose parts are single words.
	 */
	bool race;
	bool full; /* race: queues so small that not all messages fit */
};

/* A trace that was checked. 0, -EINVAL (options), -ENOMEM. */
int random_trace(const struct random_options *, struct trace *);

/* How many instructions of it are set-up. */
uint32_t random_setup(const struct trace *);

#endif
