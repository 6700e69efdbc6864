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
#define PLAN_KEY_MAX	  32

/* What Cay's p50 is meant to stay below; outcome.c says in figures. */
enum goal {
	GOAL_NONE = 0,
	GOAL_MESSAGE = 1, /* the smallest message */
	GOAL_PUT = 2,	  /* the smallest put */
};

struct plan {
	enum bench_kind kind;
	const char *meaning;	    /* of a figure; a table is one meaning */
	char label[PLAN_LABEL_MAX]; /* "8 B Fast Send" */
	char key[PLAN_KEY_MAX];	    /* BENCH_RMA: "put_4096_alloc" */
	enum goal goal;
	bool bandwidth; /* bytes per time mean something */
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
/* The i-th size of latency, as asked for or by default; false: no more. */
bool plan_latency_size(const struct bench_options *, unsigned i, size_t *bytes);
/* The i-th line about remote memory; false: no more. */
bool plan_rma(struct plan *, const struct bench_options *, unsigned i);
void plan_rate(struct plan *, const struct bench_options *);
void plan_ring(struct plan *, const struct bench_options *);
void plan_sleep(struct plan *, const struct bench_options *);

/* ---- for the files that make plans ---- */

/* So many rounds unless the user says otherwise, and when to give up. */
void plan_rounds(struct plan *, const struct bench_options *, uint32_t rounds);

/* "4 KiB put" */
void plan_label(struct plan *, size_t bytes, const char *way);

/* Two processes that have a core each, beside the hand-over of a line. */
struct plan plan_quiet(enum bench_kind, const struct bench_options *,
	size_t bytes, const char *meaning);

/* The samples that the largest number of rounds makes. */
uint32_t plan_samples_max(const struct plan *);

#endif
