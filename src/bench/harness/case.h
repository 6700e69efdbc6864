/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A benchmark case: what becomes one line of a report. It names the workloads
 * that alternate, how they are sampled, and which rounds are accepted.
 */
#ifndef CAY_BENCH_HARNESS_CASE_H
#define CAY_BENCH_HARNESS_CASE_H

#include "bench/harness/round.h"
#include "bench/harness/workload.h"

#define CASE_WORKLOADS_MAX ROUND_REFERENCES_MAX
#define CASE_LABEL_MAX	   40
#define CASE_KEY_MAX	   32

/* The first workload is the reference. In `cay bench`, these follow: */
#define CASE_REFERENCE 0
#define CASE_BASELINE  1
#define CASE_CAY       2

/* Limits of Cay's p50; result.c has the numbers. */
enum case_target {
	TARGET_NONE,
	TARGET_MESSAGE, /* of the smallest message */
	TARGET_PUT,	/* of the smallest put */
};

struct bench_case {
	const char *bench;	    /* "latency" */
	const char *metric;	    /* what a figure is; one table per metric */
	char label[CASE_LABEL_MAX]; /* "8 B Fast Send" */
	char key[CASE_KEY_MAX];	    /* "put_4096_alloc", or empty */
	enum case_target target;
	bool rate, bandwidth; /* report messages or bytes per time, too */
	size_t bytes;	      /* of a message or access */
	bool rewrite;	      /* of the source, before each batch */
	unsigned ports;	      /* of Cay, open besides those that are used */
	unsigned ranks, workloads;
	const struct workload *workload[CASE_WORKLOADS_MAX];
	size_t shared_bytes; /* memory of each workload */
	struct sampling reference, measured;
	uint32_t rounds;     /* to keep */
	uint32_t tries;	     /* rounds at most */
	uint64_t limit_ns;   /* for all rounds together */
	uint64_t timeout_ns; /* of a slice or a set-up; 0: the default */
	struct round_rules rules;
	const char *(*error_text)(int error); /* of workloads; NULL: strerror */
};

/* Returns a case of two pinned ranks that alternate with the hand-over (L). */
struct bench_case case_pinned(
	const char *bench, const char *metric, size_t bytes);

/* Sets the limits; half of the rounds to keep suffice for a figure. */
void case_set_rounds(struct bench_case *, uint32_t rounds, uint32_t tries,
	uint64_t limit_ns);

/* Returns the number of samples of all tries. */
uint32_t case_samples_max(const struct bench_case *);

#endif
