/* SPDX-License-Identifier: BSD-2-Clause */
/* `cay sim --check`: finds out whether routes can deadlock. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"

/* ---- all pairs of nodes ---- */

struct check {
	struct sim_options *options;
	struct topology topology;
	struct dependency dependency;
	struct routing *routing;
	uint64_t unreachable; /* pairs of nodes */
};

/* Adds the dependencies of a path one by one, because it may have more legs
 * than a struct route. */
static int path_depend(
	struct check *k, uint32_t from, const struct routing_path *path)
{
	struct sim_walk w;
	struct channel before = { 0 };
	struct route two;
	int r = 0;
	two.count = 2;
	sim_walk_begin(
		&w, &k->topology, &k->options->network.router, from, path);
	for (bool first = true; r == 0 && sim_walk_next(&w); first = false) {
		const struct channel *hop[] = { &before, &w.at };
		for (int i = 0; i < 2; i++)
			two.leg[i] = (struct route_leg){ hop[i]->port,
				hop[i]->group == GROUP_LOW,
				hop[i]->group == GROUP_HIGH };
		if (!first)
			r = dependency_add(&k->dependency, before.node, &two);
		before = w.at;
	}
	return r;
}

static int pair_depend(struct check *k, uint32_t from, uint32_t to)
{
	const struct network_options *n = &k->options->network;
	const struct topology *t = &k->topology;
	struct random random = { 0 };
	struct routing_path path;
	struct route route;
	int r = 0;
	if (t->kind != TOPOLOGY_TORUS || n->rule != ROUTING_DIMENSION_ORDER ||
		n->router.ties != ROUTE_TIES_RANDOM) {
		r = routing_find(k->routing, from, to, &random, &path);
		if (r != -EHOSTUNREACH)
			return r ? r : path_depend(k, from, &path);
		k->unreachable++;
		return 0;
	}
	/* Each packet draws its directions: add all combinations. */
	for (unsigned down = 0; r == 0 && down < 1u << t->dimensions; down++) {
		r = route_dimension_order(
			t, n->router.grouping, down, from, to, &route);
		if (r == 0)
			r = dependency_add(&k->dependency, from, &route);
	}
	return r;
}

static int pairs_depend(struct check *k)
{
	uint32_t nodes = k->topology.nodes;
	int r = 0;
	for (uint32_t from = 0; r == 0 && from < nodes; from++) {
		for (uint32_t to = 0; r == 0 && to < nodes; to++)
			r = pair_depend(k, from, to);
		sim_progress("node %u of %u", from, nodes);
		if (r == 0 && sim_interrupted())
			r = -EINTR;
	}
	sim_progress_end();
	return r;
}

/* ---- dimension order, one dimension at a time ---- */

/*
 * A route in dimension order has at most one leg per dimension, and a leg may
 * be followed by any leg of a higher dimension that begins where it ends. The
 * channels of a leg depend only on its two coordinates in its dimension. So one
 * line of nodes per dimension gives all dependencies, without enumerating all
 * pairs of nodes.
 */

/* Channels that leave a node of the line: 2 * port + group; port 0 is up. */
#define LINE_CHANNELS 4

/* Sets of channels that leave one node of the line, as bits. */
struct line_node {
	uint8_t first, last;	     /* at the begin and the end of a leg */
	uint8_t next[LINE_CHANNELS]; /* by the channel that precedes on a leg */
};

/* Adds a leg from one of its hops on; the hops before have been added. */
static void leg_add(struct line_node *line, uint32_t size, uint32_t from,
	const struct route_leg *leg, uint32_t hop)
{
	uint32_t at = (leg->port ? from + size - hop : from + hop) % size;
	struct line_node *before = NULL;
	unsigned channel = 0, bit = 0;
	for (; hop < leg->low + leg->high; hop++) {
		channel = 2u * leg->port + (hop >= leg->low);
		if (before)
			before->next[bit] |= (uint8_t)(1u << channel);
		else if (hop == 0)
			line[at].first |= (uint8_t)(1u << channel);
		before = &line[at];
		bit = channel;
		at = (at + (leg->port ? size - 1 : 1)) % size;
	}
	if (before)
		before->last |= (uint8_t)(1u << channel);
}

/*
 * Adds all legs from a node of the line. `ties` selects the directions of a leg
 * that is equally long in both: bit 0 is up, bit 1 is down.
 */
static void legs_add(const struct check *k, struct line_node *line,
	uint32_t size, uint32_t from, unsigned ties)
{
	enum route_groups groups = k->options->network.router.grouping;
	bool ring = k->topology.kind == TOPOLOGY_TORUS;
	for (unsigned down = 0; down < 2; down++) {
		uint32_t to_edge = down ? from : size - 1 - from;
		uint32_t to_date_line = down ? from + 1 : size - from;
		uint32_t most = to_edge, low = 0;
		if (ring)
			most = ties >> down & 1 ? size / 2 : (size - 1) / 2;
		for (uint32_t hops = 1; hops <= most; hops++) {
			uint32_t before = low;
			low = ring ? route_low_hops(groups, hops, to_date_line)
				   : hops;
			const struct route_leg leg = { (uint8_t)down, low,
				hops - low };
			/* The previous leg with one more hop, unless the
			 * groups of its hops change. */
			bool longer = hops > 1 && low >= before;
			leg_add(line, size, from, &leg, longer ? hops - 2 : 0);
		}
	}
}

static int lines_open(const struct check *k, unsigned ties,
	struct line_node *line[TOPOLOGY_DIMENSIONS_MAX])
{
	const struct topology *t = &k->topology;
	for (unsigned d = 0; d < t->dimensions; d++) {
		line[d] = calloc(t->size[d], sizeof(*line[d]));
		if (!line[d])
			return -ENOMEM;
		for (uint32_t at = 0; at < t->size[d]; at++) {
			if (sim_interrupted())
				return -EINTR;
			legs_add(k, line[d], t->size[d], at, ties);
			sim_progress("dimension %u, node %u of %u", d, at,
				t->size[d]);
		}
	}
	return 0;
}

/* Adds the dependencies of a channel on the channels `follows`, which is a set
 * of bits 2 * port + group. */
static int channel_depend(struct check *k, uint32_t node, unsigned port,
	unsigned group, uint64_t follows)
{
	struct route two = { .count = 2 };
	int r = 0;
	two.leg[0] = (struct route_leg){ (uint8_t)port, !group, group };
	for (; follows && r == 0; follows &= follows - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(follows),
			 high = bit & 1;
		two.leg[1] =
			(struct route_leg){ (uint8_t)(bit / 2), !high, high };
		r = dependency_add(&k->dependency, node, &two);
	}
	return r;
}

static int node_depend(struct check *k, uint32_t node,
	struct line_node *const line[TOPOLOGY_DIMENSIONS_MAX])
{
	const struct topology *t = &k->topology;
	uint64_t higher = 0; /* first channels of higher dimensions */
	int r = 0;
	for (unsigned d = t->dimensions; d-- > 0 && r == 0;) {
		const struct line_node *p =
			&line[d][topology_coordinate(t, node, d)];
		for (unsigned c = 0; c < LINE_CHANNELS && r == 0; c++) {
			uint64_t follows = (uint64_t)p->next[c]
					   << LINE_CHANNELS * d;
			if (p->last >> c & 1)
				follows |= higher;
			r = channel_depend(
				k, node, 2 * d + c / 2, c & 1, follows);
		}
		higher |= (uint64_t)p->first << LINE_CHANNELS * d;
	}
	return r;
}

static int grid_depend(struct check *k, unsigned ties)
{
	struct line_node *line[TOPOLOGY_DIMENSIONS_MAX] = { 0 };
	int r = lines_open(k, ties, line);
	for (uint32_t node = 0; r == 0 && node < k->topology.nodes; node++)
		r = node_depend(k, node, line);
	for (unsigned d = 0; d < TOPOLOGY_DIMENSIONS_MAX; d++)
		free(line[d]);
	sim_progress_end();
	return r;
}

/* Every leg has one hop, and any leg of a higher dimension may follow. */
static int cube_depend(struct check *k)
{
	const struct topology *t = &k->topology;
	int r = 0;
	for (uint32_t node = 0; r == 0 && node < t->nodes; node++) {
		uint64_t higher = 0;
		for (unsigned d = t->dimensions; d-- > 0 && r == 0;) {
			r = channel_depend(k, node, d, GROUP_LOW, higher);
			higher |= 1ull << (2 * d + GROUP_LOW);
		}
	}
	return r;
}

static int has_cycle(const struct check *k, bool *has)
{
	struct sim_cycle c;
	int r = dependency_cycle(&k->dependency, &c.channel, &c.count);
	*has = c.count > 0;
	free(c.channel);
	return r;
}

/*
 * With ROUTE_TIES_PAIR the pair of nodes selects one direction for all ties of
 * its route. Leaving the tied legs out gives a subset of the dependencies, and
 * adding them in both directions a superset. All pairs need to be enumerated
 * only if the subset has no cycle and the superset has one.
 */
static int torus_depend(struct check *k)
{
	enum route_ties ties = k->options->network.router.ties;
	bool cycle;
	if (ties != ROUTE_TIES_PAIR)
		return grid_depend(k, ties == ROUTE_TIES_UP ? 1 : 3);
	int r = grid_depend(k, 0);
	if (r == 0)
		r = has_cycle(k, &cycle);
	if (r || cycle)
		return r;
	r = grid_depend(k, 3);
	if (r == 0)
		r = has_cycle(k, &cycle);
	if (r || !cycle)
		return r;
	dependency_free(&k->dependency);
	r = dependency_open(&k->dependency, &k->topology);
	return r ? r : pairs_depend(k);
}

static int all_depend(struct check *k)
{
	if (k->options->network.rule == ROUTING_DIMENSION_ORDER) {
		if (k->topology.kind == TOPOLOGY_TORUS)
			return torus_depend(k);
		if (k->topology.kind == TOPOLOGY_MESH)
			return grid_depend(k, 0);
		if (k->topology.kind == TOPOLOGY_HYPERCUBE)
			return cube_depend(k);
	}
	return pairs_depend(k);
}

/* ---- output ---- */

static int check_print(const struct check *k)
{
	uint64_t nodes = k->topology.nodes;
	struct sim_cycle c;
	int r = dependency_cycle(&k->dependency, &c.channel, &c.count);
	if (r)
		return cli_error("sim", "%s", strerror(-r));
	if (k->options->json) {
		struct json j;
		json_open(&j, stdout);
		json_object_begin(&j);
		sim_json_setup(&j, k->options, &k->topology);
		json_put_bool(&j, "deadlock_free", c.count == 0);
		json_put_number(&j, "unreachable_pairs", k->unreachable);
		json_key(&j, "cycle");
		sim_json_cycle(&j, &k->topology, &c);
		json_object_end(&j);
		sim_output_record(json_close(&j));
	} else {
		if (k->unreachable)
			printf("%" PRIu64 " pair%s of nodes %s not connected\n",
				k->unreachable, plural(k->unreachable),
				k->unreachable == 1 ? "is" : "are");
		if (c.count) {
			printf("not free of deadlock. ");
			sim_print_cycle(&k->topology, &c);
		} else {
			printf("free of deadlock: the routes of all %" PRIu64
			       " pairs of nodes form no cycle\n",
				nodes * (nodes - 1) - k->unreachable);
		}
	}
	free(c.channel);
	int status = sim_output_flush();
	return status == CLI_OK && c.count ? CLI_FAILED : status;
}

int sim_check(struct sim_options *c)
{
	struct check k = { .options = c };
	int status = sim_topology_open(c, &k.topology);
	if (status)
		return status;
	sim_progress_begin();
	int r = sim_routing_open(c, &k.topology, &k.routing);
	if (r == 0)
		r = dependency_open(&k.dependency, &k.topology);
	if (r == 0)
		r = all_depend(&k);
	if (r == -EINTR)
		status = SIM_INTERRUPTED;
	else if (r)
		status = cli_error("sim", "routes: %s", strerror(-r));
	else
		status = check_print(&k);
	if (k.dependency.follows)
		dependency_free(&k.dependency);
	if (k.routing)
		routing_close(k.routing);
	topology_free(&k.topology);
	return status;
}
