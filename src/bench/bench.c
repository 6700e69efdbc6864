/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the selected benchmarks, one case after the other. */
#include "bench/bench.h"

#include <stdlib.h>
#include <unistd.h>

#include "bench/harness/cores.h"
#include "bench/harness/report.h"
#include "bench/native/cases.h"

struct bench_options bench_defaults(void)
{
	return (struct bench_options){ .kinds = 1u << BENCH_LATENCY |
						1u << BENCH_RMA,
		.brief = true,
		.core = { -1, -1 },
		.processes = 16,
		.command = "cay bench" };
}

int bench_run(const struct bench_options *o, FILE *out)
{
	struct report report = { .out = out,
		.json = o->json,
		.check = o->check,
		.program = "cay bench",
		.command = o->command,
		.note = "queues of baseline and Cay: 64 notification entries" };
	char node[32];

	if (cores_select(report.program, o->core, report.core) ||
		report_begin(&report, o->samples))
		return REPORT_FAILED;
	/* A separate node isolates the benchmark from other jobs. */
	snprintf(node, sizeof(node), "bench-%d", (int)getpid());
	setenv("CAY_NODE", node, 0);
	for (unsigned kind = 0; kind < BENCH_KINDS; kind++) {
		struct bench_case bc;
		if (!(o->kinds & 1u << kind))
			continue;
		for (unsigned i = 0; case_make(&bc, o, kind, i); i++) {
			struct measurement m;
			int r = measurement_run(
				&bc, report.core, o->progress, &m);
			report_add(&report, &bc, &m, r);
			measurement_free(&m);
		}
	}
	if (report.disturbed)
		fprintf(stderr,
			"cay bench: the run was disturbed: other processes use "
			"these cores, or the host moves them; figures that say "
			"so are only for orientation; close other load and try "
			"again, or choose other cores with --cores\n");
	return report_end(&report);
}
