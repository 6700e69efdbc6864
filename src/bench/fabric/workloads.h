/* SPDX-License-Identifier: BSD-2-Clause */
/* The workloads over libfabric; their names are those of the providers. */
#ifndef CAY_BENCH_FABRIC_WORKLOADS_H
#define CAY_BENCH_FABRIC_WORKLOADS_H

#include "bench/harness/workload.h"

extern const struct workload cay_ping_workload;
extern const struct workload cay_stream_workload;
extern const struct workload shm_ping_workload;
extern const struct workload shm_stream_workload;

#endif
