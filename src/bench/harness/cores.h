/* SPDX-License-Identifier: BSD-2-Clause */
/* Selecting two cores, and pinning to them. */
#ifndef CAY_BENCH_HARNESS_CORES_H
#define CAY_BENCH_HARNESS_CORES_H

#include <sched.h>

/*
 * Checks the requested cores against the allowed ones; -1, -1 selects the first
 * two. Returns 0, -EINVAL (not allowed, or one core twice) or -ENODEV (fewer
 * than two cores).
 */
int cores_pick(const cpu_set_t *allowed, const int request[2], int core[2]);

/* The same for this process; prints errors of `program` to stderr. */
int cores_select(const char *program, const int request[2], int core[2]);

/* Pins the calling thread to one of the cores. Returns 0 or -errno. */
int cores_pin(const int *core, unsigned count);

#endif
