/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scene: latency, measured by src/bench in short rounds that alternate with
 * the bare hand-over of a cache line. A figure from a disturbed run is not
 * shown, and that is no failure of the demo.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include "base/bits.h"
#include "bench/cores.h"
#include "bench/outcome.h"
#include "cli/demo.h"

#define SPEED_ROUNDS   60
#define SPEED_LIMIT_NS (1500 * CLOCK_NS_PER_MS) /* for one size */

static void speed_row(const struct outcome *o, const char *label)
{
	double line = o->figure[PLAN_YARDSTICK].p50_ns;
	const struct figure *cay = &o->figure[PLAN_CANDIDATE];

	printf("    %-22s %9.0f %9.0f %9.0f %9.1f %9.1f\n", label, line,
		cay->p50_ns, cay->p99_ns, cay->p50_ns / line,
		cay->p99_ns / line);
}

static int speed_measure(
	struct demo *d, const struct plan *plan, const int core[2])
{
	struct rounds rounds;
	struct outcome outcome;
	int r = rounds_run(plan, core, false, &rounds);

	if (r == 0)
		r = outcome_of(plan, &rounds, &outcome);
	if (r)
		show_check(d, false, "%s: %s", plan->label, rounds.failure);
	else if (outcome.refused)
		printf("    %-22s no figure: the cores were disturbed\n",
			plan->label);
	else
		speed_row(&outcome, plan->label);
	rounds_free(&rounds);
	fflush(stdout);
	return r;
}

static int speed_size(struct demo *d, size_t bytes, const int core[2])
{
	struct bench_options options = bench_defaults();
	struct plan plan;

	options.rounds = SPEED_ROUNDS;
	plan_latency(&plan, &options, bytes, bytes > CAY_COPIED_MAX);
	plan.limit_ns = SPEED_LIMIT_NS;
	return speed_measure(d, &plan, core);
}

int demo_speed(struct demo *d)
{
	static const size_t sizes[] = { 8, 64, 4096, 1 << 20 };
	const int any[2] = { -1, -1 };
	cpu_set_t allowed;
	int core[2], r = 0;

	show_scene(d, "Latency",
		"    One way between two processes on two cores, in ns, next "
		"to "
		"L: the bare\n"
		"    hand-over of a cache line, measured in turn with it.\n");
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
		cores_pick(&allowed, any, core) != 0) {
		printf("    not measured: this needs two cores\n");
		return 0;
	}
	printf("    %-22s %9s %9s %9s %9s %9s\n", "", "L p50", "Cay p50",
		"Cay p99", "p50 / L", "p99 / L");
	for (unsigned i = 0; r == 0 && i < ARRAY_COUNT(sizes); i++)
		r = speed_size(d, sizes[i], core);
	return r ? -EPROTO : 0;
}
