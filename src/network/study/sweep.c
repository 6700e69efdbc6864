/* SPDX-License-Identifier: BSD-2-Clause */
/* See sweep.h. */
#include "network/study/sweep.h"

#include <errno.h>
#include <stdlib.h>

/* Where the search begins, of the highest load; it doubles from there. */
#define FIRST_SHARE (1.0 / 16)
/* Below that share of the highest load nothing is looked for. */
#define LEAST_SHARE (1.0 / 4096)

static int point_run(const struct sweep *s, double load, struct network *n,
	struct sweep_outcome *o)
{
	struct study_options study = s->study;
	struct study_result *result = malloc(sizeof(*result));
	if (!result)
		return -ENOMEM;
	study.load = load;
	int r = study_run(n, &study, result);
	if (r == 0) {
		o->verdict = result->verdict;
		o->points++;
		if (s->measured)
			s->measured(s->context, n, load, result);
	}
	free(result);
	return r;
}

static void outcome_note(struct sweep_outcome *o, double load)
{
	bool below = o->unsteady == 0 || load < o->unsteady;
	if (o->verdict == STUDY_STEADY) {
		if (below && load > o->steady)
			o->steady = load;
	} else if (o->verdict != STUDY_STOPPED) {
		if (below)
			o->unsteady = load;
	}
}

static int point_measure(
	const struct sweep *s, double load, struct sweep_outcome *o)
{
	struct network *n;
	int r = s->open(s->context, &n);
	if (r)
		return r;
	r = point_run(s, load, n, o);
	s->close(s->context, n);
	if (r == 0)
		outcome_note(o, load);
	return r;
}

int sweep_loads(const struct sweep *s, const double *loads, unsigned count,
	struct sweep_outcome *o)
{
	unsigned unsteady = 0;
	*o = (struct sweep_outcome){ 0 };
	for (unsigned i = 0; i < count && unsteady < 2; i++) {
		int r = point_measure(s, loads[i], o);
		if (r)
			return r;
		if (o->verdict == STUDY_STOPPED ||
			o->verdict == STUDY_DEADLOCKED)
			break;
		unsteady += o->verdict != STUDY_STEADY;
	}
	return 0;
}

/* ---- the search ---- */

/* Up, until a load is not steady or is the highest. */
static int search_bracket(
	const struct sweep *s, double most, struct sweep_outcome *o)
{
	double load = most * FIRST_SHARE;
	for (;;) {
		int r = point_measure(s, load, o);
		if (r || o->verdict != STUDY_STEADY || load == most)
			return r;
		load = 2 * load < most ? 2 * load : most;
	}
}

static bool search_ends(const struct sweep_outcome *o, double precision)
{
	if (o->verdict == STUDY_STOPPED || o->unsteady == 0)
		return true;
	return o->unsteady - o->steady <= precision * o->unsteady;
}

int sweep_saturation(const struct sweep *s, double most, double precision,
	struct sweep_outcome *o)
{
	*o = (struct sweep_outcome){ 0 };
	if (!(most > 0) || !(precision > 0))
		return -EINVAL;
	int r = search_bracket(s, most, o);
	while (r == 0 && !search_ends(o, precision) &&
		o->unsteady > most * LEAST_SHARE)
		r = point_measure(s, (o->steady + o->unsteady) / 2, o);
	return r;
}
