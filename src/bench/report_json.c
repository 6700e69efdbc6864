/* SPDX-License-Identifier: BSD-2-Clause */
/* The report as one JSON object. */
#include "bench/report.h"

#include <string.h>

/* What a clock of nanoseconds and a ratio of two such figures are worth. */
#define NS_DECIMALS    2
#define SHARE_DECIMALS 3

void report_json_begin(struct report *r)
{
	struct json *j = &r->writer;

	json_open(j, r->out);
	json_object_begin(j);
	json_put_string(j, "command", r->command);
	json_key(j, "cores");
	json_array_begin(j);
	json_signed(j, r->core[0]);
	json_signed(j, r->core[1]);
	json_array_end(j);
	json_key(j, "results");
	json_array_begin(j);
}

static void result_begin(struct json *j, const struct plan *p)
{
	json_object_begin(j);
	json_put_string(j, "bench", bench_name(p->kind));
	json_put_string(j, "case", p->label);
	if (p->key[0])
		json_put_string(j, "key", p->key);
	json_put_number(j, "bytes", p->bytes);
	json_put_number(j, "processes", p->ranks);
}

static void result_rounds(struct json *j, const struct outcome *o)
{
	json_put_fixed(j, "foreign_load", o->foreign, SHARE_DECIMALS);
	json_put_number(j, "tried", o->tried);
	for (unsigned v = 0; v < VERDICT_COUNT; v++)
		json_put_number(j, verdict_name(v), o->verdicts[v]);
}

static void result_figure(
	struct json *j, const struct outcome *o, unsigned flavour)
{
	const struct figure *f = &o->figure[flavour];

	json_key(j, o->plan->flavour[flavour]->name);
	json_object_begin(j);
	json_put_fixed(j, "p50_ns", f->p50_ns, NS_DECIMALS);
	json_put_fixed(j, "p99_ns", f->p99_ns, NS_DECIMALS);
	json_put_number(j, "p50_samples", f->p50_samples);
	json_put_number(j, "p99_samples", f->p99_samples);
	json_object_end(j);
}

static void result_ratios(struct json *j, const struct outcome *o)
{
	json_key(j, "ratio");
	json_object_begin(j);
	for (unsigned i = 0; i < PLAN_CANDIDATE; i++)
		json_put_fixed(j, o->plan->flavour[i]->name,
			outcome_ratio(o, i), SHARE_DECIMALS);
	json_object_end(j);
	if (outcome_has_distance(o))
		json_put_string(
			j, "distance", distance_name(outcome_distance(o)));
}

static void result_target(struct json *j, const struct target *t)
{
	json_object_begin(j);
	json_put_string(j, "target", t->text);
	json_put_fixed(j, "limit_ns", t->limit_ns, NS_DECIMALS);
	json_put_bool(j, "held", t->held);
	json_object_end(j);
}

static void result_targets(struct json *j, const struct outcome *o)
{
	struct target t[TARGETS_MAX];
	unsigned count = outcome_targets(o, t);

	if (count == 0)
		return;
	json_key(j, "targets");
	json_array_begin(j);
	for (unsigned i = 0; i < count; i++)
		result_target(j, &t[i]);
	json_array_end(j);
}

static void result_refused(struct json *j, const struct outcome *o)
{
	char refused[REFUSED_MAX];

	outcome_refused(o, refused);
	json_put_string(j, "why", refused);
}

static void result_figures(struct json *j, const struct outcome *o)
{
	for (unsigned i = 0; i < PLAN_FLAVOURS_MAX; i++)
		result_figure(j, o, i);
	result_ratios(j, o);
	result_targets(j, o);
}

/* ---- remote memory, by key ---- */

static void rma_note(struct report_rma *rma, const struct outcome *o)
{
	if (o->plan->kind != BENCH_RMA)
		return;
	rma->any = true;
	if (o->refused || rma->count == REPORT_RMA_MAX)
		return;
	unsigned i = rma->count++;
	memcpy(rma->figure[i].key, o->plan->key, PLAN_KEY_MAX);
	rma->figure[i].line_ns = o->figure[PLAN_YARDSTICK].p50_ns;
	rma->figure[i].sketch_ns = o->figure[PLAN_SKETCH].p50_ns;
	rma->figure[i].cay_ns = o->figure[PLAN_CANDIDATE].p50_ns;
}

/* The hand-over is that of the median line, all were measured beside one. */
static double rma_handover_ns(const struct report_rma *rma)
{
	double ns[REPORT_RMA_MAX];

	for (unsigned i = 0; i < rma->count; i++)
		ns[i] = rma->figure[i].line_ns;
	return samples_median(ns, rma->count);
}

static void rma_put(
	struct json *j, const char *key, const char *suffix, double ns)
{
	char name[PLAN_KEY_MAX + 16];

	snprintf(name, sizeof(name), "%s%s", key, suffix);
	json_put_fixed(j, name, ns, NS_DECIMALS);
}

static void rma_object(struct json *j, const struct report_rma *rma)
{
	json_key(j, "rma");
	json_object_begin(j);
	if (rma->count)
		rma_put(j, "handover", "_ns", rma_handover_ns(rma));
	for (unsigned i = 0; i < rma->count; i++) {
		const char *key = rma->figure[i].key;
		rma_put(j, key, "_ns", rma->figure[i].cay_ns);
		rma_put(j, key, "_sketch_ns", rma->figure[i].sketch_ns);
	}
	json_object_end(j);
}

/* ---- the report ---- */

void report_json_outcome(struct report *r, const struct outcome *o)
{
	struct json *j = &r->writer;

	rma_note(&r->rma, o);
	result_begin(j, o->plan);
	result_rounds(j, o);
	json_put_bool(j, "refused", o->refused);
	if (o->refused)
		result_refused(j, o);
	else
		result_figures(j, o);
	json_object_end(j);
}

void report_json_failure(
	struct report *r, const struct plan *p, const char *why)
{
	struct json *j = &r->writer;

	result_begin(j, p);
	json_put_string(j, "failure", why);
	json_object_end(j);
}

void report_json_end(struct report *r)
{
	struct json *j = &r->writer;

	json_array_end(j);
	if (r->rma.any)
		rma_object(j, &r->rma);
	json_object_end(j);
	json_close(j);
}
