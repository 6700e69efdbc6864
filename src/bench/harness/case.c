/* SPDX-License-Identifier: BSD-2-Clause */
/* Defaults and limits that benchmark cases have in common. */
#include "bench/harness/case.h"

struct bench_case case_pinned(
	const char *bench, const char *metric, size_t bytes)
{
	return (struct bench_case){ .bench = bench,
		.metric = metric,
		.bytes = bytes,
		.ranks = 2,
		.workloads = 1,
		.workload = { &handover_workload },
		.reference = { .batches = 8,
			.iterations = 32,
			.singles = 64,
			.hops = 2 },
		.rules = { .drift_max = 1.10,
			.outlier_factor = 1.25,
			.reject_preempted = true,
			.foreign_load_max = 1 } };
}

void case_set_rounds(struct bench_case *bc, uint32_t rounds, uint32_t tries,
	uint64_t limit_ns)
{
	bc->rounds = rounds;
	bc->tries = tries;
	bc->limit_ns = limit_ns;
	bc->rules.rounds_min = (rounds + 1) / 2;
}

uint32_t case_samples_max(const struct bench_case *bc)
{
	uint32_t reference = bc->reference.batches + bc->reference.singles;
	uint32_t measured = bc->measured.batches + bc->measured.singles;

	/* The warm-up rounds reuse the space of the first round. */
	return bc->tries *
	       (bc->workloads * reference + (bc->workloads - 1) * measured);
}
