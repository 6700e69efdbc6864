/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Can what racing origins have seen be explained by somebody who executes them
 * on the oracle's model, in some order that keeps each origin's own? Searches
 * all orders of what the device does indivisibly: a claim of an entry, a word
 * that is loaded or stored, an atomic. States that were found to lead nowhere
 * are remembered.
 *
 * For traces of random_trace() with `race`: a set-up by one thread, then each
 * origin's instructions in a thread of its own, nobody drains.
 */
#ifndef CAY_TRACE_INTERLEAVE_H
#define CAY_TRACE_INTERLEAVE_H

#include "trace/oracle.h"

#define INTERLEAVE_ORIGINS_MAX 8

struct interleave {
	uint32_t setup; /* instructions before the race */
	/*
	 * A get with CAY_FREE_ORDER may read before others see what its port
	 * has put: nothing but stores lie between.
	 */
	bool late_stores;
	enum oracle_fault fault;
};

/*
 * 0: explained; -ENOENT: not; the text says what no order explains. -E2BIG: too
 * many orders to tell, -ENOMEM. `states`: how many were looked at.
 */
int interleave_explain(const struct interleave *, const struct outcome *seen,
	uint64_t *states, char *text, size_t room);

#endif
