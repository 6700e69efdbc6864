/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rounds: reference, first workload, reference, second workload, reference, and
 * so on, in the reverse order in every other round, until enough are kept.
 * Rank 0 leads and writes the log in shared memory:
 *
 *	area: memory of each workload | rounds | samples
 */
#include "bench/harness/measurement.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/cpu_load.h"
#include "bench/harness/worker.h"

#define WARM_UP_ROUNDS 4
#define SETUP_NS       (10 * CLOCK_NS_PER_S) /* with teardown */
#define BATCHES_MAX    64		     /* of a reference slice */

/* ---- the log ---- */

struct log {
	struct round *round;
	struct samples *samples;
};

static size_t workloads_bytes(const struct bench_case *bc)
{
	return bc->workloads * bc->shared_bytes;
}

static size_t rounds_bytes(const struct bench_case *bc)
{
	return bits_round_up(bc->tries * sizeof(struct round), 4096);
}

static size_t samples_bytes(uint32_t count)
{
	return sizeof(struct samples) + count * sizeof(struct sample);
}

static size_t measurement_bytes(const struct bench_case *bc)
{
	return workloads_bytes(bc) + rounds_bytes(bc) +
	       samples_bytes(case_samples_max(bc));
}

static struct log log_of(const struct bench_case *bc, const struct group *g)
{
	unsigned char *at = g->area + workloads_bytes(bc);

	return (struct log){ .round = (struct round *)(void *)at,
		.samples = (struct samples *)(void *)(at + rounds_bytes(bc)) };
}

static void measurement_init(const struct bench_case *bc, struct group *g)
{
	struct log log = log_of(bc, g);

	*g->page = (struct group_page){ 0 };
	/* Touches every page of the log, so that none is missing later. */
	memset(log.round, 0, rounds_bytes(bc));
	memset(log.samples, 0, samples_bytes(case_samples_max(bc)));
	log.samples->capacity = case_samples_max(bc);
}

/* ---- rank 0 ---- */

/* A slice of the reference; its median batch is the round's next reference. */
static int lead_reference(struct worker *w, struct round *round,
	uint32_t number, struct samples *s)
{
	uint32_t from = s->count;
	double ns[BATCHES_MAX];
	size_t count = 0;
	int r = worker_lead(w, CASE_REFERENCE, number, s);

	for (uint32_t i = from; i < s->count && count < BATCHES_MAX; i++)
		if (s->at[i].kind == SAMPLE_BATCH)
			ns[count++] = s->at[i].ns;
	round->reference_ns[round->references++] = samples_median(ns, count);
	return r;
}

int measurement_round(struct worker *w, struct round *round, uint32_t number,
	struct samples *s)
{
	uint32_t before = group_preemptions(w->group);
	unsigned count = w->bc->workloads;

	*round = (struct round){ 0 };
	int r = lead_reference(w, round, number, s);
	for (unsigned i = 1; !r && i < count; i++) {
		r = worker_lead(w, number % 2 ? count - i : i, number, s);
		if (!r)
			r = lead_reference(w, round, number, s);
	}
	group_count_preemptions(w->group, w->rank);
	round->preemptions = group_preemptions(w->group) - before;
	round->status = round_status_of(round, &w->bc->rules);
	return r;
}

static int lead(struct worker *w, const struct log *log)
{
	const struct bench_case *bc = w->bc;
	uint64_t until = clock_after_ns(bc->limit_ns);
	struct group_page *page = w->group->page;
	uint32_t tried = 0, kept = 0;
	int r = 0;

	for (unsigned i = 0; !r && i < WARM_UP_ROUNDS; i++) {
		r = measurement_round(w, &log->round[0], 0, log->samples);
		log->samples->count = 0;
	}
	while (!r && kept < bc->rounds && tried < bc->tries &&
		!clock_passed(until)) {
		r = measurement_round(
			w, &log->round[tried], tried, log->samples);
		kept += log->round[tried].status == ROUND_KEPT;
		tried += !r;
		atomic_store_explicit(&page->kept, kept, memory_order_relaxed);
		atomic_store_explicit(
			&page->tried, tried, memory_order_relaxed);
	}
	worker_stop(w);
	return r;
}

static int measurement_rank(
	const struct bench_case *bc, struct group *g, unsigned rank)
{
	struct log log = log_of(bc, g);
	struct worker w;
	int r = worker_setup(&w, bc, g, rank);

	if (!r)
		r = rank == 0 ? lead(&w, &log) : worker_follow(&w);
	worker_teardown(&w);
	return r;
}

/* ---- the parent ---- */

static int measurement_collect(const struct bench_case *bc,
	const struct group *g, int r, struct measurement *m)
{
	struct log log = log_of(bc, g);
	size_t bytes = samples_bytes(log.samples->count);

	if (r) {
		memcpy(m->failure, g->page->text, GROUP_TEXT_MAX);
		return r;
	}
	m->rounds = atomic_load(&g->page->tried);
	m->round = malloc((m->rounds + 1) * sizeof(*m->round));
	m->samples = malloc(bytes);
	if (!m->round || !m->samples) {
		strcpy(m->failure, "out of memory");
		return -ENOMEM;
	}
	memcpy(m->round, log.round, m->rounds * sizeof(*m->round));
	memcpy(m->samples, log.samples, bytes);
	return 0;
}

static int run_rank(struct group *g, unsigned rank, void *bc)
{
	return measurement_rank(bc, g, rank);
}

static void show_rounds(const struct group_page *page, void *argument)
{
	const struct bench_case *bc = argument;

	fprintf(stderr, "\r%s %s: %u of %u rounds kept, %u tried\033[K",
		bc->bench, bc->label,
		atomic_load_explicit(&page->kept, memory_order_relaxed),
		bc->rounds,
		atomic_load_explicit(&page->tried, memory_order_relaxed));
	fflush(stderr);
}

int measurement_run(const struct bench_case *bc, const int core[2],
	bool show_progress, struct measurement *m)
{
	const struct group_job job = { .body = run_rank,
		.watch = show_progress ? show_rounds : NULL,
		.argument = (void *)bc,
		.limit_ns = bc->limit_ns + SETUP_NS };
	struct cpu_load before, after;
	struct group g;

	*m = (struct measurement){ 0 };
	int r = group_open(&g, bc->ranks, core, measurement_bytes(bc));
	if (r) {
		snprintf(m->failure, sizeof(m->failure), "shared memory: %s",
			strerror(-r));
		return r;
	}
	measurement_init(bc, &g);
	bool known = cpu_load_read(core, &before) == 0;
	r = group_run(&g, &job);
	if (known && cpu_load_read(core, &after) == 0)
		m->foreign_load = cpu_load_foreign(&before, &after);
	if (show_progress)
		fputs("\r\033[K", stderr);
	r = measurement_collect(bc, &g, r, m);
	group_close(&g);
	return r;
}

void measurement_free(struct measurement *m)
{
	free(m->round);
	free(m->samples);
	*m = (struct measurement){ 0 };
}
