/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See histogram.h. An empty one is all zeroes. Above the exact values, a bucket
 * is determined by the ten leading bits of a value and the number of bits below
 * them. The last bucket takes all larger values.
 */
#include "network/stats/histogram.h"

#include <string.h>

#include "base/bits.h"

#define EXACT	  1024u /* values with a bucket of their own */
#define EXACT_LOG 10
#define STEPS	  512u /* buckets per doubling */

static uint32_t bucket_of(uint64_t value)
{
	if (value < EXACT)
		return (uint32_t)value;
	unsigned doubling = 63u - (unsigned)__builtin_clzll(value) - EXACT_LOG;
	/* At least STEPS, and less than twice that. */
	uint32_t top = (uint32_t)(value >> (doubling + 1));
	uint32_t bucket = EXACT + STEPS * doubling + top - STEPS;
	return (uint32_t)bits_min(bucket, HISTOGRAM_BUCKETS - 1);
}

/* The largest value of a bucket. */
static uint64_t bucket_end(uint32_t bucket)
{
	if (bucket < EXACT)
		return bucket;
	if (bucket == HISTOGRAM_BUCKETS - 1)
		return UINT64_MAX;
	uint32_t doubling = (bucket - EXACT) / STEPS;
	uint64_t top = STEPS + (bucket - EXACT) % STEPS;
	return ((top + 1) << (doubling + 1)) - 1;
}

void histogram_clear(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
}

void histogram_add(struct histogram *h, uint64_t value)
{
	if (h->count == 0 || value < h->least)
		h->least = value;
	if (value > h->most)
		h->most = value;
	h->count++;
	h->sum += value;
	h->bucket[bucket_of(value)]++;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	if (from->count == 0)
		return;
	if (to->count == 0 || from->least < to->least)
		to->least = from->least;
	if (from->most > to->most)
		to->most = from->most;
	to->count += from->count;
	to->sum += from->sum;
	uint32_t last = bucket_of(from->most);
	for (uint32_t i = bucket_of(from->least); i <= last; i++)
		to->bucket[i] += from->bucket[i];
}

uint64_t histogram_percentile(const struct histogram *h, double share)
{
	if (h->count == 0 || !(share > 0))
		return h->least;
	if (share >= 1)
		return h->most;
	/*
	 * The rank, rounded up. A share such as 0.07 is slightly more than that
	 * in binary, and of 100 values must still give 7.
	 */
	double exact = share * (double)h->count * (1 - 0x1p-50);
	uint64_t rank = (uint64_t)exact, seen = 0;
	rank += (double)rank < exact;
	uint32_t last = bucket_of(h->most);
	for (uint32_t i = bucket_of(h->least); i < last; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return bucket_end(i);
	}
	return h->most;
}

double histogram_mean(const struct histogram *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}
