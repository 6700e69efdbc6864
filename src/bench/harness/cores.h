/* SPDX-License-Identifier: BSD-2-Clause */
/* Which two cores a benchmark uses. */
#ifndef CAY_BENCH_HARNESS_CORES_H
#define CAY_BENCH_HARNESS_CORES_H

#include <sched.h>

/*
 * Checks the wish against what is allowed; a wish of -1, -1 gets the first two
 * cores. 0; -EINVAL (not allowed, or one core twice), -ENODEV (fewer than two).
 */
int cores_pick(const cpu_set_t *allowed, const int wish[2], int chosen[2]);

/* The same for this process; complains on stderr. */
int cores_choose(const int wish[2], int chosen[2]);

#endif
