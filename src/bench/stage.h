/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stage: one process's part in a run. It sets up its side of every flavour,
 * and then plays slices: short bursts of one flavour, that rank 0 calls and
 * times and the others follow.
 */
#ifndef CAY_BENCH_STAGE_H
#define CAY_BENCH_STAGE_H

#include "bench/plan.h"
#include "bench/samples.h"

struct stage {
	const struct plan *plan;
	struct party *party;
	unsigned rank;
	struct side side[PLAN_FLAVOURS_MAX];
	uint64_t batches; /* that the others must have prepared (rank 0) */
	double tick_ns;
};

/* All: 0, or -errno after party_fail(). */
int stage_setup(
	struct stage *, const struct plan *, struct party *, unsigned rank);
void stage_teardown(struct stage *);

/* Rank 0: a slice of one flavour, its samples under this round. */
int stage_lead(
	struct stage *, unsigned flavour, uint32_t round, struct samples *);

/* Rank 0: no more slices. */
void stage_stop(struct stage *);

/* The others: slices until rank 0 says stop. */
int stage_follow(struct stage *);

#endif
