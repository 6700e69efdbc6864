/* SPDX-License-Identifier: BSD-2-Clause */
/* The two layers of UCX as peers, with the settings that they have by default.
 */
#ifndef CAY_BENCH_UCX_UCX_H
#define CAY_BENCH_UCX_UCX_H

#include "bench/harness/session.h"

/* UCT's posix transport has no longer active messages (am_bcopy). */
#define UCT_BYTES_MAX 8192u

const struct workload *uct_workload(enum session_kind, size_t bytes);
const struct workload *ucp_workload(enum session_kind, size_t bytes);

#endif
