/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log of samples, which keeps every one, and percentiles. Rank 0 appends to
 * the log in shared memory.
 */
#ifndef CAY_BENCH_HARNESS_SAMPLES_H
#define CAY_BENCH_HARNESS_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

enum sample_kind {
	SAMPLE_BATCH = 0,  /* the mean of the iterations of a batch */
	SAMPLE_SINGLE = 1, /* one iteration */
};

struct sample {
	uint32_t round;
	uint16_t workload; /* index in the case */
	uint16_t kind;	   /* enum sample_kind */
	double ns;	   /* of one hop, message or wake-up */
};

struct samples {
	uint32_t count, capacity;
	struct sample at[];
};

/* Appends a sample; drops it if the log is full. */
void samples_add(struct samples *, uint32_t round, uint16_t workload,
	enum sample_kind, double ns);

/* Sorts in place. */
void samples_sort(double *values, size_t count);

/*
 * Returns the smallest value that at least this fraction (0 to 1) of the sorted
 * values does not exceed; 0 without values.
 */
double samples_percentile(const double *sorted, size_t count, double fraction);

/* Sorts in place and returns the median. */
double samples_median(double *values, size_t count);

#endif
