/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time stamps. On x86 the time-stamp counter, which takes about 10 ns to read
 * instead of 25 ns; that matters when every iteration is timed.
 */
#ifndef CAY_BENCH_HARNESS_TICK_H
#define CAY_BENCH_HARNESS_TICK_H

#include "base/clock.h"

static inline uint64_t tick_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return clock_now_ns();
#endif
}

/* Returns nanoseconds per tick, from 20 ms of both clocks. */
static inline double tick_calibrate_ns(void)
{
	uint64_t clock_from = clock_now_ns(), tick_from = tick_now();
	uint64_t until = clock_from + 20 * CLOCK_NS_PER_MS, now;

	do
		now = clock_now_ns();
	while (now < until);
	return (double)(now - clock_from) / (double)(tick_now() - tick_from);
}

#endif
