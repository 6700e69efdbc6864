/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stage: one process's part in a run. It sets up its side of every workload,
 * and then plays slices: short bursts of one workload, that rank 0 calls and
 * times and the others follow.
 */
#ifndef CAY_BENCH_HARNESS_WORKER_H
#define CAY_BENCH_HARNESS_WORKER_H

#include "bench/harness/case.h"
#include "bench/harness/samples.h"

struct worker {
	const struct bench_case *bc;
	struct group *group;
	unsigned rank;
	struct side side[CASE_WORKLOADS_MAX];
	uint64_t batches; /* that the others must have prepared (rank 0) */
	double tick_ns;
};

/* All: 0, or -errno after group_fail(). */
int worker_setup(struct worker *, const struct bench_case *, struct group *,
	unsigned rank);
void worker_teardown(struct worker *);

/* Rank 0: a slice of one workload, its samples under this round. */
int worker_lead(
	struct worker *, unsigned workload, uint32_t round, struct samples *);

/* Rank 0: no more slices. */
void worker_stop(struct worker *);

/* The others: slices until rank 0 says stop. */
int worker_follow(struct worker *);

#endif
