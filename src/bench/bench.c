/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the benchmarks that were asked for, one plan after the other. */
#include "bench/bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cores.h"
#include "bench/report.h"
#include "cay/message.h"

/* How the whole has gone so far; the worst counts. */
struct progress {
	bool failed, disturbed, missed;
};

const char *bench_name(enum bench_kind kind)
{
	static const char *const name[BENCH_KINDS] = { "latency", "rate",
		"ring", "sleep", "rma" };
	return name[kind];
}

struct bench_options bench_defaults(void)
{
	return (struct bench_options){ .kinds = 1u << BENCH_LATENCY |
						1u << BENCH_RMA,
		.brief = true,
		.core = { -1, -1 },
		.processes = 16,
		.command = "cay bench" };
}

/* ---- one plan ---- */

static void bench_advise(void)
{
	fprintf(stderr, "cay bench: the run was disturbed. Something else uses "
			"these cores, or the host moves them: close other "
			"load and try again, or choose others with --cores.\n");
}

static void bench_note(struct progress *so_far, const struct outcome *o)
{
	so_far->disturbed |= o->refused;
	so_far->missed |= outcome_missed(o);
}

static void bench_plan(const struct bench_options *options,
	struct report *report, const struct plan *plan, struct progress *so_far)
{
	struct rounds rounds;
	struct outcome outcome;
	int r = rounds_run(plan, report->core, options->progress, &rounds);

	if (!r)
		r = outcome_of(plan, &rounds, &outcome);
	if (r) {
		if (!rounds.failure[0])
			strcpy(rounds.failure, "out of memory");
		report_failure(report, plan, rounds.failure);
		fprintf(stderr, "cay bench: %s\n", rounds.failure);
		so_far->failed = true;
	} else {
		report_outcome(report, &outcome);
		bench_note(so_far, &outcome);
		if (report->samples)
			report_samples(report->samples, plan, &rounds);
	}
	rounds_free(&rounds);
}

/* ---- all plans ---- */

static void bench_size(const struct bench_options *o, struct report *report,
	size_t bytes, struct progress *so_far)
{
	struct plan plan;

	plan_latency(&plan, o, bytes, false);
	bench_plan(o, report, &plan, so_far);
	if (bytes <= CAY_EAGER_MAX)
		return;
	plan_latency(&plan, o, bytes, true);
	bench_plan(o, report, &plan, so_far);
}

static void bench_latency(const struct bench_options *o, struct report *report,
	struct progress *so_far)
{
	size_t bytes;

	for (unsigned i = 0; plan_latency_size(o, i, &bytes); i++)
		bench_size(o, report, bytes, so_far);
}

static void bench_rma(const struct bench_options *o, struct report *report,
	struct progress *so_far)
{
	struct plan plan;

	for (unsigned i = 0; plan_rma(&plan, o, i); i++)
		bench_plan(o, report, &plan, so_far);
}

static void bench_kind(const struct bench_options *o, struct report *report,
	enum bench_kind kind, struct progress *so_far)
{
	static void (*const make[BENCH_KINDS])(
		struct plan *, const struct bench_options *) = {
		[BENCH_RATE] = plan_rate,
		[BENCH_RING] = plan_ring,
		[BENCH_SLEEP] = plan_sleep,
	};
	struct plan plan;

	if (kind == BENCH_LATENCY) {
		bench_latency(o, report, so_far);
	} else if (kind == BENCH_RMA) {
		bench_rma(o, report, so_far);
	} else {
		make[kind](&plan, o);
		bench_plan(o, report, &plan, so_far);
	}
}

static int bench_open_samples(const struct bench_options *o, FILE **file)
{
	*file = NULL;
	if (!o->samples)
		return 0;
	*file = fopen(o->samples, "w");
	if (!*file) {
		fprintf(stderr, "cay bench: %s: %s\n", o->samples,
			strerror(errno));
		return -EIO;
	}
	report_samples_begin(*file);
	return 0;
}

static int bench_close_samples(const struct bench_options *o, FILE *file)
{
	if (!file || fclose(file) == 0)
		return 0;
	fprintf(stderr, "cay bench: %s: %s\n", o->samples, strerror(errno));
	return -EIO;
}

/* A node of its own: no other job is disturbed, and none disturbs. */
static void bench_name_node(void)
{
	char name[32];

	snprintf(name, sizeof(name), "bench-%d", (int)getpid());
	setenv("CAY_NODE", name, 0);
}

/* A target that was missed in a figure that counts is missed in any case. */
static int bench_status(
	const struct bench_options *o, const struct progress *so_far)
{
	if (so_far->failed || (o->check && so_far->missed))
		return BENCH_FAILED;
	return so_far->disturbed ? BENCH_DISTURBED : BENCH_DONE;
}

int bench_run(const struct bench_options *o, FILE *out)
{
	struct report report = {
		.out = out, .json = o->json, .command = o->command
	};
	struct progress so_far = { false, false, false };

	if (cores_choose(o->core, report.core) ||
		bench_open_samples(o, &report.samples))
		return BENCH_FAILED;
	bench_name_node();
	report_begin(&report);
	for (unsigned kind = 0; kind < BENCH_KINDS; kind++)
		if (o->kinds & 1u << kind)
			bench_kind(o, &report, kind, &so_far);
	report_end(&report);
	if (so_far.disturbed)
		bench_advise();
	if (bench_close_samples(o, report.samples))
		return BENCH_FAILED;
	return bench_status(o, &so_far);
}
