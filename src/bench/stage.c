/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slices. For each batch the others prepare and say so, then rank 0 prepares,
 * looks at the clock, plays ping, and looks again. After the last batch the
 * others leave their count of switches and say so once more, which ends the
 * slice for rank 0 too.
 */
#include "bench/stage.h"

#include <errno.h>
#include <string.h>

#include "bench/tick.h"
#include "cay/error.h"

#define FLAVOUR_STOP UINT32_MAX

/* ---- set-up ---- */

static int stage_fail(
	struct stage *st, unsigned flavour, const char *what, int error)
{
	const char *why = error == -ETIMEDOUT ? "no answer in time"
					      : cay_strerror(error);

	if (error == -ECANCELED)
		return error;
	return party_fail(st->party, "%s: %s, process %u: %s (%s)",
		st->plan->label, st->plan->flavour[flavour]->name, st->rank,
		why, what);
}

static void stage_side(struct stage *st, unsigned flavour)
{
	st->side[flavour] = (struct side){
		.party = st->party,
		.rank = st->rank,
		.bytes = st->plan->bytes,
		.fresh = st->plan->fresh,
		.shared = st->party->area +
			  (size_t)flavour * FLAVOUR_SHARED_BYTES,
	};
}

int stage_setup(struct stage *st, const struct plan *plan, struct party *party,
	unsigned rank)
{
	*st = (struct stage){ .plan = plan, .party = party, .rank = rank };
	st->tick_ns = rank == 0 ? tick_calibrate_ns() : 0;
	for (unsigned i = 0; i < PLAN_FLAVOURS_MAX; i++) {
		party_renew(party);
		stage_side(st, i);
		int r = plan->flavour[i]->setup(&st->side[i]);
		if (!r)
			r = party_barrier(party, rank);
		if (r)
			return stage_fail(st, i, "set-up", r);
	}
	return 0;
}

void stage_teardown(struct stage *st)
{
	/* So that nobody sees the others go while it still measures. */
	party_renew(st->party);
	party_barrier(st->party, st->rank);
	for (unsigned i = PLAN_FLAVOURS_MAX; i-- > 0;)
		if (st->side[i].party)
			st->plan->flavour[i]->teardown(&st->side[i]);
}

/* ---- rank 0 ---- */

static const struct shape *stage_shape(const struct stage *st, unsigned flavour)
{
	return flavour == PLAN_YARDSTICK ? &st->plan->yardstick
					 : &st->plan->measured;
}

static int lead_start(struct stage *st, unsigned flavour)
{
	int r = party_await_ready(st->party, ++st->batches);

	return r ? r : st->plan->flavour[flavour]->prepare(&st->side[flavour]);
}

static int lead_batch(struct stage *st, unsigned flavour,
	const struct shape *shape, double *ns)
{
	int r = lead_start(st, flavour);

	if (r)
		return r;
	uint64_t from = tick_now();
	r = st->plan->flavour[flavour]->ping(&st->side[flavour], shape->trips);
	uint64_t to = tick_now();
	*ns = (double)(to - from) * st->tick_ns / shape->trips / shape->hops;
	return r;
}

/* Where one trip ends the next begins, so each costs one look only. */
static int lead_singles(struct stage *st, unsigned flavour, uint32_t round,
	struct samples *samples)
{
	const struct flavour *f = st->plan->flavour[flavour];
	const struct shape *shape = stage_shape(st, flavour);
	int r = lead_start(st, flavour);
	uint64_t from = tick_now();

	for (uint32_t i = 0; !r && i < shape->singles; i++) {
		r = f->ping(&st->side[flavour], 1);
		uint64_t to = tick_now();
		samples_add(samples, round, (uint16_t)flavour, SAMPLE_TRIP,
			(double)(to - from) * st->tick_ns / shape->hops);
		from = to;
	}
	return r;
}

static int lead_portions(struct stage *st, unsigned flavour, uint32_t round,
	struct samples *samples)
{
	const struct shape *shape = stage_shape(st, flavour);
	double ns = 0;
	int r = 0;

	for (uint32_t i = 0; !r && i < shape->batches; i++) {
		r = lead_batch(st, flavour, shape, &ns);
		samples_add(
			samples, round, (uint16_t)flavour, SAMPLE_BATCH, ns);
	}
	if (!r && shape->singles)
		r = lead_singles(st, flavour, round, samples);
	if (!r)
		r = party_await_ready(st->party, ++st->batches);
	return r;
}

int stage_lead(struct stage *st, unsigned flavour, uint32_t round,
	struct samples *samples)
{
	party_renew(st->party);
	party_command(st->party, flavour, stage_shape(st, flavour));
	int r = lead_portions(st, flavour, round, samples);
	return r ? stage_fail(st, flavour, "ping", r) : 0;
}

void stage_stop(struct stage *st)
{
	const struct shape nothing = { 0 };

	party_command(st->party, FLAVOUR_STOP, &nothing);
}

/* ---- the others ---- */

static int follow_batch(struct stage *st, unsigned flavour, uint32_t trips)
{
	const struct flavour *f = st->plan->flavour[flavour];
	int r = f->prepare(&st->side[flavour]);

	if (r)
		return r;
	party_ready(st->party, st->rank);
	return f->pong(&st->side[flavour], trips);
}

static int follow_portions(
	struct stage *st, unsigned flavour, const struct shape *shape)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < shape->batches; i++)
		r = follow_batch(st, flavour, shape->trips);
	if (!r && shape->singles)
		r = follow_batch(st, flavour, shape->singles);
	party_count_switches(st->party, st->rank);
	party_ready(st->party, st->rank);
	return r;
}

int stage_follow(struct stage *st)
{
	uint32_t seen = 0, flavour;
	struct shape shape;
	int r;

	for (;;) {
		party_renew(st->party);
		r = party_await_command(st->party, &seen, &flavour, &shape);
		if (r)
			return stage_fail(st, PLAN_YARDSTICK, "idle", r);
		if (flavour == FLAVOUR_STOP)
			return 0;
		party_renew(st->party);
		r = follow_portions(st, flavour, &shape);
		if (r)
			return stage_fail(st, flavour, "pong", r);
	}
}
