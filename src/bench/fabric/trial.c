/* SPDX-License-Identifier: BSD-2-Clause */
/* Slices, and which of them count. */
#include "bench/fabric/trial.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/harness/tick.h"

/* Where a slice is. */
struct slice {
	struct trial *trial;
	struct seat *seat;
	const struct carrier *carrier;
	unsigned workload, round;
	uint64_t *number; /* of the next message */
};

static void slice_log(
	struct slice *s, enum sample_kind kind, uint64_t ticks, unsigned trips)
{
	unsigned ways = s->trial->kind->form == FORM_PING ? 2 : 1;
	double ns = (double)ticks * s->seat->tick_ns / (trips * ways);

	samples_add(s->trial->log, s->round, (uint16_t)s->workload, kind, ns);
}

static void slice_log_each(
	struct slice *s, uint64_t from, const uint64_t *stamps)
{
	for (unsigned i = 0; i < s->trial->kind->count; i++) {
		slice_log(s, SAMPLE_TRIP, stamps[i] - from, 1);
		from = stamps[i];
	}
}

/* The time of a batch in *ticks; each trip's in stamps, if wanted. */
static int slice_batch(
	struct slice *s, uint64_t *from, uint64_t *ticks, uint64_t *stamps)
{
	const struct kind *kind = s->trial->kind;
	void *state = s->carrier->state;
	uint64_t number = *s->number;
	int r = s->carrier->prepare(state, kind, number);

	*s->number += kind->count;
	if (r)
		return r;
	seat_meet(s->seat);
	*from = tick_now();
	r = s->carrier->run(state, kind, number, stamps);
	*ticks = tick_now() - *from;
	if (!r)
		r = seat_meet_busy(s->seat, s->carrier->progress, state);
	return r ? r : s->carrier->check(state, kind, number);
}

static int slice_run(struct slice *s)
{
	const struct kind *kind = s->trial->kind;
	uint64_t stamps[TRIAL_TRIPS_MAX], from, ticks;
	bool lead = s->seat->rank == 0;
	int r = slice_batch(s, &from, &ticks, NULL);

	for (unsigned i = 0; !r && i < kind->batches; i++) {
		r = slice_batch(s, &from, &ticks, NULL);
		if (!r && lead)
			slice_log(s, SAMPLE_BATCH, ticks, kind->count);
	}
	if (r || !kind->each)
		return r;
	r = slice_batch(s, &from, &ticks, stamps);
	if (!r && lead)
		slice_log_each(s, from, stamps);
	return r;
}

/* One slice of each carrier, in the opposite order every other time. */
static int trial_round(
	struct slice *s, const struct carrier *carriers, double *before_ns)
{
	unsigned count = s->trial->carriers;
	struct round round = { .reference_ns = { *before_ns } };
	uint64_t switches = seat_switches(s->seat);

	for (unsigned i = 0; i < count; i++) {
		s->workload = s->round % 2 ? count - 1 - i : i;
		s->carrier = &carriers[s->workload];
		int r = slice_run(s);
		if (r)
			return r;
		*before_ns = seat_handover_ns(s->seat);
		round.reference_ns[i + 1] = *before_ns;
	}
	round.references = count + 1;
	round.switches = (uint32_t)(seat_switches(s->seat) - switches);
	s->trial->rounds[s->round] = round;
	return 0;
}

static int trial_open(
	struct trial *t, const struct kind *kind, unsigned carriers)
{
	unsigned slice = kind->batches + (kind->each ? kind->count : 0);
	unsigned room = kind->slices * carriers * slice;

	*t = (struct trial){ .kind = kind, .carriers = carriers };
	t->rounds = calloc(kind->slices, sizeof(*t->rounds));
	t->log = calloc(1, sizeof(*t->log) + room * sizeof(t->log->at[0]));
	if (!t->rounds || !t->log) {
		trial_free(t);
		return -ENOMEM;
	}
	t->log->capacity = room;
	return 0;
}

void trial_free(struct trial *t)
{
	free(t->rounds);
	free(t->log);
	*t = (struct trial){ 0 };
}

static int trial_settle(struct trial *t)
{
	const struct rules rules = {
		.agree = 1.10, .alike = 1.25, .unbroken = true
	};

	for (unsigned i = 0; i < t->kind->slices; i++)
		t->rounds[i].status = round_status_of(&t->rounds[i], &rules);
	int kept = rounds_reject_outliers(t->rounds, t->kind->slices, &rules);
	t->kept = kept < 0 ? 0 : (unsigned)kept;
	return kept < 0 ? kept : 0;
}

int trial_run(struct trial *t, struct seat *seat, const struct kind *kind,
	const struct carrier *carriers, unsigned count)
{
	uint64_t number = 1;
	struct slice slice = { .trial = t, .seat = seat, .number = &number };
	int r = trial_open(t, kind, count);

	if (r)
		return r;
	double before_ns = seat_handover_ns(seat);
	for (unsigned i = 0; !r && i < kind->slices; i++) {
		slice.round = i;
		r = trial_round(&slice, carriers, &before_ns);
	}
	return r ? r : trial_settle(t);
}
