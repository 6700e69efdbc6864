/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPU time that other processes used on the two cores. Where ranks sleep and
 * wake, a single round does not show it; the kernel's statistics of the whole
 * run do.
 */
#ifndef CAY_BENCH_HARNESS_CPU_LOAD_H
#define CAY_BENCH_HARNESS_CPU_LOAD_H

#include <stdint.h>

struct cpu_load {
	uint64_t busy_ns; /* of both cores since boot, with stolen time */
	uint64_t ours_ns; /* of our children that have ended */
	uint64_t now_ns;
};

/* Reads the statistics. Returns 0 or -errno. */
int cpu_load_read(const int core[2], struct cpu_load *);

/* Returns the share of both cores that other processes used, 0 to 1. */
double cpu_load_foreign(
	const struct cpu_load *before, const struct cpu_load *after);

#endif
