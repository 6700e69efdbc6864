/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeping and dropping rounds; pure, so that tests can feed it. */
#include "bench/harness/round.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/harness/samples.h"

enum round_status round_status_of(
	const struct round *r, const struct rules *rules)
{
	double low = r->reference_ns[0], high = low;

	for (uint32_t i = 1; i < r->references; i++) {
		double ns = r->reference_ns[i];
		low = ns < low ? ns : low;
		high = ns > high ? ns : high;
	}
	if (rules->unbroken && r->switches)
		return ROUND_PREEMPTED;
	return high > low * rules->agree ? ROUND_DRIFTED : ROUND_KEPT;
}

double round_reference_ns(const struct round *r)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->references; i++)
		sum += r->reference_ns[i];
	return r->references ? sum / r->references : 0;
}

static size_t round_collect(const struct round *r, size_t count, double *ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (r[i].status == ROUND_KEPT)
			ns[kept++] = round_reference_ns(&r[i]);
	return kept;
}

static bool round_alike(double a, double b, double factor)
{
	return a <= b * factor && b <= a * factor;
}

int rounds_reject_outliers(
	struct round *r, size_t count, const struct rules *rules)
{
	double *ns = malloc((count + 1) * sizeof(*ns));
	int stay = 0;

	if (!ns)
		return -ENOMEM;
	size_t kept = round_collect(r, count, ns);
	double typical = samples_median(ns, kept);
	free(ns);
	for (size_t i = 0; i < count; i++) {
		if (r[i].status != ROUND_KEPT)
			continue;
		if (round_alike(
			    round_reference_ns(&r[i]), typical, rules->alike))
			stay++;
		else
			r[i].status = ROUND_OUTLIER;
	}
	return stay;
}

const char *round_status_name(enum round_status v)
{
	static const char *const name[ROUND_STATUSES] = {
		[ROUND_KEPT] = "kept",
		[ROUND_DRIFTED] = "drifted",
		[ROUND_PREEMPTED] = "switched",
		[ROUND_OUTLIER] = "elsewhere",
	};
	return v < ROUND_STATUSES ? name[v] : "unknown";
}

const char *round_status_text(enum round_status v)
{
	static const char *const text[ROUND_STATUSES] = {
		[ROUND_KEPT] = "kept",
		[ROUND_DRIFTED] = "reference drifted",
		[ROUND_PREEMPTED] = "process switched out",
		[ROUND_OUTLIER] = "unlike most",
	};
	return v < ROUND_STATUSES ? text[v] : "unknown";
}

/* Between the distances that are seen in practice: 23, 140 and 300 ns. */
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
