/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stopwatch: where the processor has a counter that user code may read, a
 * look costs some 10 ns instead of 25, which matters when every trip is timed.
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

/* Nanoseconds of a tick, by watching both clocks for a while. */
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
