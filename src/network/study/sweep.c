/* SPDX-License-Identifier: BSD-2-Clause */
/* See sweep.h. */
#include "network/study/sweep.h"

#include <errno.h>
#include <stdlib.h>

/* The search starts at this share of the highest load, and doubles. */
#define FIRST_SHARE (1.0 / 16)
/* The search ends below this share of the highest load. */
#define LEAST_SHARE (1.0 / 4096)

static int point_run(
	const struct sweep *s, double load, struct sweep_outcome *o)
{
	struct study_options study = s->study;
	struct study_result *result = malloc(sizeof(*result));
	struct network *n;
	if (!result)
		return -ENOMEM;
	int r = s->open(s->context, &n);
	if (r)
		goto err_free;
	study.load = load;
	r = study_run(n, &study, result);
	if (r == 0) {
		o->verdict = result->verdict;
		o->points++;
		if (s->measured)
			s->measured(s->context, n, load, result);
	}
	s->close(s->context, n);
	bool lower = o->unsteady == 0 || load < o->unsteady;
	if (r == 0 && o->verdict == STUDY_STEADY) {
		if (lower && load > o->steady)
			o->steady = load;
	} else if (r == 0 && o->verdict != STUDY_STOPPED) {
		if (lower)
			o->unsteady = load;
	}
err_free:
	free(result);
	return r;
}

int sweep_loads(const struct sweep *s, const double *loads, unsigned count,
	struct sweep_outcome *o)
{
	unsigned unsteady = 0;
	*o = (struct sweep_outcome){ 0 };
	for (unsigned i = 0; i < count && unsteady < 2; i++) {
		int r = point_run(s, loads[i], o);
		if (r)
			return r;
		if (o->verdict == STUDY_STOPPED ||
			o->verdict == STUDY_DEADLOCKED)
			break;
		unsteady += o->verdict != STUDY_STEADY;
	}
	return 0;
}

int sweep_saturation(const struct sweep *s, double most, double precision,
	struct sweep_outcome *o)
{
	double load = most * FIRST_SHARE;
	int r;
	*o = (struct sweep_outcome){ 0 };
	if (!(most > 0) || !(precision > 0))
		return -EINVAL;
	/* Double the load until it is not steady, or the highest. */
	for (;;) {
		r = point_run(s, load, o);
		if (r || o->verdict != STUDY_STEADY || load == most)
			break;
		load = 2 * load < most ? 2 * load : most;
	}
	/* Bisect. */
	while (r == 0 && o->verdict != STUDY_STOPPED && o->unsteady != 0 &&
		o->unsteady - o->steady > precision * o->unsteady &&
		o->unsteady > most * LEAST_SHARE)
		r = point_run(s, (o->steady + o->unsteady) / 2, o);
	return r;
}
