/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pseudorandom numbers. Every node has a stream of its own, so that its numbers
 * do not depend on the worker that simulates it.
 */
#ifndef CAY_NETWORK_TRAFFIC_RANDOM_H
#define CAY_NETWORK_TRAFFIC_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

/* SplitMix64. */
static inline uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Returns an independent stream for each pair of seed and number. */
static inline struct random random_stream(uint64_t seed, uint64_t number)
{
	struct random r = { seed };
	uint64_t base = random_next(&r);
	r.state = number ^ 0x632be59bd9b4e019ull;
	return (struct random){ base ^ random_next(&r) };
}

/* Uniform in [0, bound), bound > 0; the bias is below 2^-32. */
static inline uint32_t random_below(struct random *r, uint32_t bound)
{
	return (uint32_t)((random_next(r) >> 32) * bound >> 32);
}

/* Uniform in [0, 1). */
static inline double random_real(struct random *r)
{
	return (double)(random_next(r) >> 11) * 0x1p-53;
}

#endif
