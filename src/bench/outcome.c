/* SPDX-License-Identifier: BSD-2-Clause */
/* From rounds and samples to figures and targets; no clock, no output. */
#include "bench/outcome.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- figures ---- */

static size_t figure_collect(const struct rounds *r, unsigned flavour,
	enum sample_kind kind, double *ns)
{
	const struct samples *s = r->samples;
	size_t count = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct sample *at = &s->at[i];
		if (at->flavour == flavour && at->kind == kind &&
			at->round < r->count &&
			r->at[at->round].verdict == VERDICT_KEPT)
			ns[count++] = at->ns;
	}
	return count;
}

static void figure_of(
	const struct rounds *r, unsigned flavour, double *ns, struct figure *f)
{
	f->p50_samples = figure_collect(r, flavour, SAMPLE_BATCH, ns);
	f->p50_ns = samples_median(ns, f->p50_samples);
	f->p99_samples = figure_collect(r, flavour, SAMPLE_TRIP, ns);
	if (f->p99_samples == 0)
		f->p99_samples = figure_collect(r, flavour, SAMPLE_BATCH, ns);
	samples_sort(ns, f->p99_samples);
	f->p99_ns = samples_percentile(ns, f->p99_samples, 0.99);
}

int outcome_of(const struct plan *plan, struct rounds *r, struct outcome *o)
{
	double *ns = malloc((r->samples->count + 1) * sizeof(*ns));
	int kept = ns ? verdict_settle(r->at, r->count, &plan->rules) : -ENOMEM;

	*o = (struct outcome){
		.plan = plan, .tried = r->count, .foreign = r->foreign
	};
	for (unsigned i = 0; kept >= 0 && i < PLAN_FLAVOURS_MAX; i++)
		figure_of(r, i, ns, &o->figure[i]);
	for (uint32_t i = 0; i < r->count; i++)
		o->verdicts[r->at[i].verdict]++;
	o->refused = kept < (int)plan->rules.enough ||
		     r->foreign > plan->rules.foreign;
	free(ns);
	return kept < 0 ? kept : 0;
}

double outcome_ratio(const struct outcome *o, unsigned flavour)
{
	double base = o->figure[flavour].p50_ns;

	return base > 0 ? o->figure[PLAN_CANDIDATE].p50_ns / base : 0;
}

bool outcome_has_distance(const struct outcome *o)
{
	return o->plan->flavour[PLAN_YARDSTICK] == &handover_flavour;
}

enum distance outcome_distance(const struct outcome *o)
{
	return distance_of(o->figure[PLAN_YARDSTICK].p50_ns);
}

void outcome_dropped(const struct outcome *o, char text[DROPPED_MAX])
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned v = VERDICT_KEPT + 1; v < VERDICT_COUNT; v++)
		if (o->verdicts[v] && at < DROPPED_MAX)
			at += (size_t)snprintf(text + at, DROPPED_MAX - at,
				"%s%u %s", at ? ", " : "", o->verdicts[v],
				verdict_text(v));
}

void outcome_refused(const struct outcome *o, char text[REFUSED_MAX])
{
	const struct rules *rules = &o->plan->rules;
	char dropped[DROPPED_MAX];

	outcome_dropped(o, dropped);
	if (o->foreign > rules->foreign)
		snprintf(text, REFUSED_MAX,
			"others had %.0f %% of the two cores",
			100 * o->foreign);
	else
		snprintf(text, REFUSED_MAX,
			"%u of %u rounds kept, %u needed; %s",
			o->verdicts[VERDICT_KEPT], o->tried, rules->enough,
			dropped);
}

/* ---- targets ---- */

#define TARGET_SKETCH_ADD_NS 15
#define TARGET_PUT_ADD_NS    10
#define TARGET_LINE_FACTOR   1.5
#define TARGET_LINE_ADD_NS   40

static unsigned targets_message(double line, double sketch, struct target *t)
{
	t[0].text = "at most sketch + 15 ns";
	t[0].limit_ns = sketch + TARGET_SKETCH_ADD_NS;
	t[1].text = "at most max(1.5 L, L + 40 ns)";
	t[1].limit_ns = line * TARGET_LINE_FACTOR;
	if (t[1].limit_ns < line + TARGET_LINE_ADD_NS)
		t[1].limit_ns = line + TARGET_LINE_ADD_NS;
	return 2;
}

static unsigned targets_put(double sketch, struct target *t)
{
	t[0].text = "at most sketch + 10 ns";
	t[0].limit_ns = sketch + TARGET_PUT_ADD_NS;
	return 1;
}

unsigned outcome_targets(const struct outcome *o, struct target *t)
{
	double line = o->figure[PLAN_YARDSTICK].p50_ns;
	double sketch = o->figure[PLAN_SKETCH].p50_ns;
	double cay = o->figure[PLAN_CANDIDATE].p50_ns;
	unsigned count = 0;

	if (o->refused)
		return 0;
	if (o->plan->goal == GOAL_MESSAGE)
		count = targets_message(line, sketch, t);
	else if (o->plan->goal == GOAL_PUT)
		count = targets_put(sketch, t);
	for (unsigned i = 0; i < count; i++)
		t[i].held = cay <= t[i].limit_ns;
	return count;
}

bool outcome_missed(const struct outcome *o)
{
	struct target t[TARGETS_MAX];
	unsigned count = outcome_targets(o, t);

	for (unsigned i = 0; i < count; i++)
		if (!t[i].held)
			return true;
	return false;
}
