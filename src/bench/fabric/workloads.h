/* SPDX-License-Identifier: BSD-2-Clause */
/* The workloads over libfabric; their names are those of the providers. */
#ifndef CAY_BENCH_FABRIC_WORKLOADS_H
#define CAY_BENCH_FABRIC_WORKLOADS_H

#include "bench/harness/workload.h"

extern const struct workload cay_ping_workload;
extern const struct workload cay_stream_workload;
extern const struct workload cay_put_workload;
extern const struct workload cay_seen_workload;
extern const struct workload cay_get_workload;
extern const struct workload cay_add_workload;
extern const struct workload shm_ping_workload;
extern const struct workload shm_stream_workload;
extern const struct workload shm_put_workload;
extern const struct workload shm_seen_workload;
extern const struct workload shm_get_workload;
extern const struct workload shm_add_workload;

#endif
