/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which rounds may be believed. What a candidate measured never decides about
 * its own round, or its tail would be cut off; only the yardstick before and
 * after each candidate does, and what the kernel says about switches.
 */
#ifndef CAY_BENCH_VERDICT_H
#define CAY_BENCH_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
	VERDICT_KEPT = 0,
	VERDICT_DRIFTED = 1,   /* yardsticks of the round disagree */
	VERDICT_SWITCHED = 2,  /* a process was taken off its core */
	VERDICT_ELSEWHERE = 3, /* at another distance than most rounds */
	VERDICT_COUNT = 4,
};

#define ROUND_YARDSTICKS_MAX 4

struct round {
	double yardstick_ns[ROUND_YARDSTICKS_MAX]; /* in order of time */
	uint32_t yardsticks;
	uint32_t switches; /* involuntary ones, of all processes */
	uint32_t verdict;  /* enum verdict */
};

struct rules {
	double agree;	 /* largest over smallest yardstick of a round */
	double alike;	 /* a round's yardstick over that of the median round */
	bool unbroken;	 /* no involuntary switch */
	double foreign;	 /* share of the cores that others may have had */
	uint32_t enough; /* kept rounds, or no figure at all */
};

/* Of one round by itself: never VERDICT_ELSEWHERE. */
enum verdict verdict_of(const struct round *, const struct rules *);

double round_yardstick_ns(const struct round *);

/*
 * Over all rounds: those that are kept but far from the median kept round
 * become VERDICT_ELSEWHERE. Gives the number that stay, or -ENOMEM.
 */
int verdict_settle(struct round *, size_t count, const struct rules *);

const char *verdict_name(enum verdict); /* one word, for programs */
const char *verdict_text(enum verdict); /* for people */

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
