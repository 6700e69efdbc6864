/* SPDX-License-Identifier: BSD-2-Clause */
/* See route.h. */
#include "network/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int route_add(
	struct route *r, unsigned port, uint32_t low, uint32_t high)
{
	struct route_leg *last = r->count ? &r->leg[r->count - 1] : NULL;
	/* High hops come behind all low ones of their leg. */
	if (last && last->port == port && (last->high == 0 || low == 0)) {
		last->low += low;
		last->high += high;
		return 0;
	}
	if (r->count == ROUTE_LEGS_MAX)
		return -E2BIG;
	r->leg[r->count++] = (struct route_leg){ (uint8_t)port, low, high };
	return 0;
}

uint32_t route_hops(const struct route *r)
{
	uint32_t hops = 0;
	for (unsigned i = 0; i < r->count; i++)
		hops += r->leg[i].low + r->leg[i].high;
	return hops;
}

uint32_t route_end(
	const struct topology *t, uint32_t from, const struct route *r)
{
	for (unsigned i = 0; i < r->count; i++) {
		uint32_t hops = r->leg[i].low + r->leg[i].high;
		if (r->leg[i].port >= t->ports)
			return TOPOLOGY_NOWHERE;
		for (; hops && from != TOPOLOGY_NOWHERE; hops--)
			from = topology_next(t, from, r->leg[i].port);
		if (from == TOPOLOGY_NOWHERE)
			return from;
	}
	return from;
}

/* ---- dimension order ---- */

/*
 * The date line of a dimension lies behind its last node: the hop that crosses
 * it is the last on the low group.
 */
static void torus_leg(enum route_groups groups, uint32_t size, uint32_t from,
	uint32_t to, unsigned dimension, struct route *r)
{
	uint32_t up = (to + size - from) % size, down = size - up;
	bool rises = up <= down;
	uint32_t hops = rises ? up : down;
	uint32_t to_line = rises ? size - from : from + 1;
	uint32_t low = groups == ROUTE_GROUPS_DATED && hops > to_line ? to_line
								      : hops;
	if (up)
		route_add(r, 2 * dimension + !rises, low, hops - low);
}

static void mesh_leg(
	uint32_t from, uint32_t to, unsigned dimension, struct route *r)
{
	if (to > from)
		route_add(r, 2 * dimension, to - from, 0);
	else if (to < from)
		route_add(r, 2 * dimension + 1, from - to, 0);
}

static void grid_route(const struct topology *t, enum route_groups groups,
	uint32_t from, uint32_t to, struct route *r)
{
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t a = topology_coordinate(t, from, d);
		uint32_t b = topology_coordinate(t, to, d);
		if (t->kind == TOPOLOGY_MESH)
			mesh_leg(a, b, d, r);
		else
			torus_leg(groups, t->size[d], a, b, d, r);
	}
}

int route_dimension_order(const struct topology *t, enum route_groups groups,
	uint32_t from, uint32_t to, struct route *r)
{
	r->count = 0;
	if (from >= t->nodes || to >= t->nodes)
		return -EINVAL;
	switch (t->kind) {
	case TOPOLOGY_MESH:
	case TOPOLOGY_TORUS:
		grid_route(t, groups, from, to, r);
		return 0;
	case TOPOLOGY_HYPERCUBE:
		for (unsigned d = 0; d < t->dimensions; d++)
			if ((from ^ to) >> d & 1)
				route_add(r, d, 1, 0);
		return 0;
	case TOPOLOGY_FULL:
		if (from != to)
			route_add(r, to > from ? to - 1 : to, 1, 0);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/* ---- up and down ---- */

int route_tree_open(struct route_tree *tree, const struct topology *t)
{
	uint32_t *queue = malloc(t->nodes * sizeof(*queue));
	uint32_t first = 0, last = 0;
	tree->level = malloc(t->nodes * sizeof(*tree->level));
	if (!queue || !tree->level) {
		free(queue);
		route_tree_free(tree);
		return -ENOMEM;
	}
	memset(tree->level, 0xff, t->nodes * sizeof(*tree->level));
	tree->level[0] = 0;
	queue[last++] = 0;
	while (first < last) {
		uint32_t node = queue[first++];
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next == TOPOLOGY_NOWHERE ||
				tree->level[next] != UINT32_MAX)
				continue;
			tree->level[next] = tree->level[node] + 1;
			queue[last++] = next;
		}
	}
	free(queue);
	if (last == t->nodes)
		return 0;
	route_tree_free(tree);
	return -EHOSTUNREACH;
}

void route_tree_free(struct route_tree *tree)
{
	free(tree->level);
	tree->level = NULL;
}

/* Closer to the root; of two at the same level, the smaller number. */
static bool goes_up(const struct route_tree *tree, uint32_t from, uint32_t to)
{
	uint32_t a = tree->level[from], b = tree->level[to];
	return b < a || (b == a && to < from);
}

/* A breadth-first search over nodes that one has reached going up, or down. */
struct search {
	uint32_t *from;	 /* by state: the state before; UINT32_MAX: not seen */
	uint8_t *port;	 /* by which one came */
	uint32_t *queue; /* of states */
	uint32_t first, last;
};

#define STATE(node, down) (2 * (node) + (down))

static void search_free(struct search *s)
{
	free(s->from);
	free(s->port);
	free(s->queue);
}

static int search_open(struct search *s, uint32_t nodes, uint32_t start)
{
	uint64_t states = 2ull * nodes;
	*s = (struct search){ .from = malloc(states * sizeof(*s->from)),
		.port = malloc(states),
		.queue = malloc(states * sizeof(*s->queue)) };
	if (!s->from || !s->port || !s->queue) {
		search_free(s);
		return -ENOMEM;
	}
	memset(s->from, 0xff, states * sizeof(*s->from));
	s->from[STATE(start, 0)] = STATE(start, 0);
	s->queue[s->last++] = STATE(start, 0);
	return 0;
}

static void search_visit(
	struct search *s, uint32_t state, uint32_t before, unsigned port)
{
	if (s->from[state] != UINT32_MAX)
		return;
	s->from[state] = before;
	s->port[state] = (uint8_t)port;
	s->queue[s->last++] = state;
}

static void search_spread(struct search *s, const struct topology *t,
	const struct route_tree *tree, uint32_t state)
{
	uint32_t node = state / 2, down = state & 1;
	for (unsigned p = 0; p < t->ports; p++) {
		uint32_t next = topology_next(t, node, p);
		if (next == TOPOLOGY_NOWHERE)
			continue;
		bool up = goes_up(tree, node, next);
		if (up && down)
			continue;
		search_visit(s, STATE(next, !up), state, p);
	}
}

/* The ports from the end to the start, turned round. */
static int search_route(
	const struct search *s, uint32_t start, uint32_t state, struct route *r)
{
	uint8_t ports[ROUTE_LEGS_MAX * 4];
	unsigned n = 0;
	int e = 0;
	while (state != STATE(start, 0)) {
		if (n == sizeof(ports))
			return -E2BIG;
		ports[n++] = s->port[state];
		state = s->from[state];
	}
	while (n && e == 0)
		e = route_add(r, ports[--n], 1, 0);
	return e;
}

int route_up_down(const struct topology *t, const struct route_tree *tree,
	uint32_t from, uint32_t to, struct route *r)
{
	struct search s;
	r->count = 0;
	if (from >= t->nodes || to >= t->nodes)
		return -EINVAL;
	int e = search_open(&s, t->nodes, from);
	if (e)
		return e;
	e = -EHOSTUNREACH;
	while (s.first < s.last && e == -EHOSTUNREACH) {
		uint32_t state = s.queue[s.first++];
		if (state / 2 == to)
			e = search_route(&s, from, state, r);
		else
			search_spread(&s, t, tree, state);
	}
	search_free(&s);
	return e;
}
