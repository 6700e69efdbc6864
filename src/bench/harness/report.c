/* SPDX-License-Identifier: BSD-2-Clause */
/* The table, and the CSV of samples. */
#include "bench/harness/report.h"

#include <stdio.h>
#include <string.h>

/* Three digits are all that means something. */
static void report_ns(FILE *out, double ns)
{
	fprintf(out, ns < 99.95 ? " %8.1f" : " %8.0f", ns);
}

/* ---- the table ---- */

void report_begin(struct report *r)
{
	if (r->json) {
		report_json_begin(r);
		return;
	}
	fprintf(r->out,
		"# %s\n# on cores %d and %d: two processes have one each, "
		"more share both\n"
		"# queues of %u notification entries, the baseline's and "
		"Cay's\n",
		r->command, r->core[0], r->core[1], 1u << WORKLOAD_NQ_LOG2);
}

static void report_heading(struct report *r, const struct bench_case *p)
{
	fprintf(r->out, "\n%s: ns %s\n%-24s", p->bench, p->meaning, "");
	for (unsigned i = 0; i < CASE_WORKLOADS_MAX; i++)
		fprintf(r->out, " %17s", p->workload[i]->name);
	fprintf(r->out, "  Cay over Cay over  rounds\n%-24s", "");
	for (unsigned i = 0; i < CASE_WORKLOADS_MAX; i++)
		fprintf(r->out, " %8s %8s", "p50", "p99");
	fprintf(r->out, " %9.9s %8.8s  kept/tried\n",
		p->workload[CASE_REFERENCE]->name,
		p->workload[CASE_BASELINE]->name);
	r->meaning = p->meaning;
	r->distance = REPORT_NO_DISTANCE;
}

static void report_figures(struct report *r, const struct result *o)
{
	for (unsigned i = 0; i < CASE_WORKLOADS_MAX; i++) {
		report_ns(r->out, o->figure[i].p50_ns);
		report_ns(r->out, o->figure[i].p99_ns);
	}
	fprintf(r->out, " %9.2f %8.2f  %u/%u\n",
		result_ratio(o, CASE_REFERENCE), result_ratio(o, CASE_BASELINE),
		o->by_status[ROUND_KEPT], o->tried);
}

static void report_targets(struct report *r, const struct result *o)
{
	struct target t[TARGETS_MAX];
	unsigned count = result_targets(o, t);

	for (unsigned i = 0; i < count; i++)
		fprintf(r->out, "    target %s, here %.1f: %s\n", t[i].text,
			t[i].limit_ns, t[i].held ? "held" : "MISSED");
}

/* Once in a table, unless it changes. */
static void report_distance(struct report *r, const struct result *o)
{
	if (!result_has_distance(o))
		return;
	int distance = (int)result_distance(o);
	if (distance != r->distance)
		fprintf(r->out, "    distance %s: %s\n",
			distance_name(result_distance(o)),
			distance_text(result_distance(o)));
	r->distance = distance;
}

static void report_notes(struct report *r, const struct result *o)
{
	char dropped[DROPPED_MAX];

	if (o->bc->kind == BENCH_RATE)
		fprintf(r->out,
			"    million messages per second: baseline %.1f, "
			"Cay %.1f\n",
			1e3 / o->figure[CASE_BASELINE].p50_ns,
			1e3 / o->figure[CASE_CAY].p50_ns);
	if (o->bc->bandwidth)
		fprintf(r->out, "    GB/s: %s %.1f, Cay %.1f\n",
			o->bc->workload[CASE_BASELINE]->name,
			(double)o->bc->bytes / o->figure[CASE_BASELINE].p50_ns,
			(double)o->bc->bytes / o->figure[CASE_CAY].p50_ns);
	report_distance(r, o);
	result_dropped(o, dropped);
	if (dropped[0])
		fprintf(r->out, "    rounds dropped: %s\n", dropped);
}

static void report_row(struct report *r, const struct bench_case *p)
{
	if (!r->meaning || strcmp(r->meaning, p->meaning) != 0)
		report_heading(r, p);
	fprintf(r->out, "%-24s", p->label);
}

void report_result(struct report *r, const struct result *o)
{
	char refused[REFUSED_MAX];

	if (r->json) {
		report_json_result(r, o);
		return;
	}
	report_row(r, o->bc);
	if (o->refused) {
		result_refused(o, refused);
		fprintf(r->out, " refused: %s\n", refused);
	} else {
		report_figures(r, o);
		report_targets(r, o);
		report_notes(r, o);
	}
	fflush(r->out);
}

void report_failure(
	struct report *r, const struct bench_case *p, const char *why)
{
	if (r->json) {
		report_json_failure(r, p, why);
		return;
	}
	report_row(r, p);
	fprintf(r->out, " failed: %s\n", why);
	fflush(r->out);
}

void report_end(struct report *r)
{
	if (r->json)
		report_json_end(r);
	fflush(r->out);
}

/* ---- CSV ---- */

void report_samples_begin(FILE *out)
{
	fputs("bench,case,round,status,workload,kind,ns\n", out);
}

void report_samples(
	FILE *out, const struct bench_case *p, const struct measurement *r)
{
	const struct samples *s = r->samples;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct sample *at = &s->at[i];
		if (at->round >= r->count)
			continue;
		fprintf(out, "%s,%s,%u,%s,%s,%s,%.2f\n", p->bench, p->label,
			at->round, round_status_name(r->at[at->round].status),
			p->workload[at->workload]->name,
			at->kind == SAMPLE_BATCH ? "batch" : "trip", at->ns);
	}
}
