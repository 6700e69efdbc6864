/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether others used the two cores meanwhile. Where processes sleep and wake
 * no single round shows it, but the kernel's accounts of the whole run do.
 */
#ifndef CAY_BENCH_HARNESS_CPU_LOAD_H
#define CAY_BENCH_HARNESS_CPU_LOAD_H

#include <stdint.h>

struct cpu_load {
	uint64_t busy_ns; /* of both cores since boot, taken by the host too */
	uint64_t ours_ns; /* of our processes that have ended */
	uint64_t now_ns;
};

/* 0 or -errno. */
int cpu_load_read(const int core[2], struct cpu_load *);

/* What others had of both cores between the two, from 0 to 1. */
double cpu_load_foreign(
	const struct cpu_load *before, const struct cpu_load *after);

#endif
