/* SPDX-License-Identifier: BSD-2-Clause */
/* cay bench: benchmarks of Cay's own API; see src/bench/README.md. */
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
	BENCH_ULTRA = 5,
	BENCH_KINDS = 6,
};

struct bench_options {
	unsigned kinds; /* bit i: enum bench_kind i */
	size_t sizes[BENCH_SIZES_MAX];
	unsigned size_count; /* 0: defaults of the benchmark */
	uint32_t rounds;     /* to keep; 0: default of the benchmark */
	int core[2];	     /* -1: the first two that may be used */
	unsigned processes;  /* of the ring */
	bool brief;	     /* a few cases of each benchmark */
	bool resend;	     /* do not rewrite the source of long messages */
	bool json;
	bool check;	     /* a missed target is an error */
	bool progress;	     /* shown on stderr */
	const char *samples; /* file for every sample, or NULL */
	const char *command; /* as typed, for the report */
};

struct bench_options bench_defaults(void);
const char *bench_name(enum bench_kind);

/* Runs the benchmarks and reports to out. Returns the exit status. */
int bench_run(const struct bench_options *, FILE *out);

#endif
