/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slices. For each batch the others prepare and say so, then rank 0 prepares,
 * looks at the clock, plays ping, and looks again. After the last batch the
 * others leave their count of switches and say so once more, which ends the
 * slice for rank 0 too.
 */
#include "bench/harness/worker.h"

#include <errno.h>
#include <string.h>

#include "bench/harness/tick.h"
#include "cay/error.h"

#define WORKLOAD_STOP UINT32_MAX

/* ---- set-up ---- */

static int worker_fail(
	struct worker *st, unsigned workload, const char *what, int error)
{
	const char *why = error == -ETIMEDOUT ? "no answer in time"
					      : cay_strerror(error);

	if (error == -ECANCELED)
		return error;
	return group_fail(st->group, "%s: %s, process %u: %s (%s)",
		st->bc->label, st->bc->workload[workload]->name, st->rank, why,
		what);
}

static void worker_side(struct worker *st, unsigned workload)
{
	st->side[workload] = (struct side){
		.group = st->group,
		.rank = st->rank,
		.bytes = st->bc->bytes,
		.fresh = st->bc->fresh,
		.shared = st->group->area +
			  (size_t)workload * WORKLOAD_SHARED_BYTES,
	};
}

int worker_setup(struct worker *st, const struct bench_case *bc,
	struct group *group, unsigned rank)
{
	*st = (struct worker){ .bc = bc, .group = group, .rank = rank };
	st->tick_ns = rank == 0 ? tick_calibrate_ns() : 0;
	for (unsigned i = 0; i < CASE_WORKLOADS_MAX; i++) {
		group_restart_timeout(group);
		worker_side(st, i);
		int r = bc->workload[i]->setup(&st->side[i]);
		if (!r)
			r = group_barrier(group, rank);
		if (r)
			return worker_fail(st, i, "set-up", r);
	}
	return 0;
}

void worker_teardown(struct worker *st)
{
	/* So that nobody sees the others go while it still measures. */
	group_restart_timeout(st->group);
	group_barrier(st->group, st->rank);
	for (unsigned i = CASE_WORKLOADS_MAX; i-- > 0;)
		if (st->side[i].group)
			st->bc->workload[i]->teardown(&st->side[i]);
}

/* ---- rank 0 ---- */

static const struct shape *worker_shape(
	const struct worker *st, unsigned workload)
{
	return workload == CASE_REFERENCE ? &st->bc->reference
					  : &st->bc->measured;
}

static int lead_start(struct worker *st, unsigned workload)
{
	int r = group_await_ready(st->group, ++st->batches);

	return r ? r : st->bc->workload[workload]->prepare(&st->side[workload]);
}

static int lead_batch(struct worker *st, unsigned workload,
	const struct shape *shape, double *ns)
{
	int r = lead_start(st, workload);

	if (r)
		return r;
	uint64_t from = tick_now();
	r = st->bc->workload[workload]->ping(&st->side[workload], shape->trips);
	uint64_t to = tick_now();
	*ns = (double)(to - from) * st->tick_ns / shape->trips / shape->hops;
	return r;
}

/* Where one trip ends the next begins, so each costs one look only. */
static int lead_singles(struct worker *st, unsigned workload, uint32_t round,
	struct samples *samples)
{
	const struct workload *f = st->bc->workload[workload];
	const struct shape *shape = worker_shape(st, workload);
	int r = lead_start(st, workload);
	uint64_t from = tick_now();

	for (uint32_t i = 0; !r && i < shape->singles; i++) {
		r = f->ping(&st->side[workload], 1);
		uint64_t to = tick_now();
		samples_add(samples, round, (uint16_t)workload, SAMPLE_TRIP,
			(double)(to - from) * st->tick_ns / shape->hops);
		from = to;
	}
	return r;
}

static int lead_portions(struct worker *st, unsigned workload, uint32_t round,
	struct samples *samples)
{
	const struct shape *shape = worker_shape(st, workload);
	double ns = 0;
	int r = 0;

	for (uint32_t i = 0; !r && i < shape->batches; i++) {
		r = lead_batch(st, workload, shape, &ns);
		samples_add(
			samples, round, (uint16_t)workload, SAMPLE_BATCH, ns);
	}
	if (!r && shape->singles)
		r = lead_singles(st, workload, round, samples);
	if (!r)
		r = group_await_ready(st->group, ++st->batches);
	return r;
}

int worker_lead(struct worker *st, unsigned workload, uint32_t round,
	struct samples *samples)
{
	group_restart_timeout(st->group);
	group_command(st->group, workload, worker_shape(st, workload));
	int r = lead_portions(st, workload, round, samples);
	return r ? worker_fail(st, workload, "ping", r) : 0;
}

void worker_stop(struct worker *st)
{
	const struct shape nothing = { 0 };

	group_command(st->group, WORKLOAD_STOP, &nothing);
}

/* ---- the others ---- */

static int follow_batch(struct worker *st, unsigned workload, uint32_t trips)
{
	const struct workload *f = st->bc->workload[workload];
	int r = f->prepare(&st->side[workload]);

	if (r)
		return r;
	group_ready(st->group, st->rank);
	return f->pong(&st->side[workload], trips);
}

static int follow_portions(
	struct worker *st, unsigned workload, const struct shape *shape)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < shape->batches; i++)
		r = follow_batch(st, workload, shape->trips);
	if (!r && shape->singles)
		r = follow_batch(st, workload, shape->singles);
	group_count_switches(st->group, st->rank);
	group_ready(st->group, st->rank);
	return r;
}

int worker_follow(struct worker *st)
{
	uint32_t seen = 0, workload;
	struct shape shape;
	int r;

	for (;;) {
		group_restart_timeout(st->group);
		r = group_await_command(st->group, &seen, &workload, &shape);
		if (r)
			return worker_fail(st, CASE_REFERENCE, "idle", r);
		if (workload == WORKLOAD_STOP)
			return 0;
		group_restart_timeout(st->group);
		r = follow_portions(st, workload, &shape);
		if (r)
			return worker_fail(st, workload, "pong", r);
	}
}
