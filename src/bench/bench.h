/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Benchmarks of Cay that say what they are worth: every figure stands beside
 * the bare hand-over and a baseline of the same mechanism, measured in turn,
 * and none is given from a run that was disturbed.
 */
#ifndef CAY_BENCH_BENCH_H
#define CAY_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_SIZES_MAX	    16u
#define BENCH_BYTES_MAX	    (1u << 20)
#define BENCH_PROCESSES_MAX 64u

enum bench_kind {
	BENCH_LATENCY = 0,
	BENCH_RATE = 1,
	BENCH_RING = 2,
	BENCH_SLEEP = 3,
	BENCH_RMA = 4,
	BENCH_KINDS = 5,
};

struct bench_options {
	unsigned kinds; /* bit i: enum bench_kind i */
	size_t sizes[BENCH_SIZES_MAX];
	unsigned size_count; /* 0: by benchmark */
	uint32_t rounds;     /* to keep; 0: by benchmark */
	int core[2];	     /* -1: the first two that may be used */
	unsigned processes;
	bool brief;  /* a few lines of each are enough */
	bool resend; /* long messages from a source that is not touched */
	bool json;
	bool check;	     /* a missed target is an error */
	bool progress;	     /* on stderr */
	const char *samples; /* file for every sample, or NULL */
	const char *command; /* as typed, for the report */
};

/* What the process exits with; 2 is for wrong usage. */
enum bench_status {
	BENCH_DONE = 0,
	BENCH_FAILED = 1,    /* or a missed target, with options.check */
	BENCH_DISTURBED = 3, /* at least one figure is refused */
};

struct bench_options bench_defaults(void);
const char *bench_name(enum bench_kind);

/* Runs all, reports on out, complains on stderr. enum bench_status. */
int bench_run(const struct bench_options *, FILE *out);

#endif
