/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A worker: one rank of a measurement. It sets up its side of every workload
 * and then runs slices: short series of batches of one workload, which rank 0
 * starts and times.
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
	uint64_t batches; /* that the other ranks must have prepared (rank 0) */
	double tick_ns;	  /* rank 0 */
};

/* Every rank. Returns 0, or -errno after group_fail(). */
int worker_setup(struct worker *, const struct bench_case *, struct group *,
	unsigned rank);
void worker_teardown(struct worker *);

/* Rank 0: runs a slice of a workload and adds its samples to the round. */
int worker_lead(
	struct worker *, unsigned workload, uint32_t round, struct samples *);

/* Rank 0: ends worker_follow() of the other ranks. */
void worker_stop(struct worker *);

/* Rank 0: the other ranks sleep until the next slice. */
void worker_pause(struct worker *);

/* Other ranks: run slices until worker_stop(). */
int worker_follow(struct worker *);

#endif
