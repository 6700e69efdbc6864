/* SPDX-License-Identifier: BSD-2-Clause */
/* Integer arithmetic, hints about branches, inlining and caches. */
#ifndef CAY_BASE_BITS_H
#define CAY_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define likely(e)   __builtin_expect(!!(e), 1)
#define unlikely(e) __builtin_expect(!!(e), 0)

/* Inlined although it is large: constant arguments remove most of it. */
#define folded inline __attribute__((always_inline))

/*
 * Gets the line of an address for writing, in the background. No address is
 * invalid. __builtin_prefetch() gets it for reading on most x86-64.
 */
static inline void prefetch_for_write(const void *address)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" ::"m"(*(const char *)address));
#else
	__builtin_prefetch(address, 1);
#endif
}

/* Returns the smallest n with 1 << n >= value; 0 for value 0. */
static inline unsigned bits_log2_up(uint64_t value)
{
	return value <= 1 ? 0 : 64u - (unsigned)__builtin_clzll(value - 1);
}

/* Rounds up to a multiple of `step`, a power of two. */
static inline uint64_t bits_round_up(uint64_t value, uint64_t step)
{
	return (value + step - 1) & ~(step - 1);
}

static inline uint64_t bits_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns true if [start, start + length) is within [0, size). */
static inline bool bits_inside(uint64_t start, uint64_t length, uint64_t size)
{
	return start <= size && length <= size - start;
}

#endif
