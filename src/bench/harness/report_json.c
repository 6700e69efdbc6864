/* SPDX-License-Identifier: BSD-2-Clause */
/* The report as one JSON object. */
#include "bench/harness/report.h"

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

static void put_begin(struct json *j, const struct bench_case *p)
{
	json_object_begin(j);
	json_put_string(j, "bench", p->bench);
	json_put_string(j, "case", p->label);
	if (p->key[0])
		json_put_string(j, "key", p->key);
	json_put_number(j, "bytes", p->bytes);
	json_put_number(j, "processes", p->ranks);
}

static void put_rounds(struct json *j, const struct result *o)
{
	json_put_fixed(j, "foreign_load", o->foreign, SHARE_DECIMALS);
	json_put_number(j, "tried", o->tried);
	for (unsigned v = 0; v < ROUND_STATUSES; v++)
		json_put_number(j, round_status_name(v), o->by_status[v]);
}

static void put_figure(
	struct json *j, const struct result *o, unsigned workload)
{
	const struct figure *f = &o->figure[workload];

	json_key(j, o->bc->workload[workload]->name);
	json_object_begin(j);
	json_put_fixed(j, "p50_ns", f->p50_ns, NS_DECIMALS);
	json_put_fixed(j, "p99_ns", f->p99_ns, NS_DECIMALS);
	json_put_number(j, "p50_samples", f->p50_samples);
	json_put_number(j, "p99_samples", f->p99_samples);
	json_object_end(j);
}

static void put_ratios(struct json *j, const struct result *o)
{
	json_key(j, "ratio");
	json_object_begin(j);
	for (unsigned i = 0; i < CASE_CAY; i++)
		json_put_fixed(j, o->bc->workload[i]->name, result_ratio(o, i),
			SHARE_DECIMALS);
	json_object_end(j);
	if (result_has_distance(o))
		json_put_string(
			j, "distance", distance_name(result_distance(o)));
}

static void put_target(struct json *j, const struct target *t)
{
	json_object_begin(j);
	json_put_string(j, "target", t->text);
	json_put_fixed(j, "limit_ns", t->limit_ns, NS_DECIMALS);
	json_put_bool(j, "held", t->held);
	json_object_end(j);
}

static void put_targets(struct json *j, const struct result *o)
{
	struct target t[TARGETS_MAX];
	unsigned count = result_targets(o, t);

	if (count == 0)
		return;
	json_key(j, "targets");
	json_array_begin(j);
	for (unsigned i = 0; i < count; i++)
		put_target(j, &t[i]);
	json_array_end(j);
}

static void put_refused(struct json *j, const struct result *o)
{
	char refused[REFUSED_MAX];

	result_refused(o, refused);
	json_put_string(j, "why", refused);
}

static void put_figures(struct json *j, const struct result *o)
{
	for (unsigned i = 0; i < CASE_WORKLOADS_MAX; i++)
		put_figure(j, o, i);
	put_ratios(j, o);
	put_targets(j, o);
}

/* ---- remote memory, by key ---- */

static void rma_note(struct report_rma *rma, const struct result *o)
{
	if (o->bc->kind != BENCH_RMA)
		return;
	rma->any = true;
	if (o->refused || rma->count == REPORT_RMA_MAX)
		return;
	unsigned i = rma->count++;
	memcpy(rma->figure[i].key, o->bc->key, CASE_KEY_MAX);
	rma->figure[i].line_ns = o->figure[CASE_REFERENCE].p50_ns;
	rma->figure[i].baseline_ns = o->figure[CASE_BASELINE].p50_ns;
	rma->figure[i].cay_ns = o->figure[CASE_CAY].p50_ns;
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
	char name[CASE_KEY_MAX + 16];

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
		rma_put(j, key, "_baseline_ns", rma->figure[i].baseline_ns);
	}
	json_object_end(j);
}

/* ---- the report ---- */

void report_json_result(struct report *r, const struct result *o)
{
	struct json *j = &r->writer;

	rma_note(&r->rma, o);
	put_begin(j, o->bc);
	put_rounds(j, o);
	json_put_bool(j, "refused", o->refused);
	if (o->refused)
		put_refused(j, o);
	else
		put_figures(j, o);
	json_object_end(j);
}

void report_json_failure(
	struct report *r, const struct bench_case *p, const char *why)
{
	struct json *j = &r->writer;

	put_begin(j, p);
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
