/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds: reference, baseline, reference, Cay, reference, in every other round
 * with baseline and Cay exchanged, until enough of them may be believed. Rank 0
 * leads; the log is in shared memory, where the parent finds it afterwards.
 *
 *	area: one part per workload | rounds | samples
 */
#include "bench/harness/measurement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/cpu_load.h"
#include "bench/harness/worker.h"

#define WARM_UP_ROUNDS 4
#define TEARDOWN_NS    (10 * CLOCK_NS_PER_S) /* set-up included */

struct run {
	const struct bench_case *bc;
	struct round *rounds;
	struct samples *samples; /* both shared */
};

/* ---- rank 0 ---- */

/* The median batch of the reference slice whose samples start at `from`. */
static double lead_median_ns(const struct samples *s, uint32_t from)
{
	double ns[64];
	size_t count = 0;

	for (uint32_t i = from; i < s->count && count < ARRAY_COUNT(ns); i++)
		if (s->at[i].kind == SAMPLE_BATCH)
			ns[count++] = s->at[i].ns;
	return samples_median(ns, count);
}

static int lead_reference(struct worker *st, struct run *run, uint32_t number)
{
	struct round *round = &run->rounds[number];
	uint32_t from = run->samples->count;
	int r = worker_lead(st, CASE_REFERENCE, number, run->samples);

	round->reference_ns[round->references++] =
		lead_median_ns(run->samples, from);
	return r;
}

/* Whatever comes first in a round must not come first in all of them. */
static unsigned lead_order(uint32_t number, unsigned i)
{
	return number % 2 ? CASE_WORKLOADS_MAX - i : i;
}

static int lead_slices(struct worker *st, struct run *run, uint32_t number)
{
	int r = lead_reference(st, run, number);

	for (unsigned i = 1; !r && i < CASE_WORKLOADS_MAX; i++) {
		r = worker_lead(
			st, lead_order(number, i), number, run->samples);
		if (!r)
			r = lead_reference(st, run, number);
	}
	return r;
}

static int lead_round(struct worker *st, struct run *run, uint32_t number)
{
	struct round *round = &run->rounds[number];
	uint32_t before = group_switches(st->group);

	*round = (struct round){ 0 };
	int r = lead_slices(st, run, number);
	group_count_switches(st->group, st->rank);
	round->switches = group_switches(st->group) - before;
	round->status = round_status_of(round, &run->bc->rules);
	return r;
}

static int lead_warm_up(struct worker *st, struct run *run)
{
	int r = 0;

	for (unsigned i = 0; !r && i < WARM_UP_ROUNDS; i++) {
		r = lead_round(st, run, 0);
		run->samples->count = 0;
	}
	return r;
}

static int lead(struct worker *st, struct run *run)
{
	uint64_t until = clock_after_ns(run->bc->limit_ns);
	struct group_page *page = st->group->page;
	uint32_t tried = 0, kept = 0;
	int r = lead_warm_up(st, run);

	while (!r && kept < run->bc->rounds && tried < run->bc->tries &&
		!clock_passed(until)) {
		r = lead_round(st, run, tried);
		kept += run->rounds[tried++].status == ROUND_KEPT;
		atomic_store_explicit(&page->kept, kept, memory_order_relaxed);
		atomic_store_explicit(&page->tried, r ? tried - 1 : tried,
			memory_order_relaxed);
	}
	worker_stop(st);
	return r;
}

static int rounds_body(struct group *p, unsigned rank, void *argument)
{
	struct run *run = argument;
	struct worker st;
	int r = worker_setup(&st, run->bc, p, rank);

	if (!r)
		r = rank == 0 ? lead(&st, run) : worker_follow(&st);
	worker_teardown(&st);
	return r;
}

/* ---- the parent ---- */

static void rounds_watch(const struct group_page *page, void *argument)
{
	const struct run *run = argument;

	fprintf(stderr, "\r%s %s: %u of %u rounds kept, %u tried\033[K",
		run->bc->bench, run->bc->label,
		atomic_load_explicit(&page->kept, memory_order_relaxed),
		run->bc->rounds,
		atomic_load_explicit(&page->tried, memory_order_relaxed));
	fflush(stderr);
}

static size_t rounds_bytes(const struct bench_case *bc)
{
	return bits_round_up(bc->tries * sizeof(struct round), 4096);
}

static size_t samples_bytes(uint32_t count)
{
	return sizeof(struct samples) + count * sizeof(struct sample);
}

static size_t area_bytes(const struct bench_case *bc)
{
	return (size_t)CASE_WORKLOADS_MAX * WORKLOAD_SHARED_BYTES +
	       rounds_bytes(bc) + samples_bytes(case_samples_max(bc));
}

/* The log is written once here, so that no page is missing while it counts. */
static void run_place(
	struct run *run, const struct bench_case *bc, struct group *group)
{
	unsigned char *at = group->area +
			    (size_t)CASE_WORKLOADS_MAX * WORKLOAD_SHARED_BYTES;

	run->bc = bc;
	run->rounds = (struct round *)(void *)at;
	run->samples = (struct samples *)(void *)(at + rounds_bytes(bc));
	memset(at, 0, group->area_bytes - (size_t)(at - group->area));
	run->samples->capacity = case_samples_max(bc);
}

static int rounds_copy(
	struct measurement *to, const struct run *run, const struct group *p)
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

static int rounds_in_group(struct group *group, const struct bench_case *bc,
	bool progress, struct measurement *result)
{
	struct run run;
	struct group_job job = { .body = rounds_body,
		.watch = progress ? rounds_watch : NULL,
		.argument = &run,
		.limit_ns = bc->limit_ns + TEARDOWN_NS };
	struct cpu_load before, after;
	int r;

	run_place(&run, bc, group);
	bool known = cpu_load_read(group->core, &before) == 0;
	r = group_run(group, &job);
	if (known && cpu_load_read(group->core, &after) == 0)
		result->foreign = cpu_load_foreign(&before, &after);
	if (progress)
		fputs("\r\033[K", stderr);
	return r ? r : rounds_copy(result, &run, group);
}

int measurement_run(const struct bench_case *bc, const int core[2],
	bool progress, struct measurement *result)
{
	struct group group;

	*result = (struct measurement){ 0 };
	int r = group_open(&group, bc->ranks, core, area_bytes(bc));
	if (r) {
		snprintf(result->failure, sizeof(result->failure),
			"shared memory: %s", strerror(-r));
		return r;
	}
	r = rounds_in_group(&group, bc, progress, result);
	if (r)
		memcpy(result->failure, group.page->text, GROUP_TEXT_MAX);
	group_close(&group);
	return r;
}

void measurement_free(struct measurement *r)
{
	free(r->at);
	free(r->samples);
	*r = (struct measurement){ 0 };
}
