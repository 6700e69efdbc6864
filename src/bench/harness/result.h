/* SPDX-License-Identifier: BSD-2-Clause */
/* The result of a benchmark case: figures of the rounds that were kept. */
#ifndef CAY_BENCH_HARNESS_RESULT_H
#define CAY_BENCH_HARNESS_RESULT_H

#include "bench/harness/measurement.h"

struct figure {
	double p50_ns; /* of batches, so that reading the clock costs nothing */
	double p99_ns; /* of singles, or of batches if there are none */
	size_t p50_samples, p99_samples;
};

struct result {
	const struct bench_case *bc;
	struct figure figure[CASE_WORKLOADS_MAX];
	uint32_t tried, by_status[ROUND_STATUSES]; /* rounds */
	double foreign_load;
	/* Too few rounds were kept: the figures are of all rounds, and only for
	 * orientation. */
	bool disturbed;
};

/* A limit of Cay's p50. */
struct target {
	const char *text;
	double limit_ns;
	bool met;
};
#define TARGETS_MAX 2

/* Rejects outliers and computes the figures. Returns 0 or -ENOMEM. */
int result_of(const struct bench_case *, struct measurement *, struct result *);

/* Stores the targets of a result and returns their number. */
unsigned result_targets(const struct result *, struct target *);
bool result_missed(const struct result *);

/* Returns p50 of the last workload over that of another; 0 if that has none. */
double result_ratio(const struct result *, unsigned workload);

/* Returns true if the reference is the hand-over, which shows the distance. */
bool result_has_distance(const struct result *);
enum distance result_distance(const struct result *);

/* Writes "12 drifted, 3 preempted"; empty if no round was dropped. */
#define DROPPED_MAX 80
void result_dropped(const struct result *, char text[DROPPED_MAX]);

/* Writes why the result is disturbed. */
#define DISTURBED_MAX 160
void result_disturbed(const struct result *, char text[DISTURBED_MAX]);

#endif
