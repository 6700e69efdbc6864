/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The latency scene: short measurements of src/bench. A figure of a disturbed
 * measurement is not shown, which is not a failure of the demo.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/bits.h"
#include "bench/harness/cores.h"
#include "bench/harness/result.h"
#include "bench/native/cases.h"
#include "cay/message.h"
#include "cli/demo/demo.h"

#define ROUNDS	  60
#define LIMIT_NS  (1500 * CLOCK_NS_PER_MS) /* of one row */
#define CORES_MIN 1.5 /* processor time over elapsed time of two processes */

enum row {
	ROW_PRINTED,
	ROW_DISTURBED,
	ROW_BUSY, /* other processes use the cores: all rows would fail */
	ROW_FAILED,
};

/* Processor time of all children that have exited. */
static double cpu_seconds(void)
{
	struct rusage u = { 0 };
	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static enum row row_measure(const struct bench_case *bc, const int core[2])
{
	struct measurement rounds;
	struct result o = { 0 };
	enum row row = ROW_FAILED;
	uint64_t start_ns = clock_now_ns();
	double start_cpu_s = cpu_seconds();
	int r = measurement_run(bc, core, false, &rounds);
	if (r == 0)
		r = result_of(bc, &rounds, &o);
	uint64_t elapsed_ns = clock_now_ns() - start_ns;

	printf("    %-25s ", bc->label);
	if (r == 0 && !o.disturbed) {
		double line = o.figure[CASE_REFERENCE].p50_ns;
		const struct figure *cay = &o.figure[CASE_CAY];
		printf("%9.0f %9.0f %9.0f %9.1f %9.1f\n", line, cay->p50_ns,
			cay->p99_ns, cay->p50_ns / line, cay->p99_ns / line);
		row = ROW_PRINTED;
	} else if ((r == 0 && 2 * o.by_status[ROUND_PREEMPTED] > o.tried) ||
		   (r && elapsed_ns >= GROUP_TIMEOUT_NS &&
			   cpu_seconds() - start_cpu_s <
				   CORES_MIN * (double)elapsed_ns /
					   CLOCK_NS_PER_S)) {
		printf("not measured: other processes use these cores\n");
		row = ROW_BUSY;
	} else if (r == 0) {
		printf("not measured: the cores were disturbed\n");
		row = ROW_DISTURBED;
	} else {
		printf("%s\n", rounds.failure);
	}
	measurement_free(&rounds);
	fflush(stdout);
	return row;
}

bool demo_latency(void)
{
	static const size_t sizes[] = { 8, 64, 4096, 1 << 20 };
	const int any[2] = { -1, -1 };
	struct bench_options options = bench_defaults();
	struct bench_case bc;
	cpu_set_t allowed;
	enum row row = ROW_PRINTED;
	int core[2];

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 ||
		cores_pick(&allowed, any, core) != 0) {
		printf("    not measured: this needs two cores\n");
		return true;
	}
	printf("    L is the bare hand-over of a cache line, measured in "
	       "alternating rounds.\n"
	       "    %-25s %9s %9s %9s %9s %9s\n",
		"", "L p50", "Cay p50", "Cay p99", "p50 / L", "p99 / L");
	options.rounds = ROUNDS;
	for (unsigned i = 0; row < ROW_BUSY && i <= ARRAY_COUNT(sizes); i++) {
		if (i == ARRAY_COUNT(sizes)) /* last, a put */
			case_make(&bc, &options, BENCH_RMA, 0);
		else
			case_latency(&bc, &options, sizes[i], LATENCY_ALLOC);
		bc.limit_ns = LIMIT_NS;
		row = row_measure(&bc, core);
	}
	return row != ROW_FAILED;
}
