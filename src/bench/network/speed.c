/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Speed of the interconnect simulator: flit-hops and node-cycles per second,
 * for tori of several sizes with the router iq4 under uniform traffic of
 * one-flit packets, on one thread and on all cores.
 *
 * usage: speed [--quick] [--json]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/fields.h"
#include "network/traffic/load.h"

#define CYCLES_PER_HOP	  6
#define WARM_UP_CYCLES	  300
#define CHUNK_CYCLES	  10   /* between two clock readings */
#define QUICK_PACKETS_MAX 2000 /* per cycle of all nodes, with --quick */
#define MEASURE_NS	  CLOCK_NS_PER_S
#define QUICK_MEASURE_NS  (50 * CLOCK_NS_PER_MS)

struct run {
	char torus[16];
	uint32_t dims[3];
	double load;
	unsigned threads;
	double flit_hops_per_s, node_cycles_per_s;
	double seconds;
	uint64_t resident_kib; /* peak of the process so far */
	double mflit_hops_per_s, mnode_cycles_per_s, resident_mib;
};

static void dims_json(struct json *j, const void *record)
{
	const struct run *run = record;

	json_array_begin(j);
	for (unsigned i = 0; i < 3; i++)
		json_number(j, run->dims[i]);
	json_array_end(j);
}

static const struct field run_fields[] = {
	FIELD(struct run, torus, NULL, .title = "torus", .kind = FIELD_CHARS,
		.width = 8),
	FIELD(struct run, dims, "dims", .json = dims_json),
	FIELD(struct run, load, "load", .title = "load", .kind = FIELD_REAL,
		.decimals = 2, .width = 6),
	FIELD(struct run, threads, "threads", .title = "threads", .width = 8),
	FIELD(struct run, flit_hops_per_s, "flit_hops_per_s",
		.kind = FIELD_REAL),
	FIELD(struct run, mflit_hops_per_s, NULL, .title = "Mflit-hops/s",
		.kind = FIELD_REAL, .decimals = 2, .width = 13),
	FIELD(struct run, node_cycles_per_s, "node_cycles_per_s",
		.kind = FIELD_REAL),
	FIELD(struct run, mnode_cycles_per_s, NULL, .title = "Mnode-cycles/s",
		.kind = FIELD_REAL, .decimals = 2, .width = 15),
	FIELD(struct run, seconds, "seconds", .kind = FIELD_REAL,
		.decimals = 3),
	FIELD(struct run, resident_kib, "resident_kib"),
	FIELD(struct run, resident_mib, NULL, .title = "MiB peak",
		.kind = FIELD_REAL, .width = 9),
	FIELDS_END,
};

static bool quick, as_json;
static struct json json;

static _Noreturn void fail(const char *call, int error)
{
	fprintf(stderr, "speed: %s: %s\n", call, strerror(-error));
	exit(1);
}

/* ---- one run ---- */

static struct network *open_loaded(
	struct topology *t, double load, unsigned threads)
{
	struct network_options options = { .seed = 1, .threads = threads };
	struct traffic traffic = {
		.pattern = TRAFFIC_UNIFORM, .topology = t, .to_self = true
	};
	struct length length;
	struct network *n;
	const char *why;

	router_preset("iq4", &options.router);
	int r = network_open(&n, t, &options, &why);
	if (r)
		fail(why, r);
	length_parse("1", &length);
	r = load_start(n, &traffic, &length, load);
	if (r)
		fail("load_start", r);
	return n;
}

static void simulate(struct network *n, uint64_t cycles)
{
	int r = network_run(n, network_now(n) + cycles);

	if (r)
		fail("network_run", r);
}

static struct run measure(struct topology *t, double load, unsigned threads)
{
	struct network *n = open_loaded(t, load, threads);
	uint64_t enough_ns = quick ? QUICK_MEASURE_NS : MEASURE_NS, ns = 0;
	struct run run = { .load = load, .threads = threads };
	struct network_counters before, after;
	struct rusage usage;
	uint64_t hops = 0;

	/* Warm-up: longer than the longest path takes. */
	for (unsigned d = 0; d < t->dimensions; d++)
		hops += t->size[d] / 2;
	simulate(n, WARM_UP_CYCLES + CYCLES_PER_HOP * hops);

	network_count(n, &before);
	uint64_t from_cycle = network_now(n), from_ns = clock_now_ns();
	while (ns < enough_ns) {
		simulate(n, CHUNK_CYCLES);
		ns = clock_now_ns() - from_ns;
	}
	network_count(n, &after);
	double cycles = (double)(network_now(n) - from_cycle);
	network_close(n);

	run.seconds = (double)ns / CLOCK_NS_PER_S;
	run.flit_hops_per_s =
		(double)(after.flit_hops - before.flit_hops) / run.seconds;
	run.node_cycles_per_s = cycles * t->nodes / run.seconds;
	run.mflit_hops_per_s = run.flit_hops_per_s / 1e6;
	run.mnode_cycles_per_s = run.node_cycles_per_s / 1e6;
	getrusage(RUSAGE_SELF, &usage);
	run.resident_kib = (uint64_t)usage.ru_maxrss;
	run.resident_mib = (double)run.resident_kib / 1024;
	return run;
}

/* ---- all runs ---- */

static void print_run(const uint32_t size[3], struct run *run)
{
	int widths[FIELDS_MAX];
	char line[128];

	snprintf(run->torus, sizeof(run->torus), "%2ux%2ux%2u", size[0],
		size[1], size[2]);
	memcpy(run->dims, size, sizeof(run->dims));
	if (as_json) {
		json_object_begin(&json);
		fields_json(&json, run_fields, run);
		json_object_end(&json);
	} else {
		fields_widths(run_fields, widths);
		fields_line(run_fields, run, widths, line, sizeof(line));
		printf("%s\n", line);
	}
	fflush(stdout);
}

static void measure_size(const uint32_t size[3], unsigned cores)
{
	static const double loads[] = { 0.01, 0.05, 0.1, 0.3 };
	uint32_t longest = 0;
	struct topology t;
	int r = topology_torus(&t, size, 3);

	if (r)
		fail("topology_torus", r);
	for (unsigned d = 0; d < t.dimensions; d++)
		longest = t.size[d] > longest ? t.size[d] : longest;
	for (unsigned i = 0; i < ARRAY_COUNT(loads); i++) {
		/*
		 * The links of the longest dimension carry an eighth of its
		 * size times the load, at most 1 flit per cycle.
		 */
		if (loads[i] * longest / 8 > 1 ||
			(quick && loads[i] * t.nodes > QUICK_PACKETS_MAX))
			continue;
		struct run run = measure(&t, loads[i], 1);
		print_run(size, &run);
		if (cores == 1)
			continue;
		run = measure(&t, loads[i], cores);
		print_run(size, &run);
	}
	topology_free(&t);
}

static void print_head(void)
{
	int widths[FIELDS_MAX];
	char line[128];

	if (as_json) {
		json_open(&json, stdout);
		json_object_begin(&json);
		json_put_string(&json, "router", "iq4");
		json_put_string(&json, "traffic", "uniform");
		json_put_number(&json, "length", 1);
		json_key(&json, "runs");
		json_array_begin(&json);
		return;
	}
	fields_widths(run_fields, widths);
	fields_line(run_fields, NULL, widths, line, sizeof(line));
	printf("router iq4, uniform traffic, packets of one flit; loads above "
	       "the capacity of the links are omitted\n%s\n",
		line);
}

int main(int argc, char **argv)
{
	/* The largest comes last, so that the peak memory is its own. */
	static const uint32_t sizes[][3] = { { 4, 4, 4 }, { 8, 8, 8 },
		{ 16, 16, 16 }, { 32, 32, 64 } };
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cores = online > 1 ? (unsigned)online : 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0) {
			quick = true;
		} else if (strcmp(argv[i], "--json") == 0) {
			as_json = true;
		} else {
			fprintf(stderr, "usage: speed [--quick] [--json]\n");
			return 2;
		}
	}
	print_head();
	for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++)
		measure_size(sizes[i],
			(unsigned)bits_min(cores, NETWORK_THREADS_MAX));
	if (as_json) {
		json_array_end(&json);
		json_object_end(&json);
		json_close(&json);
	}
	return 0;
}
