/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits of the control groups of this process. */
#ifndef CAY_CLI_CGROUP_H
#define CAY_CLI_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Finds the smallest memory limit and the memory that its group uses. Returns
 * false if there is no limit.
 */
bool cgroup_memory(uint64_t *limit_bytes, uint64_t *used_bytes);

/* Finds the smallest processor limit, in thousandths of a core; likewise. */
bool cgroup_cores(uint64_t *millicores);

#endif
