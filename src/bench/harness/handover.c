/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hand-over: one cache line passed back and forth between two cores. The
 * time of one way is L, the reference of all ratios; it also shows how far
 * apart the cores are at this moment.
 */
#include "bench/harness/workload.h"

/* Odd values travel to rank 1, even ones back to rank 0. */
static int handover_run(struct side *s, uint32_t iterations)
{
	_Atomic uint64_t *line = &s->group->page->line;
	uint64_t at = s->group->line_at;
	int r = 0;

	while (!r && s->rank < 2 && iterations--) {
		if (s->rank == 0)
			atomic_store_explicit(
				line, at + 1, memory_order_release);
		else
			r = group_await(s->group, line, at + 1);
		at += 2;
		if (s->rank == 0)
			r = group_await(s->group, line, at);
		else if (!r)
			atomic_store_explicit(line, at, memory_order_release);
	}
	s->group->line_at = at;
	return r;
}

const struct workload handover_workload = { .name = "L", .run = handover_run };
