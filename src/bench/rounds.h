/* SPDX-License-Identifier: BSD-2-Clause */
/* The rounds engine: runs a plan in a party and keeps what happened. */
#ifndef CAY_BENCH_ROUNDS_H
#define CAY_BENCH_ROUNDS_H

#include "bench/plan.h"
#include "bench/samples.h"
#include "bench/verdict.h"

/* What a run leaves behind; private to the caller. */
struct rounds {
	struct round *at;
	uint32_t count;
	struct samples *samples;
	double foreign;		      /* share of the cores that others had */
	char failure[PARTY_TEXT_MAX]; /* why it failed, if it did */
};

/* 0 or -errno with the reason in `failure`. rounds_free() in any case. */
int rounds_run(
	const struct plan *, const int core[2], bool progress, struct rounds *);
void rounds_free(struct rounds *);

#endif
