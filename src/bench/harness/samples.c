/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of samples, and percentiles; reads no clock. */
#include "bench/harness/samples.h"

#include <stdlib.h>

void samples_add(struct samples *s, uint32_t round, uint16_t workload,
	enum sample_kind kind, double ns)
{
	if (s->count == s->capacity)
		return;
	s->at[s->count++] = (struct sample){ .round = round,
		.workload = workload,
		.kind = (uint16_t)kind,
		.ns = ns };
}

static int samples_compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

void samples_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), samples_compare);
}

double samples_percentile(const double *sorted, size_t count, double fraction)
{
	double exact = fraction * (double)count;
	size_t rank = (size_t)exact;

	if (count == 0)
		return 0;
	if ((double)rank < exact)
		rank++;
	if (rank < 1)
		rank = 1;
	return sorted[rank > count ? count - 1 : rank - 1];
}

double samples_median(double *values, size_t count)
{
	samples_sort(values, count);
	return samples_percentile(values, count, 0.5);
}
