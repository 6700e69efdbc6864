/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `cay sim --barriers`: all nodes arrive at a barrier, each at a random time,
 * again and again, in a network that carries nothing else. See sim.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"

/* Nodes arrive within so many cycles. */
#define SPREAD	   64
#define STEP	   64
#define CYCLES_MAX 1000000 /* of a round, for trees that are cut */
/* A stream of random numbers that no node has. */
#define STREAM_ARRIVALS (3ull << 40)

struct series {
	uint64_t count, sum, least, most;
};

struct barrier_run {
	const struct sim_call *call;
	struct network *network;
	uint32_t nodes;
	struct random random;
	/* From the last arrival to the first release, from there to the last,
	 * and the two together. */
	struct series collect, release, whole;
	uint64_t messages;
};

static void series_add(struct series *s, uint64_t value)
{
	s->least = s->count == 0 || value < s->least ? value : s->least;
	s->most = value > s->most ? value : s->most;
	s->sum += value;
	s->count++;
}

static double series_mean(const struct series *s)
{
	return s->count ? (double)s->sum / (double)s->count : 0;
}

/* ---- a round ---- */

static int round_arrive(struct barrier_run *b, uint64_t *last)
{
	uint64_t now = network_now(b->network);
	int r = 0;
	*last = 0;
	for (uint32_t node = 0; node < b->nodes && r == 0; node++) {
		uint64_t time = now + random_below(&b->random, SPREAD);
		*last = time > *last ? time : *last;
		r = network_barrier_arrive(b->network, time, node, 0);
	}
	return r;
}

/* Lets it run until all are released. */
static int round_wait(struct barrier_run *b, uint64_t *first, uint64_t *last)
{
	uint64_t end = network_now(b->network) + CYCLES_MAX;
	struct network_release release;
	uint32_t released = 0;
	*first = UINT64_MAX;
	*last = 0;
	while (released < b->nodes) {
		if (network_now(b->network) > end)
			return -ETIMEDOUT;
		int r = network_run(b->network, network_now(b->network) + STEP);
		if (r)
			return r;
		while (network_barrier_poll(b->network, &release)) {
			released++;
			if (release.time < *first)
				*first = release.time;
			if (release.time > *last)
				*last = release.time;
		}
	}
	return 0;
}

static int round_run(struct barrier_run *b)
{
	uint64_t arrived, first, last;
	int r = round_arrive(b, &arrived);
	if (r == 0)
		r = round_wait(b, &first, &last);
	if (r)
		return r;
	series_add(&b->collect, first - arrived);
	series_add(&b->release, last - first);
	series_add(&b->whole, last - arrived);
	return 0;
}

static int everybody_set(struct barrier_run *b)
{
	bool *all = malloc(b->nodes * sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->nodes; i++)
		all[i] = true;
	int r = network_barrier_set(b->network, 0, all);
	free(all);
	return r;
}

static int rounds_run(struct barrier_run *b)
{
	struct network_counters counters;
	int r = everybody_set(b);
	for (uint64_t i = 0; r == 0 && i < b->call->barriers; i++) {
		r = round_run(b);
		sim_progress("barrier %" PRIu64, i);
		if (sim_interrupted())
			break;
	}
	sim_progress_end();
	network_count(b->network, &counters);
	b->messages = counters.barrier_messages;
	return r;
}

/* ---- output ---- */

static void series_print(
	const struct sim_call *c, const char *name, const struct series *s)
{
	double ns = sim_cycles_ns(c, series_mean(s));
	printf("  %-8s %10.2f %8" PRIu64 " %8" PRIu64, name, series_mean(s),
		s->least, s->most);
	if (ns > 0)
		printf(" %12.1f", ns);
	printf("\n");
}

static void barriers_print(const struct barrier_run *b)
{
	bool clock = b->call->network.router.clock_mhz > 0;
	printf("%" PRIu64 " barrier%s of %u node%s, %" PRIu64
	       " message%s; cycles from the last arrival:\n\n",
		b->whole.count, plural(b->whole.count), b->nodes,
		plural(b->nodes), b->messages, plural(b->messages));
	printf("  %-8s %10s %8s %8s %12s\n", "", "mean", "least", "most",
		clock ? "mean ns" : "");
	series_print(b->call, "collect", &b->collect);
	series_print(b->call, "release", &b->release);
	series_print(b->call, "whole", &b->whole);
}

static void series_json(struct json *j, const char *key, const struct series *s)
{
	json_key(j, key);
	json_object_begin(j);
	json_put_fixed(j, "mean", series_mean(s), 4);
	json_put_number(j, "min", s->least);
	json_put_number(j, "max", s->most);
	json_object_end(j);
}

static void barriers_json(const struct barrier_run *b, const struct topology *t)
{
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	sim_json_setup(&j, b->call, t);
	json_put_number(&j, "seed", b->call->network.seed);
	json_put_number(&j, "threads", b->call->network.threads);
	json_put_number(&j, "barriers", b->whole.count);
	json_put_number(&j, "messages", b->messages);
	series_json(&j, "collect", &b->collect);
	series_json(&j, "release", &b->release);
	series_json(&j, "whole", &b->whole);
	json_object_end(&j);
	sim_output_note(json_close(&j));
}

static int barriers_show(
	const struct barrier_run *b, const struct topology *t, int r)
{
	if (r == -ETIMEDOUT || r == -EHOSTUNREACH)
		return cli_error(
			"sim", "barriers: not all nodes can be reached");
	if (r)
		return cli_error("sim", "barriers: %s", strerror(-r));
	if (b->call->json)
		barriers_json(b, t);
	else
		barriers_print(b);
	int status = sim_output_end();
	return status == CLI_OK && sim_interrupted() ? SIM_INTERRUPTED : status;
}

int sim_barriers(struct sim_call *c)
{
	struct sim_outcome o;
	struct sim_network n;
	int status = sim_outcome_open(&o, c);
	if (status)
		return status;
	status = sim_network_open(&n, c, &o.topology);
	if (status == CLI_OK) {
		struct barrier_run b = { .call = c,
			.network = n.network,
			.nodes = o.topology.nodes,
			.random = random_stream(
				c->network.seed, STREAM_ARRIVALS) };
		sim_progress_begin();
		status = barriers_show(&b, &o.topology, rounds_run(&b));
		sim_network_close(&n);
	}
	return sim_outcome_end(&o, status);
}
