/* SPDX-License-Identifier: BSD-2-Clause */
/* Ping-pong and streams over a libfabric provider. */
#ifndef CAY_BENCH_FABRIC_WORKLOADS_H
#define CAY_BENCH_FABRIC_WORKLOADS_H

#include "bench/fabric/cases.h"

/* Returns the workload of a form of traffic; its name is the provider's. */
struct workload fabric_workload(enum traffic_form, const char *provider);

#endif
