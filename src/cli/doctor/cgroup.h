/* SPDX-License-Identifier: BSD-2-Clause */
/* The control groups that this process is in, from its own up to the root. */
#ifndef CAY_CLI_CGROUP_H
#define CAY_CLI_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The smallest memory limit on the way up, and what that group uses. False if
 * there is none.
 */
bool cgroup_memory(uint64_t *limit_bytes, uint64_t *used_bytes);

/* The smallest processor limit, in thousandths of a core. */
bool cgroup_cores(uint64_t *millicores);

#endif
