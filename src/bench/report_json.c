/* SPDX-License-Identifier: BSD-2-Clause */
/* The report as one JSON object. */
#include <stdio.h>

#include "bench/report.h"

static void json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", (unsigned)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void json_field(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": ", name);
	json_string(out, text);
}

void report_json_begin(struct report *r)
{
	fputs("{\n  ", r->out);
	json_field(r->out, "command", r->command);
	fprintf(r->out, ",\n  \"cores\": [%d, %d],\n  \"results\": [",
		r->core[0], r->core[1]);
}

static void json_open(struct report *r, const struct plan *p)
{
	fputs(r->lines++ ? ",\n    { " : "\n    { ", r->out);
	json_field(r->out, "bench", bench_name(p->kind));
	fputs(", ", r->out);
	json_field(r->out, "case", p->label);
	fprintf(r->out, ", \"bytes\": %zu, \"processes\": %u", p->bytes,
		p->ranks);
}

static void json_rounds(struct report *r, const struct outcome *o)
{
	fprintf(r->out, ",\n      \"foreign_load\": %.3f, \"tried\": %u",
		o->foreign, o->tried);
	for (unsigned v = 0; v < VERDICT_COUNT; v++)
		fprintf(r->out, ", \"%s\": %u", verdict_name(v),
			o->verdicts[v]);
}

static void json_figure(
	struct report *r, const struct outcome *o, unsigned flavour)
{
	const struct figure *f = &o->figure[flavour];

	fprintf(r->out, ",\n      \"%s\": { ", o->plan->flavour[flavour]->name);
	fprintf(r->out, "\"p50_ns\": %.2f, \"p99_ns\": %.2f, ", f->p50_ns,
		f->p99_ns);
	fprintf(r->out, "\"p50_samples\": %zu, \"p99_samples\": %zu }",
		f->p50_samples, f->p99_samples);
}

static void json_ratios(struct report *r, const struct outcome *o)
{
	for (unsigned i = 0; i < PLAN_CANDIDATE; i++)
		fprintf(r->out, "%s\"%s\": %.3f",
			i ? ", " : ",\n      \"ratio\": { ",
			o->plan->flavour[i]->name, outcome_ratio(o, i));
	fputs(" }", r->out);
	if (!outcome_has_distance(o))
		return;
	fputs(", ", r->out);
	json_field(r->out, "distance", distance_name(outcome_distance(o)));
}

static void json_targets(struct report *r, const struct outcome *o)
{
	struct target t[TARGETS_MAX];
	unsigned count = outcome_targets(o, t);

	for (unsigned i = 0; i < count; i++) {
		fputs(i ? ",\n        { "
			: ",\n      \"targets\": [\n        { ",
			r->out);
		json_field(r->out, "target", t[i].text);
		fprintf(r->out, ", \"limit_ns\": %.2f, \"held\": %s }",
			t[i].limit_ns, t[i].held ? "true" : "false");
	}
	if (count)
		fputs(" ]", r->out);
}

static void json_refused(struct report *r, const struct outcome *o)
{
	char refused[REFUSED_MAX];

	outcome_refused(o, refused);
	fputs(", ", r->out);
	json_field(r->out, "why", refused);
}

static void json_figures(struct report *r, const struct outcome *o)
{
	for (unsigned i = 0; i < PLAN_FLAVOURS_MAX; i++)
		json_figure(r, o, i);
	json_ratios(r, o);
	json_targets(r, o);
}

void report_json_outcome(struct report *r, const struct outcome *o)
{
	json_open(r, o->plan);
	json_rounds(r, o);
	fprintf(r->out, ", \"refused\": %s", o->refused ? "true" : "false");
	if (o->refused)
		json_refused(r, o);
	else
		json_figures(r, o);
	fputs(" }", r->out);
}

void report_json_failure(
	struct report *r, const struct plan *p, const char *why)
{
	json_open(r, p);
	fputs(", ", r->out);
	json_field(r->out, "failure", why);
	fputs(" }", r->out);
}

void report_json_end(struct report *r)
{
	fputs("\n  ]\n}\n", r->out);
}
