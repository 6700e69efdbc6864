/* SPDX-License-Identifier: BSD-2-Clause */
/* From rounds and samples to figures and targets; no clock, no output. */
#include "bench/harness/result.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- figures ---- */

/* Collects and sorts the samples of the kept rounds, or of all. */
static size_t collect(const struct measurement *m, bool all, unsigned workload,
	enum sample_kind kind, double *ns)
{
	const struct samples *s = m->samples;
	size_t count = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const struct sample *at = &s->at[i];
		if (at->workload == workload && at->kind == kind &&
			at->round < m->rounds &&
			(all || m->round[at->round].status == ROUND_KEPT))
			ns[count++] = at->ns;
	}
	samples_sort(ns, count);
	return count;
}

int result_of(const struct bench_case *bc, struct measurement *m,
	struct result *result)
{
	double *ns = malloc((m->samples->count + 1) * sizeof(*ns));
	int kept = ns ? rounds_reject_outliers(m->round, m->rounds, &bc->rules)
		      : -ENOMEM;
	bool all = kept < (int)bc->rules.rounds_min;

	*result = (struct result){
		.bc = bc, .tried = m->rounds, .foreign_load = m->foreign_load
	};
	for (unsigned i = 0; kept >= 0 && i < bc->workloads; i++) {
		struct figure *f = &result->figure[i];
		f->p99_samples = f->p50_samples =
			collect(m, all, i, SAMPLE_BATCH, ns);
		f->p50_ns = samples_percentile(ns, f->p50_samples, 0.5);
		f->p99_ns = samples_percentile(ns, f->p50_samples, 0.99);
		size_t singles = collect(m, all, i, SAMPLE_SINGLE, ns);
		if (singles) {
			f->p99_samples = singles;
			f->p99_ns = samples_percentile(ns, singles, 0.99);
		}
	}
	for (uint32_t i = 0; i < m->rounds; i++)
		result->by_status[m->round[i].status]++;
	result->disturbed = all || m->foreign_load > bc->rules.foreign_load_max;
	free(ns);
	return kept < 0 ? kept : 0;
}

double result_ratio(const struct result *r, unsigned workload)
{
	double base = r->figure[workload].p50_ns;

	return base > 0 ? r->figure[r->bc->workloads - 1].p50_ns / base : 0;
}

bool result_has_distance(const struct result *r)
{
	return r->bc->workload[CASE_REFERENCE] == &handover_workload;
}

enum distance result_distance(const struct result *r)
{
	return distance_of(r->figure[CASE_REFERENCE].p50_ns);
}

void result_dropped(const struct result *r, char text[DROPPED_MAX])
{
	size_t at = 0;

	text[0] = 0;
	for (unsigned s = ROUND_KEPT + 1; s < ROUND_STATUSES; s++)
		if (r->by_status[s] && at < DROPPED_MAX)
			at += (size_t)snprintf(text + at, DROPPED_MAX - at,
				"%s%u %s%s", at ? ", " : "", r->by_status[s],
				round_status_name(s),
				s == ROUND_OUTLIER && r->by_status[s] > 1 ? "s"
									  : "");
}

void result_disturbed(const struct result *r, char text[DISTURBED_MAX])
{
	char dropped[DROPPED_MAX];

	result_dropped(r, dropped);
	if (r->foreign_load > r->bc->rules.foreign_load_max)
		snprintf(text, DISTURBED_MAX,
			"other processes used %.0f %% of the two cores",
			100 * r->foreign_load);
	else
		snprintf(text, DISTURBED_MAX,
			"%u of %u rounds kept, %u needed; %s",
			r->by_status[ROUND_KEPT], r->tried,
			r->bc->rules.rounds_min, dropped);
}

/* ---- targets ---- */

#define TARGET_MESSAGE_ADD_NS 15
#define TARGET_PUT_ADD_NS     10
#define TARGET_LINE_FACTOR    1.5
#define TARGET_LINE_ADD_NS    40

unsigned result_targets(const struct result *r, struct target *t)
{
	double line = r->figure[CASE_REFERENCE].p50_ns;
	double baseline = r->figure[CASE_BASELINE].p50_ns;
	double cay = r->figure[CASE_CAY].p50_ns;
	double factor = line * TARGET_LINE_FACTOR;
	double sum = line + TARGET_LINE_ADD_NS;
	unsigned count = 0;

	if (r->disturbed)
		return 0;
	if (r->bc->target == TARGET_MESSAGE) {
		t[count++] = (struct target){ "at most baseline + 15 ns",
			baseline + TARGET_MESSAGE_ADD_NS, false };
		t[count++] = (struct target){ "at most max(1.5 L, L + 40 ns)",
			factor > sum ? factor : sum, false };
	} else if (r->bc->target == TARGET_PUT) {
		t[count++] = (struct target){ "at most baseline + 10 ns",
			baseline + TARGET_PUT_ADD_NS, false };
	}
	for (unsigned i = 0; i < count; i++)
		t[i].met = cay <= t[i].limit_ns;
	return count;
}

bool result_missed(const struct result *r)
{
	struct target t[TARGETS_MAX];
	unsigned count = result_targets(r, t);

	for (unsigned i = 0; i < count; i++)
		if (!t[i].met)
			return true;
	return false;
}
