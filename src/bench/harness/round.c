/* SPDX-License-Identifier: BSD-2-Clause */
/* Outlier rejection, without side effects. */
#include "bench/harness/round.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/harness/samples.h"

enum round_status round_status_of(
	const struct round *r, const struct round_rules *rules)
{
	double low = r->reference_ns[0], high = low;

	for (uint32_t i = 1; i < r->references; i++) {
		double ns = r->reference_ns[i];
		low = ns < low ? ns : low;
		high = ns > high ? ns : high;
	}
	if (rules->reject_preempted && r->preemptions)
		return ROUND_PREEMPTED;
	return high > low * rules->drift_max ? ROUND_DRIFTED : ROUND_KEPT;
}

double round_reference_ns(const struct round *r)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->references; i++)
		sum += r->reference_ns[i];
	return r->references ? sum / r->references : 0;
}

int rounds_reject_outliers(
	struct round *r, size_t count, const struct round_rules *rules)
{
	double *ns = malloc((count + 1) * sizeof(*ns));
	double factor = rules->outlier_factor;
	size_t kept = 0;
	int stay = 0;

	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (r[i].status == ROUND_KEPT)
			ns[kept++] = round_reference_ns(&r[i]);
	double median = samples_median(ns, kept);
	free(ns);
	for (size_t i = 0; i < count; i++) {
		double own = round_reference_ns(&r[i]);
		if (r[i].status != ROUND_KEPT)
			continue;
		if (own <= median * factor && median <= own * factor)
			stay++;
		else
			r[i].status = ROUND_OUTLIER;
	}
	return stay;
}

const char *round_status_name(enum round_status status)
{
	static const char *const name[ROUND_STATUSES] = {
		[ROUND_KEPT] = "kept",
		[ROUND_DRIFTED] = "drifted",
		[ROUND_PREEMPTED] = "preempted",
		[ROUND_OUTLIER] = "outlier",
	};
	return status < ROUND_STATUSES ? name[status] : "unknown";
}

/* Between the distances that occur in practice: 23, 140 and 300 ns. */
#define DISTANCE_NEAR_NS_MAX   60
#define DISTANCE_MIDDLE_NS_MAX 220

enum distance distance_of(double ns)
{
	if (ns < DISTANCE_NEAR_NS_MAX)
		return DISTANCE_NEAR;
	return ns < DISTANCE_MIDDLE_NS_MAX ? DISTANCE_MIDDLE : DISTANCE_FAR;
}

const char *distance_name(enum distance d)
{
	static const char *const name[] = { "near", "middle", "far" };
	return name[d];
}

const char *distance_text(enum distance d)
{
	static const char *const text[] = {
		"one physical core or a close shared cache, about 23 ns",
		"two cores of one chip, about 140 ns",
		"another chip or a loaded host, more than 220 ns",
	};
	return text[d];
}
