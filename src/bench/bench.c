/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the benchmarks that were asked for, one plan after the other. */
#include "bench/bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/cores.h"
#include "bench/harness/report.h"
#include "cay/message.h"

/* How the whole has gone so far; the worst counts. */
struct progress {
	bool failed, disturbed, missed;
};

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

static void bench_note(struct progress *so_far, const struct result *o)
{
	so_far->disturbed |= o->refused;
	so_far->missed |= result_missed(o);
}

static void bench_case(const struct bench_options *options,
	struct report *report, const struct bench_case *bc,
	struct progress *so_far)
{
	struct measurement rounds;
	struct result result;
	int r = measurement_run(bc, report->core, options->progress, &rounds);

	if (!r)
		r = result_of(bc, &rounds, &result);
	if (r) {
		if (!rounds.failure[0])
			strcpy(rounds.failure, "out of memory");
		report_failure(report, bc, rounds.failure);
		fprintf(stderr, "cay bench: %s\n", rounds.failure);
		so_far->failed = true;
	} else {
		report_result(report, &result);
		bench_note(so_far, &result);
		if (report->samples)
			report_samples(report->samples, bc, &rounds);
	}
	measurement_free(&rounds);
}

/* ---- all plans ---- */

static void bench_size(const struct bench_options *o, struct report *report,
	size_t bytes, struct progress *so_far)
{
	struct bench_case bc;

	case_latency(&bc, o, bytes, false);
	bench_case(o, report, &bc, so_far);
	if (bytes <= CAY_EAGER_MAX)
		return;
	case_latency(&bc, o, bytes, true);
	bench_case(o, report, &bc, so_far);
}

static void bench_latency(const struct bench_options *o, struct report *report,
	struct progress *so_far)
{
	size_t bytes;

	for (unsigned i = 0; case_latency_size(o, i, &bytes); i++)
		bench_size(o, report, bytes, so_far);
}

static void bench_rma(const struct bench_options *o, struct report *report,
	struct progress *so_far)
{
	struct bench_case bc;

	for (unsigned i = 0; case_rma(&bc, o, i); i++)
		bench_case(o, report, &bc, so_far);
}

static void bench_kind(const struct bench_options *o, struct report *report,
	enum bench_kind kind, struct progress *so_far)
{
	static void (*const make[BENCH_KINDS])(
		struct bench_case *, const struct bench_options *) = {
		[BENCH_RATE] = case_rate,
		[BENCH_RING] = case_ring,
		[BENCH_SLEEP] = case_sleep,
	};
	struct bench_case bc;

	if (kind == BENCH_LATENCY) {
		bench_latency(o, report, so_far);
	} else if (kind == BENCH_RMA) {
		bench_rma(o, report, so_far);
	} else {
		make[kind](&bc, o);
		bench_case(o, report, &bc, so_far);
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
