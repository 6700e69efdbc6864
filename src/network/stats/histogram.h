/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram: exact below 1024, then 512 buckets per doubling (0.2 %). Merging
 * histograms gives the same result as counting in one.
 */
#ifndef CAY_NETWORK_STATS_HISTOGRAM_H
#define CAY_NETWORK_STATS_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS (1024 + 512 * 32)

struct histogram {
	uint64_t count, sum, least, most;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_clear(struct histogram *);
void histogram_add(struct histogram *, uint64_t value);
void histogram_merge(struct histogram *to, const struct histogram *from);
/* The value that a share (0 to 1) of all values do not exceed; 0 if empty. */
uint64_t histogram_percentile(const struct histogram *, double share);
double histogram_mean(const struct histogram *);

#endif
