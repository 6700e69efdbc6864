/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scene: latency, measured by src/bench in short rounds that alternate with
 * the bare hand-over of a cache line. A figure from a disturbed run is not
 * shown, and that is no failure of the demo.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/bits.h"
#include "bench/harness/cores.h"
#include "bench/harness/result.h"
#include "cli/demo/demo.h"

#define SPEED_ROUNDS   60
#define SPEED_LIMIT_NS (1500 * CLOCK_NS_PER_MS) /* for one size */
#define CORES_MIN      1.5 /* of two; less: others want them too */

enum speed {
	SPEED_KNOWN,
	SPEED_DISTURBED, /* no figure for this size */
	SPEED_BUSY,	 /* nor for any other: the cores are not ours */
	SPEED_FAILED,
};

static void speed_row(const struct result *o, const char *label)
{
	double line = o->figure[CASE_REFERENCE].p50_ns;
	const struct figure *cay = &o->figure[CASE_CAY];

	printf("    %-22s %9.0f %9.0f %9.0f %9.1f %9.1f\n", label, line,
		cay->p50_ns, cay->p99_ns, cay->p50_ns / line,
		cay->p99_ns / line);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Of all children that have ended. */
static double cpu_seconds(void)
{
	struct rusage u = { 0 };
	getrusage(RUSAGE_CHILDREN, &u);
	return seconds(u.ru_utime) + seconds(u.ru_stime);
}

static enum speed speed_of(const struct result *o)
{
	if (!o->refused)
		return SPEED_KNOWN;
	return 2 * o->by_status[ROUND_PREEMPTED] > o->tried ? SPEED_BUSY
							    : SPEED_DISTURBED;
}

/* Two processes that spin, and ran out of patience, but had no cores? */
static bool cores_missing(uint64_t wall_ns, double cpu_s)
{
	double wall_s = (double)wall_ns / CLOCK_NS_PER_S;
	return wall_ns >= GROUP_TIMEOUT_NS && cpu_s < CORES_MIN * wall_s;
}

static enum speed speed_run(const struct bench_case *bc, const int core[2],
	struct measurement *rounds, struct result *result)
{
	uint64_t begun = clock_now_ns();
	double cpu_s = cpu_seconds();
	int r = measurement_run(bc, core, false, rounds);

	if (r == 0)
		r = result_of(bc, rounds, result);
	if (r == 0)
		return speed_of(result);
	return cores_missing(clock_now_ns() - begun, cpu_seconds() - cpu_s)
		       ? SPEED_BUSY
		       : SPEED_FAILED;
}

static enum speed speed_measure(
	struct demo *d, const struct bench_case *bc, const int core[2])
{
	struct measurement rounds;
	struct result result;
	enum speed speed = speed_run(bc, core, &rounds, &result);

	switch (speed) {
	case SPEED_KNOWN:
		speed_row(&result, bc->label);
		break;
	case SPEED_DISTURBED:
		printf("    %-22s no figure: the cores were disturbed\n",
			bc->label);
		break;
	case SPEED_BUSY:
		printf("    %-22s no figure: other work uses these cores\n",
			bc->label);
		break;
	case SPEED_FAILED:
		show_check(d, false, "%s: %s", bc->label, rounds.failure);
		break;
	}
	measurement_free(&rounds);
	fflush(stdout);
	return speed;
}

/* Messages of these sizes, and then a put. */
static const size_t sizes[] = { 8, 64, 4096, 1 << 20 };
#define SPEED_LINES (ARRAY_COUNT(sizes) + 1)

static enum speed speed_line(struct demo *d, unsigned i, const int core[2])
{
	struct bench_options options = bench_defaults();
	struct bench_case bc;

	options.rounds = SPEED_ROUNDS;
	if (i == ARRAY_COUNT(sizes))
		case_rma(&bc, &options, 0);
	else
		case_latency(&bc, &options, sizes[i], sizes[i] > CAY_EAGER_MAX);
	bc.limit_ns = SPEED_LIMIT_NS;
	return speed_measure(d, &bc, core);
}

static bool speed_cores(int core[2])
{
	const int any[2] = { -1, -1 };
	cpu_set_t allowed;
	return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 &&
	       cores_pick(&allowed, any, core) == 0;
}

int demo_speed(struct demo *d)
{
	enum speed speed = SPEED_KNOWN;
	int core[2];

	show_scene(d, "Latency",
		"    One way between two processes on two cores, in ns, next "
		"to "
		"L: the bare\n"
		"    hand-over of a cache line, measured in turn with it.\n");
	if (!speed_cores(core)) {
		printf("    not measured: this needs two cores\n");
		return 0;
	}
	printf("    %-22s %9s %9s %9s %9s %9s\n", "", "L p50", "Cay p50",
		"Cay p99", "p50 / L", "p99 / L");
	for (unsigned i = 0; speed < SPEED_BUSY && i < SPEED_LINES; i++)
		speed = speed_line(d, i, core);
	return speed == SPEED_FAILED ? -EPROTO : 0;
}
