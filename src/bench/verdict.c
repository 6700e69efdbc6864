/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeping and dropping rounds; pure, so that tests can feed it. */
#include "bench/verdict.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/samples.h"

enum verdict verdict_of(const struct round *r, const struct rules *rules)
{
	double low = r->yardstick_ns[0], high = low;

	for (uint32_t i = 1; i < r->yardsticks; i++) {
		double ns = r->yardstick_ns[i];
		low = ns < low ? ns : low;
		high = ns > high ? ns : high;
	}
	if (rules->unbroken && r->switches)
		return VERDICT_SWITCHED;
	return high > low * rules->agree ? VERDICT_DRIFTED : VERDICT_KEPT;
}

double round_yardstick_ns(const struct round *r)
{
	double sum = 0;

	for (uint32_t i = 0; i < r->yardsticks; i++)
		sum += r->yardstick_ns[i];
	return r->yardsticks ? sum / r->yardsticks : 0;
}

static size_t verdict_collect(const struct round *r, size_t count, double *ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (r[i].verdict == VERDICT_KEPT)
			ns[kept++] = round_yardstick_ns(&r[i]);
	return kept;
}

static bool verdict_alike(double a, double b, double factor)
{
	return a <= b * factor && b <= a * factor;
}

int verdict_settle(struct round *r, size_t count, const struct rules *rules)
{
	double *ns = malloc((count + 1) * sizeof(*ns));
	int stay = 0;

	if (!ns)
		return -ENOMEM;
	size_t kept = verdict_collect(r, count, ns);
	double typical = samples_median(ns, kept);
	free(ns);
	for (size_t i = 0; i < count; i++) {
		if (r[i].verdict != VERDICT_KEPT)
			continue;
		if (verdict_alike(
			    round_yardstick_ns(&r[i]), typical, rules->alike))
			stay++;
		else
			r[i].verdict = VERDICT_ELSEWHERE;
	}
	return stay;
}

const char *verdict_name(enum verdict v)
{
	static const char *const name[VERDICT_COUNT] = {
		[VERDICT_KEPT] = "kept",
		[VERDICT_DRIFTED] = "drifted",
		[VERDICT_SWITCHED] = "switched",
		[VERDICT_ELSEWHERE] = "elsewhere",
	};
	return v < VERDICT_COUNT ? name[v] : "unknown";
}

const char *verdict_text(enum verdict v)
{
	static const char *const text[VERDICT_COUNT] = {
		[VERDICT_KEPT] = "kept",
		[VERDICT_DRIFTED] = "yardstick drifted",
		[VERDICT_SWITCHED] = "process switched out",
		[VERDICT_ELSEWHERE] = "unlike most",
	};
	return v < VERDICT_COUNT ? text[v] : "unknown";
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
