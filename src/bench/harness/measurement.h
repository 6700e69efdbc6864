/* SPDX-License-Identifier: BSD-2-Clause */
/* The rounds engine: runs a plan in a group and keeps what happened. */
#ifndef CAY_BENCH_HARNESS_MEASUREMENT_H
#define CAY_BENCH_HARNESS_MEASUREMENT_H

#include "bench/harness/case.h"
#include "bench/harness/round.h"
#include "bench/harness/samples.h"

/* What a run leaves behind; private to the caller. */
struct measurement {
	struct round *at;
	uint32_t count;
	struct samples *samples;
	double foreign;		      /* share of the cores that others had */
	char failure[GROUP_TEXT_MAX]; /* why it failed, if it did */
};

/* 0 or -errno with the reason in `failure`. measurement_free() in any case. */
int measurement_run(const struct bench_case *, const int core[2], bool progress,
	struct measurement *);
void measurement_free(struct measurement *);

#endif
