/* SPDX-License-Identifier: BSD-2-Clause */
/* An outcome: one line of a report, from the rounds that were kept. */
#ifndef CAY_BENCH_OUTCOME_H
#define CAY_BENCH_OUTCOME_H

#include "bench/rounds.h"

struct figure {
	double p50_ns; /* of batches: looking at the clock costs them nothing */
	double p99_ns; /* of single trips, or of batches if there are none */
	size_t p50_samples, p99_samples;
};

struct outcome {
	const struct plan *plan;
	struct figure figure[PLAN_FLAVOURS_MAX];
	uint32_t tried, verdicts[VERDICT_COUNT];
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

/* Settles the verdicts in `rounds` too. 0 or -ENOMEM. */
int outcome_of(const struct plan *, struct rounds *, struct outcome *);

/* The targets of this outcome: their number, 0 if it has none. */
unsigned outcome_targets(const struct outcome *, struct target *);
bool outcome_missed(const struct outcome *);

/* Cay's p50 over another flavour's; 0 if there is none. */
double outcome_ratio(const struct outcome *, unsigned flavour);

/* Is the yardstick the hand-over of a line, so that it tells the distance? */
bool outcome_has_distance(const struct outcome *);
enum distance outcome_distance(const struct outcome *);

/* "12 yardstick drifted, 3 process switched out"; empty if none dropped. */
#define DROPPED_MAX 120
void outcome_dropped(const struct outcome *, char text[DROPPED_MAX]);

/* Why it is refused. */
#define REFUSED_MAX 240
void outcome_refused(const struct outcome *, char text[REFUSED_MAX]);

#endif
