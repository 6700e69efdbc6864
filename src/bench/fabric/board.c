/* SPDX-License-Identifier: BSD-2-Clause */
/* The bare hand-over between two processes, as cay bench plays it. */
#include "bench/fabric/board.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#include "bench/harness/cores.h"
#include "bench/harness/samples.h"
#include "bench/harness/tick.h"

enum {
	TRIPS = 32, /* of a batch */
	BATCHES = 4,
};

int seat_pin(const struct seat *s)
{
	const int wish[2] = { -1, -1 };
	int cores[2];
	cpu_set_t set;
	int r = cores_choose(wish, cores);

	if (r)
		return r;
	CPU_ZERO(&set);
	CPU_SET(cores[s->rank], &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static void line_await(struct seat *s, uint64_t due)
{
	while (atomic_load_explicit(&s->board->line, memory_order_acquire) !=
		due)
		clock_relax();
}

/* Both count on from where the line is; odd numbers travel to rank 1. */
static void line_ping(struct seat *s, int trips)
{
	while (trips--) {
		atomic_store_explicit(
			&s->board->line, s->line_at + 1, memory_order_release);
		s->line_at += 2;
		line_await(s, s->line_at);
	}
}

static void line_pong(struct seat *s, int trips)
{
	while (trips--) {
		line_await(s, s->line_at + 1);
		s->line_at += 2;
		atomic_store_explicit(
			&s->board->line, s->line_at, memory_order_release);
	}
}

void seat_meet(struct seat *s)
{
	if (s->rank == 0)
		line_ping(s, 1);
	else
		line_pong(s, 1);
}

int seat_meet_busy(struct seat *s, int (*meanwhile)(void *), void *state)
{
	_Atomic uint64_t *line = &s->board->line;
	uint64_t come = s->line_at + 1, gone = s->line_at + 2;
	uint64_t due = s->rank == 0 ? gone : come;
	int r = 0;

	if (s->rank == 0)
		atomic_store_explicit(line, come, memory_order_release);
	while (!r && atomic_load_explicit(line, memory_order_acquire) != due)
		r = meanwhile(state);
	if (s->rank == 1)
		atomic_store_explicit(line, gone, memory_order_release);
	s->line_at = gone;
	return r;
}

static uint64_t switches_now(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nivcsw;
}

static double handover_lead(struct seat *s)
{
	double ns[BATCHES];

	line_ping(s, TRIPS); /* until rank 1 is there */
	for (int i = 0; i < BATCHES; i++) {
		uint64_t from = tick_now();
		line_ping(s, TRIPS);
		uint64_t to = tick_now();
		ns[i] = (double)(to - from) * s->tick_ns / TRIPS / 2;
	}
	return samples_median(ns, BATCHES);
}

double seat_handover_ns(struct seat *s)
{
	if (s->rank == 0)
		return handover_lead(s);
	atomic_store_explicit(
		&s->board->switches, switches_now(), memory_order_relaxed);
	line_pong(s, (1 + BATCHES) * TRIPS);
	return 0;
}

/* What rank 1 stored before its hand-over came with that. */
uint64_t seat_switches(const struct seat *s)
{
	return switches_now() +
	       atomic_load_explicit(&s->board->switches, memory_order_relaxed);
}
