/* SPDX-License-Identifier: BSD-2-Clause */
/* An result: one line of a report, from the rounds that were kept. */
#ifndef CAY_BENCH_HARNESS_RESULT_H
#define CAY_BENCH_HARNESS_RESULT_H

#include "bench/harness/measurement.h"

struct figure {
	double p50_ns; /* of batches: looking at the clock costs them nothing */
	double p99_ns; /* of single trips, or of batches if there are none */
	size_t p50_samples, p99_samples;
};

struct result {
	const struct bench_case *bc;
	struct figure figure[CASE_WORKLOADS_MAX];
	uint32_t tried, by_status[ROUND_STATUSES];
	double foreign; /* share of the cores that others had */
	bool refused;	/* the run was disturbed: the figures mean nothing */
};

/* What Cay is meant to stay below. */
struct target {
	const char *text;
	double limit_ns;
	bool held;
};
#define TARGETS_MAX 2

/* Settles the by_status in `rounds` too. 0 or -ENOMEM. */
int result_of(const struct bench_case *, struct measurement *, struct result *);

/* The targets of this result: their number, 0 if it has none. */
unsigned result_targets(const struct result *, struct target *);
bool result_missed(const struct result *);

/* Cay's p50 over another workload's; 0 if there is none. */
double result_ratio(const struct result *, unsigned workload);

/* Is the reference the hand-over of a line, so that it tells the distance? */
bool result_has_distance(const struct result *);
enum distance result_distance(const struct result *);

/* "12 reference drifted, 3 process switched out"; empty if none dropped. */
#define DROPPED_MAX 120
void result_dropped(const struct result *, char text[DROPPED_MAX]);

/* Why it is refused. */
#define REFUSED_MAX 240
void result_refused(const struct result *, char text[REFUSED_MAX]);

#endif
