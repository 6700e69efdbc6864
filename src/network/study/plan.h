/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time plan of a study: periods long enough to be significant, and a limit
 * that is reached within seconds for a network of some hundred nodes. The plan
 * depends on neither the machine nor the number of threads.
 */
#ifndef CAY_NETWORK_STUDY_PLAN_H
#define CAY_NETWORK_STUDY_PLAN_H

#include "network/study/study.h"

#define PLAN_STEPS 16 /* of a period */

/* All times in cycles. */
struct study_plan {
	uint64_t period, step;
	uint64_t piece;	  /* part of a step, between two progress calls */
	uint64_t limit;	  /* of warm-up and measurement */
	bool many;	  /* a period has more packets than its mean needs */
	double zero_load; /* mean latency of a packet in an empty network */
	double precision;
};

/* Plans a study whose options have been checked. */
void plan_make(struct study_plan *, const struct network *,
	const struct study_options *);
/* Doubles the length of the following periods. */
void plan_longer(struct study_plan *);

#endif
