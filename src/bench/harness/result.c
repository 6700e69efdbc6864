/* SPDX-License-Identifier: BSD-2-Clause */
/* From rounds and samples to figures and targets; no clock, no output. */
#include "bench/harness/result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- figures ---- */

static size_t figure_collect(const struct measurement *r, unsigned workload,
	enum sample_kind kind, double *ns)
{
	const struct samples *s = r->samples;
	size_t count = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct sample *at = &s->at[i];
		if (at->workload == workload && at->kind == kind &&
			at->round < r->count &&
			r->at[at->round].status == ROUND_KEPT)
			ns[count++] = at->ns;
	}
	return count;
}

static void figure_of(const struct measurement *r, unsigned workload,
	double *ns, struct figure *f)
{
	f->p50_samples = figure_collect(r, workload, SAMPLE_BATCH, ns);
	f->p50_ns = samples_median(ns, f->p50_samples);
	f->p99_samples = figure_collect(r, workload, SAMPLE_TRIP, ns);
	if (f->p99_samples == 0)
		f->p99_samples = figure_collect(r, workload, SAMPLE_BATCH, ns);
	samples_sort(ns, f->p99_samples);
	f->p99_ns = samples_percentile(ns, f->p99_samples, 0.99);
}

int result_of(
	const struct bench_case *bc, struct measurement *r, struct result *o)
{
	double *ns = malloc((r->samples->count + 1) * sizeof(*ns));
	int kept = ns ? rounds_reject_outliers(r->at, r->count, &bc->rules)
		      : -ENOMEM;

	*o = (struct result){
		.bc = bc, .tried = r->count, .foreign = r->foreign
	};
	for (unsigned i = 0; kept >= 0 && i < CASE_WORKLOADS_MAX; i++)
		figure_of(r, i, ns, &o->figure[i]);
	for (uint32_t i = 0; i < r->count; i++)
		o->by_status[r->at[i].status]++;
	o->refused = kept < (int)bc->rules.enough ||
		     r->foreign > bc->rules.foreign;
	free(ns);
	return kept < 0 ? kept : 0;
}

double result_ratio(const struct result *o, unsigned workload)
{
	double base = o->figure[workload].p50_ns;

	return base > 0 ? o->figure[CASE_CAY].p50_ns / base : 0;
}

bool result_has_distance(const struct result *o)
{
	return o->bc->workload[CASE_REFERENCE] == &handover_workload;
}

enum distance result_distance(const struct result *o)
{
	return distance_of(o->figure[CASE_REFERENCE].p50_ns);
}

void result_dropped(const struct result *o, char text[DROPPED_MAX])
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned v = ROUND_KEPT + 1; v < ROUND_STATUSES; v++)
		if (o->by_status[v] && at < DROPPED_MAX)
			at += (size_t)snprintf(text + at, DROPPED_MAX - at,
				"%s%u %s", at ? ", " : "", o->by_status[v],
				round_status_text(v));
}

void result_refused(const struct result *o, char text[REFUSED_MAX])
{
	const struct rules *rules = &o->bc->rules;
	char dropped[DROPPED_MAX];

	result_dropped(o, dropped);
	if (o->foreign > rules->foreign)
		snprintf(text, REFUSED_MAX,
			"others had %.0f %% of the two cores",
			100 * o->foreign);
	else
		snprintf(text, REFUSED_MAX,
			"%u of %u rounds kept, %u needed; %s",
			o->by_status[ROUND_KEPT], o->tried, rules->enough,
			dropped);
}

/* ---- targets ---- */

#define TARGET_BASELINE_ADD_NS 15
#define TARGET_PUT_ADD_NS      10
#define TARGET_LINE_FACTOR     1.5
#define TARGET_LINE_ADD_NS     40

static unsigned targets_message(double line, double baseline, struct target *t)
{
	t[0].text = "at most baseline + 15 ns";
	t[0].limit_ns = baseline + TARGET_BASELINE_ADD_NS;
	t[1].text = "at most max(1.5 L, L + 40 ns)";
	t[1].limit_ns = line * TARGET_LINE_FACTOR;
	if (t[1].limit_ns < line + TARGET_LINE_ADD_NS)
		t[1].limit_ns = line + TARGET_LINE_ADD_NS;
	return 2;
}

static unsigned targets_put(double baseline, struct target *t)
{
	t[0].text = "at most baseline + 10 ns";
	t[0].limit_ns = baseline + TARGET_PUT_ADD_NS;
	return 1;
}

unsigned result_targets(const struct result *o, struct target *t)
{
	double line = o->figure[CASE_REFERENCE].p50_ns;
	double baseline = o->figure[CASE_BASELINE].p50_ns;
	double cay = o->figure[CASE_CAY].p50_ns;
	unsigned count = 0;

	if (o->refused)
		return 0;
	if (o->bc->goal == GOAL_MESSAGE)
		count = targets_message(line, baseline, t);
	else if (o->bc->goal == GOAL_PUT)
		count = targets_put(baseline, t);
	for (unsigned i = 0; i < count; i++)
		t[i].held = cay <= t[i].limit_ns;
	return count;
}

bool result_missed(const struct result *o)
{
	struct target t[TARGETS_MAX];
	unsigned count = result_targets(o, t);

	for (unsigned i = 0; i < count; i++)
		if (!t[i].held)
			return true;
	return false;
}
