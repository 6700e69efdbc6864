/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds: yardstick, sketch, yardstick, Cay, yardstick, in every other round
 * with sketch and Cay exchanged, until enough of them may be believed. Rank 0
 * leads; the log is in shared memory, where the parent finds it afterwards.
 *
 *	area: one part per flavour | rounds | samples
 */
#include "bench/rounds.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load.h"
#include "bench/stage.h"

#define WARM_UP_ROUNDS 4
#define TEARDOWN_NS    (10 * CLOCK_NS_PER_S) /* set-up included */

struct run {
	const struct plan *plan;
	struct round *rounds;
	struct samples *samples; /* both shared */
};

/* ---- rank 0 ---- */

/* The median batch of the yardstick slice whose samples start at `from`. */
static double lead_median_ns(const struct samples *s, uint32_t from)
{
	double ns[64];
	size_t count = 0;

	for (uint32_t i = from; i < s->count && count < ARRAY_COUNT(ns); i++)
		if (s->at[i].kind == SAMPLE_BATCH)
			ns[count++] = s->at[i].ns;
	return samples_median(ns, count);
}

static int lead_yardstick(struct stage *st, struct run *run, uint32_t number)
{
	struct round *round = &run->rounds[number];
	uint32_t from = run->samples->count;
	int r = stage_lead(st, PLAN_YARDSTICK, number, run->samples);

	round->yardstick_ns[round->yardsticks++] =
		lead_median_ns(run->samples, from);
	return r;
}

/* Whatever comes first in a round must not come first in all of them. */
static unsigned lead_order(uint32_t number, unsigned i)
{
	return number % 2 ? PLAN_FLAVOURS_MAX - i : i;
}

static int lead_slices(struct stage *st, struct run *run, uint32_t number)
{
	int r = lead_yardstick(st, run, number);

	for (unsigned i = 1; !r && i < PLAN_FLAVOURS_MAX; i++) {
		r = stage_lead(st, lead_order(number, i), number, run->samples);
		if (!r)
			r = lead_yardstick(st, run, number);
	}
	return r;
}

static int lead_round(struct stage *st, struct run *run, uint32_t number)
{
	struct round *round = &run->rounds[number];
	uint32_t before = party_switches(st->party);

	*round = (struct round){ 0 };
	int r = lead_slices(st, run, number);
	party_count_switches(st->party, st->rank);
	round->switches = party_switches(st->party) - before;
	round->verdict = verdict_of(round, &run->plan->rules);
	return r;
}

static int lead_warm_up(struct stage *st, struct run *run)
{
	int r = 0;

	for (unsigned i = 0; !r && i < WARM_UP_ROUNDS; i++) {
		r = lead_round(st, run, 0);
		run->samples->count = 0;
	}
	return r;
}

static int lead(struct stage *st, struct run *run)
{
	uint64_t until = clock_after_ns(run->plan->limit_ns);
	struct party_page *page = st->party->page;
	uint32_t tried = 0, kept = 0;
	int r = lead_warm_up(st, run);

	while (!r && kept < run->plan->rounds && tried < run->plan->tries &&
		!clock_passed(until)) {
		r = lead_round(st, run, tried);
		kept += run->rounds[tried++].verdict == VERDICT_KEPT;
		atomic_store_explicit(&page->kept, kept, memory_order_relaxed);
		atomic_store_explicit(&page->tried, r ? tried - 1 : tried,
			memory_order_relaxed);
	}
	stage_stop(st);
	return r;
}

static int rounds_body(struct party *p, unsigned rank, void *argument)
{
	struct run *run = argument;
	struct stage st;
	int r = stage_setup(&st, run->plan, p, rank);

	if (!r)
		r = rank == 0 ? lead(&st, run) : stage_follow(&st);
	stage_teardown(&st);
	return r;
}

/* ---- the parent ---- */

static void rounds_watch(const struct party_page *page, void *argument)
{
	const struct run *run = argument;

	fprintf(stderr, "\r%s %s: %u of %u rounds kept, %u tried\033[K",
		bench_name(run->plan->kind), run->plan->label,
		atomic_load_explicit(&page->kept, memory_order_relaxed),
		run->plan->rounds,
		atomic_load_explicit(&page->tried, memory_order_relaxed));
	fflush(stderr);
}

static size_t rounds_bytes(const struct plan *plan)
{
	return bits_round_up(plan->tries * sizeof(struct round), 4096);
}

static size_t samples_bytes(uint32_t count)
{
	return sizeof(struct samples) + count * sizeof(struct sample);
}

static size_t area_bytes(const struct plan *plan)
{
	return (size_t)PLAN_FLAVOURS_MAX * FLAVOUR_SHARED_BYTES +
	       rounds_bytes(plan) + samples_bytes(plan_samples_max(plan));
}

/* The log is written once here, so that no page is missing while it counts. */
static void run_place(
	struct run *run, const struct plan *plan, struct party *party)
{
	unsigned char *at =
		party->area + (size_t)PLAN_FLAVOURS_MAX * FLAVOUR_SHARED_BYTES;

	run->plan = plan;
	run->rounds = (struct round *)(void *)at;
	run->samples = (struct samples *)(void *)(at + rounds_bytes(plan));
	memset(at, 0, party->area_bytes - (size_t)(at - party->area));
	run->samples->capacity = plan_samples_max(plan);
}

static int rounds_copy(
	struct rounds *to, const struct run *run, const struct party *p)
{
	size_t bytes = samples_bytes(run->samples->count);

	to->count = atomic_load(&p->page->tried);
	to->at = malloc((to->count + 1) * sizeof(*to->at));
	to->samples = malloc(bytes);
	if (!to->at || !to->samples)
		return -ENOMEM;
	memcpy(to->at, run->rounds, to->count * sizeof(*to->at));
	memcpy(to->samples, run->samples, bytes);
	return 0;
}

static int rounds_in_party(struct party *party, const struct plan *plan,
	bool progress, struct rounds *result)
{
	struct run run;
	struct party_job job = { .body = rounds_body,
		.watch = progress ? rounds_watch : NULL,
		.argument = &run,
		.limit_ns = plan->limit_ns + TEARDOWN_NS };
	struct load before, after;
	int r;

	run_place(&run, plan, party);
	bool known = load_read(party->core, &before) == 0;
	r = party_run(party, &job);
	if (known && load_read(party->core, &after) == 0)
		result->foreign = load_foreign(&before, &after);
	if (progress)
		fputs("\r\033[K", stderr);
	return r ? r : rounds_copy(result, &run, party);
}

int rounds_run(const struct plan *plan, const int core[2], bool progress,
	struct rounds *result)
{
	struct party party;

	*result = (struct rounds){ 0 };
	int r = party_open(&party, plan->ranks, core, area_bytes(plan));
	if (r) {
		snprintf(result->failure, sizeof(result->failure),
			"shared memory: %s", strerror(-r));
		return r;
	}
	r = rounds_in_party(&party, plan, progress, result);
	if (r)
		memcpy(result->failure, party.page->text, PARTY_TEXT_MAX);
	party_close(&party);
	return r;
}

void rounds_free(struct rounds *r)
{
	free(r->at);
	free(r->samples);
	*r = (struct rounds){ 0 };
}
