/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples: every single one is kept. Rank 0 appends to a log in shared memory,
 * the parent reads it when the processes have ended.
 */
#ifndef CAY_BENCH_HARNESS_SAMPLES_H
#define CAY_BENCH_HARNESS_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

enum sample_kind {
	SAMPLE_BATCH = 0, /* many trips between two looks at the clock */
	SAMPLE_TRIP = 1,  /* one trip */
};

struct sample {
	uint32_t round;
	uint16_t workload; /* index in the plan */
	uint16_t kind;	   /* enum sample_kind */
	double ns;	   /* of one hop, message or wake-up */
};

struct samples {
	uint32_t count, capacity;
	struct sample at[];
};

void samples_add(struct samples *, uint32_t round, uint16_t workload,
	enum sample_kind, double ns);

/* Sorts in place. */
void samples_sort(double *values, size_t count);

/*
 * The smallest value that at least this fraction (0 to 1) of the sorted values
 * does not exceed; 0 if there are none.
 */
double samples_percentile(const double *sorted, size_t count, double fraction);

/* The median of some values in any order; it sorts them. */
double samples_median(double *values, size_t count);

#endif
