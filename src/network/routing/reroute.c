/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes around failures for routing functions whose paths do not change. A
 * packet whose route is cut goes to an intermediate node first, whose host
 * sends it on. Both parts are paths of the routing function and a host accepts
 * all packets, so no new channel dependency arises, and no table of node pairs
 * is needed.
 *
 * The intermediate node is a neighbour, or else any node, from which the route
 * is intact. If none is found, the packet goes one hop along a shortest path of
 * working links, and is one hop closer.
 */
#include <errno.h>
#include <stdlib.h>

#include "network/engine/parts.h"
#include "network/routing/class.h"

#define TRIES 32 /* other nodes that are considered */

struct reroute {
	const struct network *n;
	struct random *random;
	uint32_t from, to;
	struct routing_path *path;
};

/* Finds a path. Returns false if it is cut. */
static bool find_intact(const struct reroute *a, uint32_t from, uint32_t to,
	struct routing_path *path)
{
	if (routing_find(a->n->routing, from, to, a->random, path))
		return false;
	const uint32_t *leg = routing_path_legs(path);
	for (unsigned i = 0; i < path->count; i++)
		for (uint32_t h = routing_leg_hops(leg[i]); h; h--) {
			from = topology_next(
				a->n->topology, from, routing_leg_port(leg[i]));
			if (from == TOPOLOGY_NOWHERE)
				return false;
		}
	return true;
}

/* Tries an intermediate node. */
static bool find_via(const struct reroute *a, uint32_t node)
{
	struct routing_path rest;
	if (node == a->from || node == TOPOLOGY_NOWHERE ||
		topology_host_count(a->n->topology, node) == 0)
		return false;
	return find_intact(a, node, a->to, &rest) &&
	       find_intact(a, a->from, node, a->path);
}

/* A number that depends on the pair of nodes and on i. */
static uint32_t pair_hash(const struct reroute *a, unsigned i)
{
	struct random r = { (uint64_t)a->from << 32 | a->to };
	r.state += i;
	return (uint32_t)(random_next(&r) >> 32);
}

/*
 * The neighbour of `from` that is closest to `to`, by a breadth-first search
 * that starts at `to`; or TOPOLOGY_NOWHERE.
 */
static uint32_t closest_neighbour(
	const struct reroute *a, uint32_t *queue, uint8_t *seen)
{
	const struct topology *t = a->n->topology;
	uint32_t first = 0, last = 0;
	seen[a->to] = 1;
	queue[last++] = a->to;
	while (first < last) {
		uint32_t node = queue[first++];
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next == a->from)
				return node;
			if (next == TOPOLOGY_NOWHERE || seen[next])
				continue;
			seen[next] = 1;
			queue[last++] = next;
		}
	}
	return TOPOLOGY_NOWHERE;
}

/* One hop along a shortest path of working links. */
static int find_hop(const struct reroute *a)
{
	const struct topology *t = a->n->topology;
	uint32_t *queue = malloc(t->nodes * sizeof(*queue));
	uint8_t *seen = calloc(t->nodes, 1);
	int r = -ENOMEM;
	if (queue && seen) {
		uint32_t next = closest_neighbour(a, queue, seen);
		unsigned p = 0;
		r = next == TOPOLOGY_NOWHERE ? -EHOSTUNREACH : 0;
		while (r == 0 && topology_next(t, a->from, p) != next)
			p++;
		*a->path = (struct routing_path){ .count = 1,
			.leg = { routing_leg(p, 1, 0) } };
	}
	free(queue);
	free(seen);
	return r;
}

static bool isolated(const struct topology *t, uint32_t node)
{
	for (unsigned p = 0; p < t->ports; p++)
		if (topology_next(t, node, p) != TOPOLOGY_NOWHERE)
			return false;
	return true;
}

int reroute_find(struct network *n, uint32_t from, uint32_t to,
	struct routing_path *path)
{
	const struct topology *t = n->topology;
	const struct reroute a = { .n = n,
		.random = &n->node[from].random,
		.from = from,
		.to = to,
		.path = path };
	if (find_intact(&a, from, to, path))
		return 0;
	if (isolated(t, from) || isolated(t, to))
		return -EHOSTUNREACH;
	uint32_t first = pair_hash(&a, 0);
	for (unsigned i = 0; i < t->ports; i++)
		if (find_via(
			    &a, topology_next(t, from, (first + i) % t->ports)))
			return 0;
	for (unsigned i = 1; i <= TRIES; i++)
		if (find_via(&a, pair_hash(&a, i) % t->nodes))
			return 0;
	return find_hop(&a);
}

bool reroute_needed(const struct network *n)
{
	const struct topology *t = n->topology;
	uint64_t ports = (uint64_t)t->nodes * t->ports, ends = 0;
	if (routing_class_of(n->routing)->rebuild)
		return false;
	for (uint64_t i = 0; i < ports; i++)
		ends += t->neighbour[i] != TOPOLOGY_NOWHERE;
	return ends != 2 * t->links;
}
