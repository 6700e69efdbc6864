/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast the network simulates: flits over links and nodes times cycles in a
 * second of the clock, for tori of several sizes under uniform traffic of one
 * flit, with the router iq4, on one thread and on as many as there are cores.
 *
 * usage: speed [--quick] [--json]
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "network/traffic/load.h"

#define CYCLES_A_HOP 6
#define CHUNK	     10	  /* cycles between two looks at the clock */
#define QUICK_MOST   2000 /* packets a cycle of all nodes, with --quick */

struct figures {
	double load;
	unsigned threads;
	double hops_per_s, node_cycles_per_s;
	double seconds;
	long resident_kib; /* at most, so far */
};

static const uint32_t sizes[][3] = { { 4, 4, 4 }, { 8, 8, 8 }, { 16, 16, 16 },
	{ 32, 32, 64 } };
static const double loads[] = { 0.01, 0.05, 0.1, 0.3 };

static bool quick, json;

static _Noreturn void fail(const char *what, int error)
{
	fprintf(stderr, "speed: %s: %s\n", what, strerror(-error));
	exit(1);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long resident_kib(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* ---- one network ---- */

static struct network *network_loaded(
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

static void network_goes(struct network *n, uint64_t cycles)
{
	int r = network_run(n, network_now(n) + cycles);
	if (r)
		fail("network_run", r);
}

/* Longer than the farthest packet goes, and until memory has been touched. */
static uint64_t warm_up(const struct topology *t)
{
	uint64_t hops = 0;
	for (unsigned d = 0; d < t->dimensions; d++)
		hops += t->size[d] / 2;
	return 300 + CYCLES_A_HOP * hops;
}

static struct figures measure(struct topology *t, double load, unsigned threads)
{
	struct network *n = network_loaded(t, load, threads);
	struct network_counters before, after;
	double enough = quick ? 0.05 : 1, took = 0;
	network_goes(n, warm_up(t));
	network_count(n, &before);
	uint64_t from = network_now(n);
	double begun = now_s();
	while (took < enough) {
		network_goes(n, CHUNK);
		took = now_s() - begun;
	}
	network_count(n, &after);
	double cycles = (double)(network_now(n) - from);
	double hops = (double)(after.flit_hops - before.flit_hops);
	network_close(n);
	return (struct figures){ .load = load,
		.threads = threads,
		.hops_per_s = hops / took,
		.node_cycles_per_s = cycles * t->nodes / took,
		.seconds = took,
		.resident_kib = resident_kib() };
}

/* ---- all of them ---- */

static void figures_print(const uint32_t *size, const struct figures *f)
{
	static bool more;
	if (json) {
		printf("%s\n  {\"dims\": [%u, %u, %u], \"load\": %g, "
		       "\"threads\": %u, \"flit_hops_per_s\": %.0f, "
		       "\"node_cycles_per_s\": %.0f, \"seconds\": %.3f, "
		       "\"resident_kib\": %ld}",
			more ? "," : "", size[0], size[1], size[2], f->load,
			f->threads, f->hops_per_s, f->node_cycles_per_s,
			f->seconds, f->resident_kib);
	} else {
		printf("%2ux%2ux%2u  %5.2f  %7u  %13.2f  %14.2f  %8.0f\n",
			size[0], size[1], size[2], f->load, f->threads,
			f->hops_per_s / 1e6, f->node_cycles_per_s / 1e6,
			(double)f->resident_kib / 1024);
	}
	more = true;
	fflush(stdout);
}

/*
 * An eighth of the longest side is what a node sends over each of its links
 * there: no more than one.
 */
static bool worth_measuring(const struct topology *t, double load)
{
	uint32_t longest = 0;
	for (unsigned d = 0; d < t->dimensions; d++)
		longest = t->size[d] > longest ? t->size[d] : longest;
	return load * longest / 8 <= 1 &&
	       (!quick || load * t->nodes <= QUICK_MOST);
}

static void size_measure(const uint32_t *size, unsigned cores)
{
	struct topology t;
	int r = topology_torus(&t, size, 3);
	if (r)
		fail("topology_torus", r);
	for (unsigned i = 0; i < ARRAY_COUNT(loads); i++) {
		if (!worth_measuring(&t, loads[i]))
			continue;
		struct figures f = measure(&t, loads[i], 1);
		figures_print(size, &f);
		if (cores == 1)
			continue;
		f = measure(&t, loads[i], cores);
		figures_print(size, &f);
	}
	topology_free(&t);
}

static void head_print(void)
{
	if (json)
		printf("{\"router\": \"iq4\", \"traffic\": \"uniform\", "
		       "\"length\": 1, \"runs\": [");
	else
		printf("router iq4, uniform traffic, packets of one flit; "
		       "loads beyond what the links can carry are left out\n"
		       "   torus   load  threads  Mflit-hops/s  "
		       "Mnode-cycles/s  MiB most\n");
}

static void options_read(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0) {
			quick = true;
		} else if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else {
			fprintf(stderr, "usage: speed [--quick] [--json]\n");
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	options_read(argc, argv);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cores = online > 1 ? (unsigned)online : 1;
	if (cores > NETWORK_THREADS_MAX)
		cores = NETWORK_THREADS_MAX;
	head_print();
	/* The largest comes last, so that the memory at the end is its own. */
	for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++)
		size_measure(sizes[i], cores);
	if (json)
		printf("\n]}\n");
	return 0;
}
