/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bare hand-over: one cache line that two cores pass to each other. What
 * it takes one way is L, the limit that everything else is compared with, and
 * the evidence for how far apart the cores are at this moment.
 */
#include <stdatomic.h>

#include "bench/harness/workload.h"

struct handover {
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t line;
};

/* Odd numbers are on their way to rank 1, even ones back to rank 0. */
static int handover_ping(struct side *s, uint32_t trips)
{
	struct handover *h = (struct handover *)(void *)s->shared;
	uint64_t at = atomic_load_explicit(&h->line, memory_order_relaxed);
	int r = 0;

	while (!r && trips--) {
		atomic_store_explicit(&h->line, at + 1, memory_order_release);
		at += 2;
		r = group_await(s->group, &h->line, at);
	}
	return r;
}

/* Both sides count on from where the line is, so slices need no reset. */
static int handover_pong(struct side *s, uint32_t trips)
{
	struct handover *h = (struct handover *)(void *)s->shared;
	uint64_t *next = s->state;
	int r = 0;

	while (!r && trips--) {
		r = group_await(s->group, &h->line, *next + 1);
		*next += 2;
		if (!r)
			atomic_store_explicit(
				&h->line, *next, memory_order_release);
	}
	return r;
}

static int handover_setup(struct side *s)
{
	static uint64_t next;

	next = 0;
	s->state = &next;
	return 0;
}

const struct workload handover_workload = {
	.name = "L",
	.setup = handover_setup,
	.prepare = workload_nothing,
	.ping = handover_ping,
	.pong = handover_pong,
	.teardown = workload_leave,
};
