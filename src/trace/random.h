/* SPDX-License-Identifier: BSD-2-Clause */
/* Random traces. Equal options give equal traces. */
#ifndef CAY_TRACE_RANDOM_H
#define CAY_TRACE_RANDOM_H

#include "trace/trace.h"

struct random_options {
	uint64_t seed;
	uint32_t ports; /* 1 to TRACE_PORTS_MAX */
	uint32_t count; /* instructions after the set-up */
	/*
	 * Origins access the same words. Otherwise each origin has its own part
	 * of every window, so memory and the notifications of each origin do
	 * not depend on the order of origins.
	 */
	bool conflicts;
	/*
	 * For racing origins: after the set-up only instructions that the
	 * device executes and that complete without another port, and with
	 * conflicts only accesses to whole words.
	 */
	bool race;
	bool full; /* race: queues too small for all messages */
};

/*
 * Makes a trace and applies trace_check(). Returns 0, -EINVAL for invalid
 * options, or -ENOMEM.
 */
int random_trace(const struct random_options *, struct trace *);

#endif
