/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plan: one line of a report before it is measured. Which flavours run in
 * turn, in which portions, what a figure means and when it may be believed.
 */
#ifndef CAY_BENCH_PLAN_H
#define CAY_BENCH_PLAN_H

#include "bench/bench.h"
#include "bench/flavour.h"
#include "bench/verdict.h"

#define PLAN_FLAVOURS_MAX 3 /* with the yardstick */
#define PLAN_LABEL_MAX	  40

struct plan {
	enum bench_kind kind;
	char label[PLAN_LABEL_MAX]; /* "8 B Fast Send" */
	size_t bytes;
	bool fresh;
	unsigned ranks;
	/* 0 the yardstick, 1 what Cay is compared with, 2 Cay. */
	const struct flavour *flavour[PLAN_FLAVOURS_MAX];
	struct shape yardstick, measured;
	uint32_t rounds, tries;
	uint64_t limit_ns; /* for all rounds together */
	struct rules rules;
};

#define PLAN_YARDSTICK 0
#define PLAN_SKETCH    1
#define PLAN_CANDIDATE 2

/* Each fills in a plan; bytes is at most BENCH_BYTES_MAX. */
void plan_latency(struct plan *, const struct bench_options *, size_t bytes,
	bool from_alloc);
void plan_rate(struct plan *, const struct bench_options *);
void plan_ring(struct plan *, const struct bench_options *);
void plan_sleep(struct plan *, const struct bench_options *);

/* The samples that the largest number of rounds makes. */
uint32_t plan_samples_max(const struct plan *);

#endif
