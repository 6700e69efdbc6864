/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the outcome of racing origins: searches for an order of their atomic
 * steps, each origin's in program order, in which the oracle's model gives the
 * observed results and memory. A step is the claim of an NQ entry, a load or
 * store of a word, or an atomic. The digests of visited states are kept, so no
 * state is searched twice.
 *
 * For traces of random_trace() with `race`: a set-up by one thread, then the
 * instructions of each origin in a thread of its own; no port drains.
 */
#ifndef CAY_TESTS_TRACE_LINEARIZE_H
#define CAY_TESTS_TRACE_LINEARIZE_H

#include "trace/oracle.h"

#define LINEARIZE_ORIGINS_MAX 8

struct linearize_options {
	uint32_t setup; /* instructions before the race */
	/*
	 * A get with CAY_FREE_ORDER may read before the preceding puts of its
	 * port are visible: they are plain stores, which the processor buffers.
	 */
	bool store_buffer;
	enum oracle_fault fault;
};

/*
 * Returns 0 if an order exists, -ENOENT if none does (`text` names the
 * instructions that no order explains), -E2BIG if the search was given up, or
 * -ENOMEM. `states`: number of states visited.
 */
int linearize(const struct linearize_options *, const struct outcome *seen,
	uint64_t *states, char *text, size_t size);

#endif
