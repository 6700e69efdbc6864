/* SPDX-License-Identifier: BSD-2-Clause */
/* A link of libfabric as a carrier of trials. */
#ifndef CAY_BENCH_FABRIC_TRAFFIC_H
#define CAY_BENCH_FABRIC_TRAFFIC_H

#include "bench/fabric/link.h"
#include "bench/fabric/trial.h"

struct carrier traffic_carrier(struct link *);

#endif
