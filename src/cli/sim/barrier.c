/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `cay sim --barriers`: all nodes arrive at a barrier at random times, round
 * after round, in a network without other traffic.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/sim/sim.h"

/* Nodes arrive within SPREAD cycles. */
#define SPREAD	   64
#define STEP	   64
#define CYCLES_MAX 1000000 /* of a round, for a partitioned network */
/* A random stream that no node uses. */
#define STREAM_ARRIVALS (3ull << 40)

struct series {
	uint64_t count, sum, least, most;
	double mean, mean_ns;
	char name[8];
};

struct barrier_run {
	const struct sim_options *options;
	struct network *network;
	uint32_t nodes;
	uint64_t *arrival; /* by node: the last one */
	struct random random;
	/* From the last arrival to the first release, from there to the last
	 * release, and both. */
	struct series collect, release, whole;
	uint64_t messages;
	uint64_t restarts; /* of rounds that a failure has ended */
};

static void series_add(struct series *s, uint64_t value)
{
	s->least = s->count == 0 || value < s->least ? value : s->least;
	s->most = value > s->most ? value : s->most;
	s->sum += value;
	s->mean = (double)s->sum / (double)++s->count;
}

/*
 * A failure has ended the round. A node that had arrived arrives again; one
 * whose arrival was still to come then takes part in the new round.
 */
static int node_restart(
	struct barrier_run *b, const struct network_release *release)
{
	uint64_t *arrival = &b->arrival[release->node];
	if (*arrival > release->time)
		return 0;
	*arrival = network_now(b->network);
	return network_barrier_arrive(b->network, *arrival, release->node, 0);
}

/* Gets the releases of a step. Returns 0, or -errno. */
static int releases_poll(struct barrier_run *b, uint32_t *released,
	uint64_t *first, uint64_t *last)
{
	struct network_release release;
	uint64_t reset = UINT64_MAX; /* time of the last failure */
	int r = 0;
	while (r == 0 && network_barrier_poll(b->network, &release)) {
		if (release.error == -ENETRESET) {
			*released = 0;
			*first = UINT64_MAX;
			b->restarts += release.time != reset;
			reset = release.time;
			r = node_restart(b, &release);
			continue;
		}
		/* A node that is not connected any more does not take part. */
		if (release.error)
			return release.error == -ENOTCONN ? -EHOSTUNREACH
							  : release.error;
		++*released;
		*first = bits_min(release.time, *first);
		*last = release.time > *last ? release.time : *last;
	}
	return r;
}

/* Runs one barrier, from the arrivals to the last release. */
static int round_run(struct barrier_run *b)
{
	uint64_t now = network_now(b->network), end = now + CYCLES_MAX;
	uint64_t arrived = 0, first = UINT64_MAX, last = 0;
	uint32_t released = 0;
	int r = 0;
	for (uint32_t node = 0; node < b->nodes && r == 0; node++) {
		uint64_t time = now + random_below(&b->random, SPREAD);
		b->arrival[node] = time;
		r = network_barrier_arrive(b->network, time, node, 0);
	}
	while (r == 0 && released < b->nodes) {
		if (network_now(b->network) > end)
			return -ETIMEDOUT;
		r = network_run(b->network, network_now(b->network) + STEP);
		if (r == 0)
			r = releases_poll(b, &released, &first, &last);
	}
	if (r)
		return r;
	for (uint32_t node = 0; node < b->nodes; node++)
		if (b->arrival[node] > arrived)
			arrived = b->arrival[node];
	series_add(&b->collect, first - arrived);
	series_add(&b->release, last - first);
	series_add(&b->whole, last - arrived);
	return 0;
}

static int rounds_run(struct barrier_run *b)
{
	struct network_counters counters;
	bool *all = malloc(b->nodes * sizeof(*all));
	b->arrival = malloc(b->nodes * sizeof(*b->arrival));
	if (!all || !b->arrival) {
		free(all);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < b->nodes; i++)
		all[i] = true;
	int r = network_barrier_set(b->network, 0, all);
	free(all);
	for (uint64_t i = 0; r == 0 && i < b->options->barriers; i++) {
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

#define SERIES(member, ...) FIELD(struct series, member, __VA_ARGS__)

static const struct field series_fields[] = {
	SERIES(name, NULL, .kind = FIELD_CHARS, .title = "", .width = -8),
	SERIES(mean, "mean", .kind = FIELD_REAL, .decimals = 4),
	SERIES(mean, NULL, .kind = FIELD_REAL, .decimals = 2, .title = "mean",
		.width = 10),
	SERIES(least, "min", .title = "min", .width = 8),
	SERIES(most, "max", .title = "max", .width = 8),
	SERIES(mean_ns, NULL, .kind = FIELD_REAL, .decimals = 1,
		.title = "mean ns", .width = 12),
	FIELDS_END,
};

static void barriers_print(const struct barrier_run *b)
{
	struct series all[] = { b->collect, b->release, b->whole };
	printf("%" PRIu64 " barrier%s of %u node%s, %" PRIu64
	       " message%s; cycles from the last arrival:\n\n",
		b->whole.count, plural(b->whole.count), b->nodes,
		plural(b->nodes), b->messages, plural(b->messages));
	if (b->restarts)
		printf("warning: a failure has ended %" PRIu64
		       " round%s, which the nodes have repeated\n\n",
			b->restarts, plural(b->restarts));
	for (unsigned i = 0; i < ARRAY_COUNT(all); i++) {
		double ns = sim_cycles_ns(b->options, all[i].mean);
		all[i].mean_ns = ns > 0 ? ns : NAN;
	}
	fields_print(
		stdout, series_fields, all, ARRAY_COUNT(all), sizeof(all[0]));
}

static void barriers_json(const struct barrier_run *b, const struct topology *t)
{
	const struct series *const all[] = { &b->collect, &b->release,
		&b->whole };
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	sim_json_setup(&j, b->options, t);
	json_put_number(&j, "seed", b->options->network.seed);
	json_put_number(&j, "threads", b->options->network.threads);
	json_put_number(&j, "barriers", b->whole.count);
	json_put_number(&j, "messages", b->messages);
	json_put_number(&j, "restarts", b->restarts);
	for (unsigned i = 0; i < ARRAY_COUNT(all); i++) {
		json_key(&j, all[i]->name);
		json_object_begin(&j);
		fields_json(&j, series_fields, all[i]);
		json_object_end(&j);
	}
	json_object_end(&j);
	sim_output_record(json_close(&j));
}

static int barriers_show(
	const struct barrier_run *b, const struct topology *t, int r)
{
	if (r == -EOPNOTSUPP)
		return cli_usage_error("sim",
			"--barriers: needs a topology with one host per node");
	if (r == -ETIMEDOUT || r == -EHOSTUNREACH)
		return cli_error(
			"sim", "barriers: not all nodes can be reached");
	if (r)
		return cli_error("sim", "barriers: %s", strerror(-r));
	if (b->options->json)
		barriers_json(b, t);
	else
		barriers_print(b);
	int status = sim_output_flush();
	return status == CLI_OK && sim_interrupted() ? SIM_INTERRUPTED : status;
}

int sim_barriers(struct sim_options *c)
{
	struct sim_results o;
	struct sim_network n;
	int status = sim_results_open(&o, c);
	if (status)
		return status;
	status = sim_network_open(&n, c, &o.topology);
	if (status == CLI_OK) {
		struct barrier_run b = { .options = c,
			.network = n.network,
			.nodes = o.topology.nodes,
			.collect = { .name = "collect" },
			.release = { .name = "release" },
			.whole = { .name = "whole" },
			.random = random_stream(
				c->network.seed, STREAM_ARRIVALS) };
		sim_progress_begin();
		status = barriers_show(&b, &o.topology, rounds_run(&b));
		free(b.arrival);
		sim_network_close(&n);
	}
	return sim_results_close(&o, status);
}
