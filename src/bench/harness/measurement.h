/* SPDX-License-Identifier: BSD-2-Clause */
/* Measuring a benchmark case: rounds until enough are kept. */
#ifndef CAY_BENCH_HARNESS_MEASUREMENT_H
#define CAY_BENCH_HARNESS_MEASUREMENT_H

#include "bench/harness/case.h"
#include "bench/harness/samples.h"
#include "bench/harness/worker.h"

struct measurement {
	struct round *round;
	uint32_t rounds;
	struct samples *samples;
	double foreign_load;	      /* share of the cores, 0 to 1 */
	char failure[GROUP_TEXT_MAX]; /* empty if there was none */
};

/*
 * Forks the ranks, measures and collects. Returns 0, or -errno with the reason
 * in `failure`. Call measurement_free() in both cases.
 */
int measurement_run(const struct bench_case *, const int core[2],
	bool show_progress, struct measurement *);
void measurement_free(struct measurement *);

/*
 * Rank 0: one round, judged by itself. Returns 0, or -errno after group_fail().
 */
int measurement_round(
	struct worker *, struct round *, uint32_t number, struct samples *);

#endif
