/* SPDX-License-Identifier: BSD-2-Clause */
/* The monotonic clock in nanoseconds; deadlines are absolute. */
#ifndef CAY_BASE_CLOCK_H
#define CAY_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_S	1000000000ull
#define CLOCK_NS_PER_MS 1000000ull
#define CLOCK_NS_PER_US 1000ull

static inline uint64_t clock_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * CLOCK_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Returns the deadline `ns` from now; saturates. */
static inline uint64_t clock_after_ns(uint64_t ns)
{
	uint64_t now = clock_now_ns();
	return now + ns < now ? UINT64_MAX : now + ns;
}

static inline bool clock_passed(uint64_t deadline)
{
	return deadline != UINT64_MAX && clock_now_ns() >= deadline;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
		.tv_nsec = (long)(ns % CLOCK_NS_PER_S) };
}

/* Sleeps for `ns`, or until a signal is handled. */
static inline void clock_nap_ns(uint64_t ns)
{
	struct timespec t = clock_timespec(ns);
	nanosleep(&t, NULL);
}

/* Pauses between two iterations of a spin loop. */
static inline void clock_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
