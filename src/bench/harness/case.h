/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plan: one line of a report before it is measured. Which workloads run in
 * turn, in which portions, what a figure means and when it may be believed.
 */
#ifndef CAY_BENCH_HARNESS_CASE_H
#define CAY_BENCH_HARNESS_CASE_H

#include "bench/bench.h"
#include "bench/harness/round.h"
#include "bench/harness/workload.h"

#define CASE_WORKLOADS_MAX 3 /* with the reference */
#define CASE_LABEL_MAX	   40
#define CASE_KEY_MAX	   32

/* What Cay's p50 is meant to stay below; result.c says in figures. */
enum goal {
	GOAL_NONE = 0,
	GOAL_MESSAGE = 1, /* the smallest message */
	GOAL_PUT = 2,	  /* the smallest put */
};

struct bench_case {
	enum bench_kind kind;
	const char *bench;	    /* name of the benchmark: "latency" */
	const char *meaning;	    /* of a figure; a table is one meaning */
	char label[CASE_LABEL_MAX]; /* "8 B Fast Send" */
	char key[CASE_KEY_MAX];	    /* BENCH_RMA: "put_4096_alloc" */
	enum goal goal;
	bool bandwidth; /* bytes per time mean something */
	size_t bytes;
	bool fresh;
	unsigned ranks;
	/* 0 the reference, 1 what Cay is compared with, 2 Cay. */
	const struct workload *workload[CASE_WORKLOADS_MAX];
	struct shape reference, measured;
	uint32_t rounds, tries;
	uint64_t limit_ns; /* for all rounds together */
	struct rules rules;
};

#define CASE_REFERENCE 0
#define CASE_BASELINE  1
#define CASE_CAY       2

/* Each fills in a bc; bytes is at most BENCH_BYTES_MAX. */
void case_latency(struct bench_case *, const struct bench_options *,
	size_t bytes, bool from_alloc);
/* The i-th size of latency, as asked for or by default; false: no more. */
bool case_latency_size(const struct bench_options *, unsigned i, size_t *bytes);
/* The i-th line about remote memory; false: no more. */
bool case_rma(struct bench_case *, const struct bench_options *, unsigned i);
void case_rate(struct bench_case *, const struct bench_options *);
void case_ring(struct bench_case *, const struct bench_options *);
void case_sleep(struct bench_case *, const struct bench_options *);

/* ---- for the files that make plans ---- */

/* So many rounds unless the user says otherwise, and when to give up. */
void case_rounds(
	struct bench_case *, const struct bench_options *, uint32_t rounds);

/* "4 KiB put" */
void case_label(struct bench_case *, size_t bytes, const char *way);

/* Two processes that have a core each, beside the hand-over of a line. */
struct bench_case case_quiet(enum bench_kind, const struct bench_options *,
	size_t bytes, const char *meaning);

/* The samples that the largest number of rounds makes. */
uint32_t case_samples_max(const struct bench_case *);

#endif
