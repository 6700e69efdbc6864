/* SPDX-License-Identifier: BSD-2-Clause */
/* Measuring a benchmark case: rounds until enough are kept. */
#ifndef CAY_BENCH_HARNESS_MEASUREMENT_H
#define CAY_BENCH_HARNESS_MEASUREMENT_H

#include "bench/harness/case.h"
#include "bench/harness/samples.h"

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

/* ---- where the ranks are started by other means ---- */

/* Returns the bytes of the group's area that a case needs. */
size_t measurement_bytes(const struct bench_case *);

/* Initializes the shared memory, once, before the ranks start. */
void measurement_init(const struct bench_case *, struct group *);

/* Runs one rank. Returns 0, or -errno after group_fail(). */
int measurement_rank(const struct bench_case *, struct group *, unsigned rank);

/*
 * Copies the rounds and samples after the ranks have finished with `r`. Returns
 * as measurement_run().
 */
int measurement_collect(const struct bench_case *, const struct group *, int r,
	struct measurement *);

#endif
