/* SPDX-License-Identifier: BSD-2-Clause */
/* `cay sim --check`: whether routes can deadlock. See sim.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/sim.h"

/* ---- all pairs of nodes ---- */

struct check {
	struct sim_call *call;
	struct topology topology;
	struct dependency dependency;
	struct routing *space;
	uint64_t unreachable; /* pairs */
};

/* One dependency at a time: a way may have more legs than a route. */
static int way_depend(
	struct check *k, uint32_t from, const struct routing_path *way)
{
	struct sim_walk w;
	struct channel before = { 0 };
	struct route two;
	int r = 0;
	two.count = 2;
	sim_walk_begin(&w, &k->topology, &k->call->network.router, from, way);
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

/* Where each packet draws its direction, all of them must go together. */
static int ties_depend(struct check *k, uint32_t from, uint32_t to)
{
	const struct topology *t = &k->topology;
	const struct router *router = &k->call->network.router;
	struct route route;
	int r = 0;
	for (unsigned down = 0; r == 0 && down < 1u << t->dimensions; down++) {
		r = route_dimension_order(
			t, router->grouping, down, from, to, &route);
		if (r == 0)
			r = dependency_add(&k->dependency, from, &route);
	}
	return r;
}

static int pair_depend(struct check *k, uint32_t from, uint32_t to)
{
	const struct network_options *n = &k->call->network;
	struct random random = { 0 };
	struct routing_path way;
	if (k->topology.kind == TOPOLOGY_TORUS &&
		n->rule == ROUTING_DIMENSION_ORDER &&
		n->router.ties == ROUTE_TIES_RANDOM)
		return ties_depend(k, from, to);
	int r = routing_find(k->space, from, to, &random, &way);
	if (r != -EHOSTUNREACH)
		return r ? r : way_depend(k, from, &way);
	k->unreachable++;
	return 0;
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

/* ---- the same for dimension order, by its dimensions ---- */

/*
 * A route has a leg in some of the dimensions, in their order; any leg may
 * follow any other that ends where it begins. How a leg goes depends only on
 * where in its dimension it begins and ends. So one line of each dimension
 * tells all dependencies, without looking at all pairs of nodes.
 */

/* That leave from a place of a line: bit 2 * port + group; port 0 is up. */
#define LINE_CHANNELS 4

struct place {
	uint8_t first, last;	     /* of some leg */
	uint8_t next[LINE_CHANNELS]; /* on a leg, by the one before */
};

struct direction {
	bool ring, down;
	uint32_t most; /* hops */
};

/* From one of its hops on; what lies before is known. */
static void leg_add(struct place *line, uint32_t size, uint32_t from,
	const struct route_leg *leg, uint32_t hop)
{
	uint32_t at = (leg->port ? from + size - hop : from + hop) % size;
	struct place *before = NULL;
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
 * All legs from a place in one direction. Each is the one before and a hop
 * more, unless the group of the whole changes with it.
 */
static void legs_add(const struct check *k, struct place *line, uint32_t size,
	uint32_t from, struct direction way)
{
	enum route_groups groups = k->call->network.router.grouping;
	uint32_t to_line = way.down ? from + 1 : size - from;
	uint32_t low = 0;
	for (uint32_t hops = 1; hops <= way.most; hops++) {
		uint32_t before = low;
		low = way.ring ? route_low_hops(groups, hops, to_line) : hops;
		const struct route_leg leg = { way.down, low, hops - low };
		bool longer = hops > 1 && low >= before;
		leg_add(line, size, from, &leg, longer ? hops - 2 : 0);
	}
}

/* Where two directions are equally far, those of the bits of `ties`: 1 is up,
 * 2 is down. */
static void place_add(const struct check *k, struct place *line, uint32_t size,
	uint32_t at, unsigned ties)
{
	bool ring = k->topology.kind == TOPOLOGY_TORUS;
	for (unsigned down = 0; down < 2; down++) {
		bool tie = ties >> down & 1;
		uint32_t far = tie ? size / 2 : (size - 1) / 2;
		uint32_t edge = down ? at : size - 1 - at;
		legs_add(k, line, size, at,
			(struct direction){ ring, down, ring ? far : edge });
	}
}

static int lines_open(const struct check *k, unsigned ties,
	struct place *line[TOPOLOGY_DIMENSIONS_MAX])
{
	const struct topology *t = &k->topology;
	for (unsigned d = 0; d < t->dimensions; d++) {
		line[d] = calloc(t->size[d], sizeof(*line[d]));
		if (!line[d])
			return -ENOMEM;
		for (uint32_t at = 0; at < t->size[d]; at++) {
			if (sim_interrupted())
				return -EINTR;
			place_add(k, line[d], t->size[d], at, ties);
			sim_progress("dimension %u, node %u of %u", d, at,
				t->size[d]);
		}
	}
	return 0;
}

/* A channel, and bits 2 * port + group of what follows. */
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
	struct place *const line[TOPOLOGY_DIMENSIONS_MAX])
{
	const struct topology *t = &k->topology;
	uint64_t higher = 0; /* what may follow the leg of a dimension */
	int r = 0;
	for (unsigned d = t->dimensions; d-- > 0 && r == 0;) {
		const struct place *p =
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
	struct place *line[TOPOLOGY_DIMENSIONS_MAX] = { 0 };
	int r = lines_open(k, ties, line);
	for (uint32_t node = 0; r == 0 && node < k->topology.nodes; node++)
		r = node_depend(k, node, line);
	for (unsigned d = 0; d < TOPOLOGY_DIMENSIONS_MAX; d++)
		free(line[d]);
	sim_progress_end();
	return r;
}

/* Every leg is a hop, and any of a higher dimension may follow. */
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
 * If the pair of nodes decides between two directions, they do so for all
 * dimensions at once, and not every leg follows every other. Without such legs
 * all dependencies are real ones, and with all of them none is missing; only
 * what lies between needs a look at all pairs.
 */
static int torus_depend(struct check *k)
{
	enum route_ties ties = k->call->network.router.ties;
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
	if (k->call->network.rule == ROUTING_DIMENSION_ORDER) {
		if (k->topology.kind == TOPOLOGY_TORUS)
			return torus_depend(k);
		if (k->topology.kind == TOPOLOGY_MESH)
			return grid_depend(k, 0);
		if (k->topology.kind == TOPOLOGY_HYPERCUBE)
			return cube_depend(k);
	}
	return pairs_depend(k);
}

/* ---- what is said of it ---- */

static void check_print(const struct check *k, const struct sim_cycle *c)
{
	uint64_t nodes = k->topology.nodes;
	if (k->unreachable)
		printf("%" PRIu64 " pair%s of nodes %s not connected\n",
			k->unreachable, plural(k->unreachable),
			k->unreachable == 1 ? "is" : "are");
	if (c->count == 0) {
		printf("free of deadlock: the routes of all %" PRIu64
		       " pairs of nodes form no cycle\n",
			nodes * (nodes - 1) - k->unreachable);
		return;
	}
	printf("not free of deadlock. ");
	sim_print_cycle(&k->topology, c);
}

static void check_json(const struct check *k, const struct sim_cycle *c)
{
	struct json j;
	json_open(&j, stdout);
	json_object_begin(&j);
	sim_json_setup(&j, k->call, &k->topology);
	json_put_bool(&j, "deadlock_free", c->count == 0);
	json_put_number(&j, "unreachable_pairs", k->unreachable);
	json_key(&j, "cycle");
	sim_json_cycle(&j, &k->topology, c);
	json_object_end(&j);
	sim_output_note(json_close(&j));
}

static int check_show(const struct check *k)
{
	struct sim_cycle c;
	int r = dependency_cycle(&k->dependency, &c.channel, &c.count);
	if (r)
		return cli_error("sim", "%s", strerror(-r));
	if (k->call->json)
		check_json(k, &c);
	else
		check_print(k, &c);
	free(c.channel);
	int status = sim_output_end();
	return status == CLI_OK && c.count ? CLI_FAILED : status;
}

static int check_all(struct check *k)
{
	int r = sim_routing_open(k->call, &k->topology, &k->space);
	if (r == 0)
		r = dependency_open(&k->dependency, &k->topology);
	if (r == 0)
		r = all_depend(k);
	if (r == -EINTR)
		return SIM_INTERRUPTED;
	if (r)
		return cli_error("sim", "routes: %s", strerror(-r));
	return check_show(k);
}

int sim_check(struct sim_call *c)
{
	struct check k = { .call = c };
	int status = sim_topology_open(c, &k.topology);
	if (status)
		return status;
	sim_progress_begin();
	status = check_all(&k);
	if (k.dependency.follows)
		dependency_free(&k.dependency);
	if (k.space)
		routing_close(k.space);
	topology_free(&k.topology);
	return status;
}
