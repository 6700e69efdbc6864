/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a study takes: periods that say something, and an end that comes
 * within a few seconds on a network of some hundred nodes. All of it is known
 * before the first cycle, and depends on neither the machine nor its threads.
 */
#ifndef CAY_NETWORK_STUDY_PLAN_H
#define CAY_NETWORK_STUDY_PLAN_H

#include "network/study/study.h"

#define PLAN_STEPS 16 /* of a period */

/* All times in cycles. */
struct study_plan {
	uint64_t period, step;
	uint64_t piece;	  /* of a step; then the caller is asked */
	uint64_t limit;	  /* of warming up and measuring */
	bool many;	  /* a period holds more packets than its mean needs */
	double zero_load; /* mean latency of a packet alone */
	double precision;
};

/* The network must be open, and what is asked for must have been checked. */
void plan_make(struct study_plan *, const struct network *,
	const struct study_options *);
/* Periods of twice the length from now on. */
void plan_longer(struct study_plan *);

#endif
