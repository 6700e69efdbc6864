/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency and bandwidth of messages over providers of libfabric, which
 * alternate in the same two processes. tools/bench-fabric runs this program and
 * reads its JSON.
 *
 * Exit status: 0 done, 1 failed, 2 wrong usage, 3 disturbed.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fabric/link.h"
#include "bench/fabric/workloads.h"
#include "bench/harness/cores.h"
#include "bench/harness/report.h"

#define PROVIDERS_MAX (CASE_WORKLOADS_MAX - 1)

static const char usage[] =
	"usage: fabric-latency --provider NAME [--provider NAME ...]\n"
	"                      [--case NAME] [--quick] [--samples FILE]\n"
	"  --provider  of libfabric, e.g. shm; up to three alternate\n"
	"  --case      only this one, e.g. inject_8\n"
	"  --quick     few rounds\n"
	"  --samples   every sample, as CSV\n";

struct options {
	const char *provider[PROVIDERS_MAX];
	unsigned providers;
	const char *only; /* a case, or NULL */
	const char *samples;
	bool quick;
};

static bool parse_options(struct options *o, int argc, char **argv)
{
	static const struct option all[] = {
		{ "provider", required_argument, NULL, 'p' },
		{ "case", required_argument, NULL, 'c' },
		{ "samples", required_argument, NULL, 's' },
		{ "quick", no_argument, NULL, 'q' },
		{ 0 },
	};
	bool known = true;
	int option;

	while ((option = getopt_long(argc, argv, "", all, NULL)) != -1)
		switch (option) {
		case 'p':
			if (o->providers == PROVIDERS_MAX)
				return false;
			o->provider[o->providers++] = optarg;
			break;
		case 'c':
			o->only = optarg;
			known = false;
			for (unsigned i = 0; i < TRAFFIC_COUNT; i++)
				known |= strcmp(traffic[i].name, optarg) == 0;
			break;
		case 's':
			o->samples = optarg;
			break;
		case 'q':
			o->quick = true;
			break;
		default:
			return false;
		}
	return known && optind == argc && o->providers;
}

static void run_case(
	struct report *report, const struct options *o, const struct traffic *t)
{
	struct bench_case bc = traffic_case(t, o->quick);
	struct workload workload[PROVIDERS_MAX];
	struct measurement m;

	bc.shared_bytes = LINK_SHARED_BYTES;
	for (unsigned i = 0; i < o->providers; i++) {
		workload[i] = fabric_workload(t->form, o->provider[i]);
		bc.workload[bc.workloads++] = &workload[i];
	}
	int r = measurement_run(&bc, report->core, false, &m);
	report_add(report, &bc, &m, r);
	measurement_free(&m);
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct report report = { .out = stdout,
		.json = true,
		.program = "fabric-latency",
		.command = "fabric-latency" };
	const int any[2] = { -1, -1 };
	char version[32];

	if (!parse_options(&o, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	snprintf(version, sizeof(version), "libfabric %u.%u",
		FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	report.version = version;
	if (cores_select(report.program, any, report.core) ||
		report_begin(&report, o.samples))
		return REPORT_FAILED;
	for (unsigned i = 0; i < TRAFFIC_COUNT && !report.failed; i++)
		if (!o.only || strcmp(traffic[i].name, o.only) == 0)
			run_case(&report, &o, &traffic[i]);
	return report_end(&report);
}
