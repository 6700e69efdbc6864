/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which rounds may be believed. What a candidate measured never decides about
 * its own round, or its tail would be cut off; only the reference before and
 * after each candidate does, and what the kernel says about switches.
 */
#ifndef CAY_BENCH_HARNESS_ROUND_H
#define CAY_BENCH_HARNESS_ROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum round_status {
	ROUND_KEPT = 0,
	ROUND_DRIFTED = 1,   /* references of the round disagree */
	ROUND_PREEMPTED = 2, /* a process was taken off its core */
	ROUND_OUTLIER = 3,   /* at another distance than most rounds */
	ROUND_STATUSES = 4,
};

#define ROUND_REFERENCES_MAX 4

struct round {
	double reference_ns[ROUND_REFERENCES_MAX]; /* in order of time */
	uint32_t references;
	uint32_t switches; /* involuntary ones, of all processes */
	uint32_t status;   /* enum round_status */
};

struct rules {
	double agree;	 /* largest over smallest reference of a round */
	double alike;	 /* a round's reference over that of the median round */
	bool unbroken;	 /* no involuntary switch */
	double foreign;	 /* share of the cores that others may have had */
	uint32_t enough; /* kept rounds, or no figure at all */
};

/* Of one round by itself: never ROUND_OUTLIER. */
enum round_status round_status_of(const struct round *, const struct rules *);

double round_reference_ns(const struct round *);

/*
 * Over all rounds: those that are kept but far from the median kept round
 * become ROUND_OUTLIER. Gives the number that stay, or -ENOMEM.
 */
int rounds_reject_outliers(struct round *, size_t count, const struct rules *);

const char *round_status_name(enum round_status); /* one word, for programs */
const char *round_status_text(enum round_status); /* for people */

/* ---- how far apart two cores are ---- */

enum distance {
	DISTANCE_NEAR = 0,   /* one physical core, or one close cache */
	DISTANCE_MIDDLE = 1, /* cores of their own */
	DISTANCE_FAR = 2,    /* another socket, or a loaded host */
};

enum distance distance_of(double handover_ns);
const char *distance_name(enum distance); /* one word */
const char *distance_text(enum distance);

#endif
