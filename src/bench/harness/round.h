/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Outlier rejection. Only the reference before and after each workload and the
 * kernel's count of preemptions decide about a round, never the measured
 * workload itself, because that would cut off its tail.
 */
#ifndef CAY_BENCH_HARNESS_ROUND_H
#define CAY_BENCH_HARNESS_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum round_status {
	ROUND_KEPT = 0,
	ROUND_DRIFTED = 1,   /* the references of the round differ */
	ROUND_PREEMPTED = 2, /* a process lost its core */
	ROUND_OUTLIER = 3,   /* its reference differs from most rounds */
	ROUND_STATUSES = 4,
};

#define ROUND_REFERENCES_MAX 4

struct round {
	double reference_ns[ROUND_REFERENCES_MAX]; /* in order of time */
	uint32_t references;
	uint32_t preemptions; /* of all ranks */
	uint32_t status;      /* enum round_status */
};

struct round_rules {
	double drift_max;      /* largest over smallest reference of a round */
	double outlier_factor; /* to the reference of the median round */
	bool reject_preempted;
	double foreign_load_max; /* share of the cores used by others */
	uint32_t rounds_min;	 /* kept rounds for a figure */
};

/* Judges one round by itself: never ROUND_OUTLIER. */
enum round_status round_status_of(
	const struct round *, const struct round_rules *);

/* Returns the mean of its references. */
double round_reference_ns(const struct round *);

/*
 * Marks kept rounds that are far from the median kept round as outliers.
 * Returns the number of rounds that stay, or -ENOMEM.
 */
int rounds_reject_outliers(
	struct round *, size_t count, const struct round_rules *);

const char *round_status_name(enum round_status);

/* ---- distance between two cores ---- */

enum distance {
	DISTANCE_NEAR = 0,   /* one physical core, or a close shared cache */
	DISTANCE_MIDDLE = 1, /* two cores of one chip */
	DISTANCE_FAR = 2,    /* another socket, or a loaded host */
};

enum distance distance_of(double handover_ns);
const char *distance_name(enum distance); /* "near" */
const char *distance_text(enum distance); /* a description */

#endif
