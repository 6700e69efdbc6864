/* SPDX-License-Identifier: BSD-2-Clause */
/* The table, and the CSV of samples. */
#include "bench/report.h"

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
		"# queues of %u notification entries, the sketch's and Cay's\n",
		r->command, r->core[0], r->core[1], 1u << FLAVOUR_NQ_LOG2);
}

static void report_heading(struct report *r, const struct plan *p)
{
	fprintf(r->out, "\n%s: ns %s\n%-24s", bench_name(p->kind), p->meaning,
		"");
	for (unsigned i = 0; i < PLAN_FLAVOURS_MAX; i++)
		fprintf(r->out, " %17s", p->flavour[i]->name);
	fprintf(r->out, "  Cay over Cay over  rounds\n%-24s", "");
	for (unsigned i = 0; i < PLAN_FLAVOURS_MAX; i++)
		fprintf(r->out, " %8s %8s", "p50", "p99");
	fprintf(r->out, " %9.9s %8.8s  kept/tried\n",
		p->flavour[PLAN_YARDSTICK]->name,
		p->flavour[PLAN_SKETCH]->name);
	r->meaning = p->meaning;
	r->distance = REPORT_NO_DISTANCE;
}

static void report_figures(struct report *r, const struct outcome *o)
{
	for (unsigned i = 0; i < PLAN_FLAVOURS_MAX; i++) {
		report_ns(r->out, o->figure[i].p50_ns);
		report_ns(r->out, o->figure[i].p99_ns);
	}
	fprintf(r->out, " %9.2f %8.2f  %u/%u\n",
		outcome_ratio(o, PLAN_YARDSTICK), outcome_ratio(o, PLAN_SKETCH),
		o->verdicts[VERDICT_KEPT], o->tried);
}

static void report_targets(struct report *r, const struct outcome *o)
{
	struct target t[TARGETS_MAX];
	unsigned count = outcome_targets(o, t);

	for (unsigned i = 0; i < count; i++)
		fprintf(r->out, "    target %s, here %.1f: %s\n", t[i].text,
			t[i].limit_ns, t[i].held ? "held" : "MISSED");
}

/* Once in a table, unless it changes. */
static void report_distance(struct report *r, const struct outcome *o)
{
	if (!outcome_has_distance(o))
		return;
	int distance = (int)outcome_distance(o);
	if (distance != r->distance)
		fprintf(r->out, "    distance %s: %s\n",
			distance_name(outcome_distance(o)),
			distance_text(outcome_distance(o)));
	r->distance = distance;
}

static void report_notes(struct report *r, const struct outcome *o)
{
	char dropped[DROPPED_MAX];

	if (o->plan->kind == BENCH_RATE)
		fprintf(r->out,
			"    million messages per second: sketch %.1f, "
			"Cay %.1f\n",
			1e3 / o->figure[PLAN_SKETCH].p50_ns,
			1e3 / o->figure[PLAN_CANDIDATE].p50_ns);
	if (o->plan->bandwidth)
		fprintf(r->out, "    GB/s: %s %.1f, Cay %.1f\n",
			o->plan->flavour[PLAN_SKETCH]->name,
			(double)o->plan->bytes / o->figure[PLAN_SKETCH].p50_ns,
			(double)o->plan->bytes /
				o->figure[PLAN_CANDIDATE].p50_ns);
	report_distance(r, o);
	outcome_dropped(o, dropped);
	if (dropped[0])
		fprintf(r->out, "    rounds dropped: %s\n", dropped);
}

static void report_row(struct report *r, const struct plan *p)
{
	if (!r->meaning || strcmp(r->meaning, p->meaning) != 0)
		report_heading(r, p);
	fprintf(r->out, "%-24s", p->label);
}

void report_outcome(struct report *r, const struct outcome *o)
{
	char refused[REFUSED_MAX];

	if (r->json) {
		report_json_outcome(r, o);
		return;
	}
	report_row(r, o->plan);
	if (o->refused) {
		outcome_refused(o, refused);
		fprintf(r->out, " refused: %s\n", refused);
	} else {
		report_figures(r, o);
		report_targets(r, o);
		report_notes(r, o);
	}
	fflush(r->out);
}

void report_failure(struct report *r, const struct plan *p, const char *why)
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
	fputs("bench,case,round,verdict,flavour,kind,ns\n", out);
}

void report_samples(FILE *out, const struct plan *p, const struct rounds *r)
{
	const struct samples *s = r->samples;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct sample *at = &s->at[i];
		if (at->round >= r->count)
			continue;
		fprintf(out, "%s,%s,%u,%s,%s,%s,%.2f\n", bench_name(p->kind),
			p->label, at->round,
			verdict_name(r->at[at->round].verdict),
			p->flavour[at->flavour]->name,
			at->kind == SAMPLE_BATCH ? "batch" : "trip", at->ns);
	}
}
