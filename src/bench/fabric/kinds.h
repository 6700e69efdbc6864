/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of traffic that are measured, in order. */
#ifndef CAY_BENCH_FABRIC_KINDS_H
#define CAY_BENCH_FABRIC_KINDS_H

#include "bench/fabric/trial.h"

enum {
	KIND_COUNT = 7
};

/* Quick: too few slices to compare speeds, enough to see that it works. */
void kinds_list(struct kind kinds[KIND_COUNT], bool quick);

#endif
