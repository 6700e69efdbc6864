/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slices. For each batch the other ranks prepare and report it, then rank 0
 * prepares, reads the clock, runs the batch, and reads the clock again. After
 * the last batch the other ranks publish their preemptions and report once
 * more, which ends the slice for rank 0.
 */
#include "bench/harness/worker.h"

#include <errno.h>
#include <string.h>

#include "bench/harness/tick.h"

#define WORKLOAD_STOP  UINT32_MAX
#define WORKLOAD_PAUSE (UINT32_MAX - 1)

/* ---- calls of a workload ---- */

static int side_prepare(struct side *s)
{
	return s->workload->prepare ? s->workload->prepare(s) : 0;
}

static int side_finish(struct side *s)
{
	return s->workload->finish ? s->workload->finish(s) : 0;
}

static int side_progress(void *side)
{
	struct side *s = side;

	return s->workload->progress(s);
}

/* Until the next slice, waits of this rank make progress for this workload. */
static void side_select(struct side *s)
{
	s->group->progress = s->workload->progress ? side_progress : NULL;
	s->group->progress_state = s;
}

/* ---- set-up ---- */

static int worker_fail(
	struct worker *w, unsigned workload, const char *step, int error)
{
	const char *text = error == -ETIMEDOUT ? "timed out"
			   : w->bc->error_text ? w->bc->error_text(error)
					       : strerror(-error);

	if (error == -ECANCELED)
		return error;
	return group_fail(w->group, "%s: %s, process %u: %s (%s)", w->bc->label,
		w->bc->workload[workload]->name, w->rank, text, step);
}

int worker_setup(struct worker *w, const struct bench_case *bc,
	struct group *group, unsigned rank)
{
	*w = (struct worker){ .bc = bc, .group = group, .rank = rank };
	if (bc->timeout_ns)
		group->timeout_ns = bc->timeout_ns;
	w->tick_ns = rank == 0 ? tick_calibrate_ns() : 0;
	for (unsigned i = 0; i < bc->workloads; i++) {
		struct side *s = &w->side[i];
		*s = (struct side){ .workload = bc->workload[i],
			.group = group,
			.rank = rank,
			.bytes = bc->bytes,
			.rewrite = bc->rewrite,
			.ports = bc->ports,
			.shared = group->area + i * bc->shared_bytes };
		group_restart_timeout(group);
		int r = s->workload->setup ? s->workload->setup(s) : 0;
		if (!r)
			r = group_barrier(group, rank);
		if (r)
			return worker_fail(w, i, "set-up", r);
	}
	/* Of earlier cases of the same group; equal in all other ranks. */
	w->batches = atomic_load_explicit(
		&group->page->member[1].ready, memory_order_relaxed);
	return 0;
}

void worker_teardown(struct worker *w)
{
	/* No rank sees a peer close while it still measures. */
	group_restart_timeout(w->group);
	group_barrier(w->group, w->rank);
	for (unsigned i = w->bc->workloads; i-- > 0;) {
		struct side *s = &w->side[i];
		if (s->workload && s->workload->teardown)
			s->workload->teardown(s);
	}
}

/* ---- rank 0 ---- */

static int lead_prepare(struct worker *w, struct side *s)
{
	int r = group_await_ready(w->group, ++w->batches);

	return r ? r : side_prepare(s);
}

static int lead_batch(
	struct worker *w, struct side *s, const struct sampling *n, double *ns)
{
	int r = lead_prepare(w, s);

	if (r)
		return r;
	uint64_t from = tick_now();
	r = s->workload->run(s, n->iterations);
	uint64_t to = tick_now();
	*ns = (double)(to - from) * w->tick_ns / n->iterations / n->hops;
	return r ? r : side_finish(s);
}

int worker_lead(struct worker *w, unsigned workload, uint32_t round,
	struct samples *samples)
{
	const struct sampling *n = workload == CASE_REFERENCE
					   ? &w->bc->reference
					   : &w->bc->measured;
	struct side *s = &w->side[workload];
	double ns = 0;
	int r = 0;

	group_restart_timeout(w->group);
	side_select(s);
	group_command(w->group, workload, n);
	for (uint32_t i = 0; !r && i < n->warm_up + n->batches; i++) {
		r = lead_batch(w, s, n, &ns);
		if (!r && i >= n->warm_up)
			samples_add(samples, round, (uint16_t)workload,
				SAMPLE_BATCH, ns);
	}
	if (!r && n->singles) {
		/* One clock reading ends an iteration and starts the next. */
		r = lead_prepare(w, s);
		uint64_t from = tick_now();
		for (uint32_t i = 0; !r && i < n->singles; i++) {
			r = s->workload->run(s, 1);
			uint64_t to = tick_now();
			samples_add(samples, round, (uint16_t)workload,
				SAMPLE_SINGLE,
				(double)(to - from) * w->tick_ns / n->hops);
			from = to;
		}
		if (!r)
			r = side_finish(s);
	}
	if (!r)
		r = group_await_ready(w->group, ++w->batches);
	return r ? worker_fail(w, workload, "rank 0", r) : 0;
}

void worker_stop(struct worker *w)
{
	const struct sampling nothing = { 0 };

	group_command(w->group, WORKLOAD_STOP, &nothing);
}

void worker_pause(struct worker *w)
{
	const struct sampling nothing = { 0 };

	group_command(w->group, WORKLOAD_PAUSE, &nothing);
}

/* ---- other ranks ---- */

static int follow_batch(struct worker *w, struct side *s, uint32_t iterations)
{
	int r = side_prepare(s);

	if (r)
		return r;
	group_ready(w->group, w->rank);
	r = s->workload->run(s, iterations);
	return r ? r : side_finish(s);
}

int worker_follow(struct worker *w)
{
	struct sampling n;
	uint32_t workload;

	for (;;) {
		group_restart_timeout(w->group);
		int r = group_await_command(w->group, &workload, &n);
		if (r)
			return worker_fail(w, CASE_REFERENCE, "idle", r);
		w->group->paused = workload == WORKLOAD_PAUSE ||
				   workload == WORKLOAD_STOP;
		if (workload == WORKLOAD_STOP)
			return 0;
		if (workload == WORKLOAD_PAUSE)
			continue;
		struct side *s = &w->side[workload];
		group_restart_timeout(w->group);
		side_select(s);
		for (uint32_t i = 0; !r && i < n.warm_up + n.batches; i++)
			r = follow_batch(w, s, n.iterations);
		if (!r && n.singles)
			r = follow_batch(w, s, n.singles);
		group_count_preemptions(w->group, w->rank);
		group_ready(w->group, w->rank);
		if (r)
			return worker_fail(w, workload, "peer", r);
	}
}
