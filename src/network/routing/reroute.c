/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ways around what is dead, where dimension order is the rule. If the way to a
 * node is cut, a packet goes to some other node first, whose host sends it on:
 * both parts are ways of dimension order, and a host takes whatever comes, so
 * nothing new can deadlock, and nothing has to be remembered for pairs of
 * nodes.
 *
 * The first choice is a neighbour, then any node; from these the way must be
 * whole. Where that does not help, the packet goes a hop along a shortest path
 * of living links, and is a hop closer.
 */
#include <errno.h>
#include <stdlib.h>

#include "network/engine/parts.h"

#define TRIES 32 /* other nodes that are looked at */

static bool way_alive(
	const struct topology *t, uint32_t node, const struct space_way *w)
{
	const uint32_t *leg = space_way_legs(w);
	for (unsigned i = 0; i < w->count; i++)
		for (uint32_t h = space_leg_hops(leg[i]); h; h--) {
			node = topology_next(t, node, space_leg_port(leg[i]));
			if (node == TOPOLOGY_NOWHERE)
				return false;
		}
	return true;
}

struct around {
	const struct network *n;
	struct random *random;
	uint32_t from, to;
	struct space_way *way;
};

static bool whole(
	const struct around *a, uint32_t from, uint32_t to, struct space_way *w)
{
	return space_find(a->n->space, from, to, a->random, w) == 0 &&
	       way_alive(a->n->topology, from, w);
}

/* From here to another node, and from there on. */
static bool by_node(const struct around *a, uint32_t other)
{
	struct space_way rest;
	if (other == a->from || other == TOPOLOGY_NOWHERE)
		return false;
	return whole(a, other, a->to, &rest) &&
	       whole(a, a->from, other, a->way);
}

/* The same pair always begins with the same, other pairs with others. */
static uint32_t mixed(const struct around *a, unsigned i)
{
	struct random r = { (uint64_t)a->from << 32 | a->to };
	r.state += i;
	return (uint32_t)(random_next(&r) >> 32);
}

static bool by_some_node(const struct around *a)
{
	const struct topology *t = a->n->topology;
	uint32_t first = mixed(a, 0);
	for (unsigned i = 0; i < t->ports; i++)
		if (by_node(a,
			    topology_next(t, a->from, (first + i) % t->ports)))
			return true;
	for (unsigned i = 1; i <= TRIES; i++)
		if (by_node(a, mixed(a, i) % t->nodes))
			return true;
	return false;
}

/* ---- step by step ---- */

struct search {
	uint32_t *queue;
	uint8_t *seen;
	uint32_t first, last;
};

/* From the end backwards; true: `from` has been reached from this node. */
static bool search_step(struct search *s, const struct around *a, uint32_t node)
{
	const struct topology *t = a->n->topology;
	for (unsigned p = 0; p < t->ports; p++) {
		uint32_t next = topology_next(t, node, p);
		if (next == a->from)
			return true;
		if (next == TOPOLOGY_NOWHERE || s->seen[next])
			continue;
		s->seen[next] = 1;
		s->queue[s->last++] = next;
	}
	return false;
}

/* The neighbour that is closest to the end, or TOPOLOGY_NOWHERE. */
static uint32_t search_run(struct search *s, const struct around *a)
{
	s->seen[a->to] = 1;
	s->queue[s->last++] = a->to;
	while (s->first < s->last) {
		uint32_t node = s->queue[s->first++];
		if (search_step(s, a, node))
			return node;
	}
	return TOPOLOGY_NOWHERE;
}

static int hop_to(const struct around *a, uint32_t next)
{
	const struct topology *t = a->n->topology;
	unsigned p = 0;
	if (next == TOPOLOGY_NOWHERE)
		return -EHOSTUNREACH;
	while (topology_next(t, a->from, p) != next)
		p++;
	*a->way =
		(struct space_way){ .count = 1, .leg = { space_leg(p, 1, 0) } };
	return 0;
}

static int by_hop(const struct around *a)
{
	uint32_t nodes = a->n->nodes;
	struct search s = { .queue = malloc(nodes * sizeof(*s.queue)),
		.seen = calloc(nodes, 1) };
	int r = -ENOMEM;
	if (s.queue && s.seen)
		r = hop_to(a, search_run(&s, a));
	free(s.queue);
	free(s.seen);
	return r;
}

static bool isolated(const struct topology *t, uint32_t node)
{
	for (unsigned p = 0; p < t->ports; p++)
		if (topology_next(t, node, p) != TOPOLOGY_NOWHERE)
			return false;
	return true;
}

int around_find(
	struct network *n, uint32_t from, uint32_t to, struct space_way *way)
{
	const struct around a = { .n = n,
		.random = &n->node[from].random,
		.from = from,
		.to = to,
		.way = way };
	if (whole(&a, from, to, way))
		return 0;
	if (isolated(n->topology, from) || isolated(n->topology, to))
		return -EHOSTUNREACH;
	return by_some_node(&a) ? 0 : by_hop(&a);
}

/* ---- is it needed? ---- */

/* How many ends of links a whole topology has; 0: there is no such number. */
static uint64_t ends_whole(const struct topology *t)
{
	uint64_t ends = (uint64_t)t->nodes * t->ports;
	if (t->kind == TOPOLOGY_GRAPH)
		return 0;
	for (unsigned d = 0; t->kind == TOPOLOGY_MESH && d < t->dimensions; d++)
		ends -= 2ull * t->nodes / t->size[d];
	return ends;
}

bool around_needed(const struct network *n)
{
	const struct topology *t = n->topology;
	uint64_t ends = 0;
	if (n->options.rule != SPACE_DIMENSION_ORDER)
		return false;
	for (uint64_t i = 0; i < (uint64_t)t->nodes * t->ports; i++)
		ends += t->neighbour[i] != TOPOLOGY_NOWHERE;
	return ends != ends_whole(t);
}
