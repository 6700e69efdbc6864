/* SPDX-License-Identifier: BSD-2-Clause */
/* See route.h. */
#include "network/routing/route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "network/topology/class.h"

static int route_add(
	struct route *r, unsigned port, uint32_t low, uint32_t high)
{
	struct route_leg *last = r->count ? &r->leg[r->count - 1] : NULL;
	/* The high hops of a leg follow its low hops. */
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

unsigned route_pair_ties(uint32_t from, uint32_t to)
{
	uint64_t mixed = ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15ull;
	return route_ties_of(mixed);
}

int route_dimension_order(const struct topology *t, enum route_groups groups,
	unsigned down, uint32_t from, uint32_t to, struct route *r)
{
	r->count = 0;
	if (from >= t->nodes || to >= t->nodes)
		return -EINVAL;
	if (!t->class->step)
		return -EOPNOTSUPP;
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t size = t->size[d], a = from % size, b = to % size;
		struct topology_step step =
			t->class->step(t, d, down >> d & 1, a, b);
		uint32_t low =
			route_low_hops(groups, step.hops, step.to_dateline);
		if (a != b)
			route_add(r, step.port, low, step.hops - low);
		from /= size;
		to /= size;
	}
	return 0;
}

/* ---- up/down ---- */

/* Sets the levels of the nodes that a root reaches. Returns their number. */
static uint32_t tree_grow(struct route_tree *tree, const struct topology *t,
	uint32_t root, uint32_t *queue)
{
	uint32_t first = 0, last = 0;
	tree->level[root] = 0;
	queue[last++] = root;
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
	return last;
}

/* Sets *first to the number of nodes in the tree of node 0. */
static int forest_grow(
	struct route_tree *tree, const struct topology *t, uint32_t *first)
{
	uint32_t *queue = malloc(t->nodes * sizeof(*queue));
	tree->level = malloc(t->nodes * sizeof(*tree->level));
	if (!queue || !tree->level) {
		free(queue);
		route_tree_free(tree);
		return -ENOMEM;
	}
	memset(tree->level, 0xff, t->nodes * sizeof(*tree->level));
	*first = tree_grow(tree, t, 0, queue);
	for (uint32_t node = 1; node < t->nodes; node++)
		if (tree->level[node] == UINT32_MAX)
			tree_grow(tree, t, node, queue);
	free(queue);
	return 0;
}

int route_forest_open(struct route_tree *tree, const struct topology *t)
{
	uint32_t first;
	return forest_grow(tree, t, &first);
}

int route_tree_open(struct route_tree *tree, const struct topology *t)
{
	uint32_t first;
	int e = forest_grow(tree, t, &first);
	if (e || first == t->nodes)
		return e;
	route_tree_free(tree);
	return -EHOSTUNREACH;
}

void route_tree_free(struct route_tree *tree)
{
	free(tree->level);
	tree->level = NULL;
}

/* Up is towards the root; at the same level, to the lower node number. */
static bool goes_up(const struct route_tree *tree, uint32_t from, uint32_t to)
{
	uint32_t a = tree->level[from], b = tree->level[to];
	return b < a || (b == a && to < from);
}

/*
 * A breadth-first search over states: a node, and whether the last hop to it
 * was up or down. A state stores the leg that leads to it, not only the last
 * hop, so that the cost of a route depends on its legs and not on its hops.
 */
struct up_down_search {
	uint32_t *start; /* by state: where its leg begins; or UINT32_MAX */
	uint32_t *hops;	 /* by state: of that leg; 0 at the origin */
	uint8_t *port;	 /* by state: of that leg */
	uint32_t *best;	 /* by node: the state that was found first */
	uint32_t *queue; /* of states */
	uint32_t first, last;
};

#define STATE(node, down) (2 * (node) + (down))

static void search_free(struct up_down_search *s)
{
	free(s->start);
	free(s->hops);
	free(s->port);
	free(s->best);
	free(s->queue);
}

static int search_open(struct up_down_search *s, uint32_t nodes, uint32_t from)
{
	uint64_t states = 2ull * nodes;
	*s = (struct up_down_search){ .start = malloc(
					      states * sizeof(*s->start)),
		.hops = malloc(states * sizeof(*s->hops)),
		.port = malloc(states),
		.best = malloc(nodes * sizeof(*s->best)),
		.queue = malloc(states * sizeof(*s->queue)) };
	if (!s->start || !s->hops || !s->port || !s->best || !s->queue) {
		search_free(s);
		return -ENOMEM;
	}
	memset(s->start, 0xff, states * sizeof(*s->start));
	memset(s->best, 0xff, nodes * sizeof(*s->best));
	uint32_t origin = STATE(from, 0);
	s->start[origin] = origin;
	s->hops[origin] = 0;
	s->best[from] = origin;
	s->queue[s->last++] = origin;
	return 0;
}

/* Adds the neighbours of a state to the queue. */
static void search_expand(struct up_down_search *s, const struct topology *t,
	const struct route_tree *tree, uint32_t state)
{
	uint32_t node = state / 2, down = state & 1;
	for (unsigned p = 0; p < t->ports; p++) {
		uint32_t next = topology_next(t, node, p);
		if (next == TOPOLOGY_NOWHERE)
			continue;
		bool up = goes_up(tree, node, next);
		uint32_t to = STATE(next, !up);
		if ((up && down) || s->start[to] != UINT32_MAX)
			continue;
		bool same_leg = s->hops[state] && s->port[state] == p;
		s->start[to] = same_leg ? s->start[state] : state;
		s->hops[to] = same_leg ? s->hops[state] + 1 : 1;
		s->port[to] = (uint8_t)p;
		if (s->best[next] == UINT32_MAX)
			s->best[next] = to;
		s->queue[s->last++] = to;
	}
}

/* Writes the legs to a node before `end`. Returns their number, or -errno. */
static int search_legs(const struct up_down_search *s, uint32_t to, int most,
	struct route_leg *end)
{
	uint32_t state = s->best[to];
	int n = 0;
	if (state == UINT32_MAX)
		return -EHOSTUNREACH;
	for (; s->hops[state]; state = s->start[state]) {
		if (n++ == most)
			return -E2BIG;
		*--end =
			(struct route_leg){ s->port[state], s->hops[state], 0 };
	}
	return n;
}

int route_up_down(const struct topology *t, const struct route_tree *tree,
	uint32_t from, uint32_t to, struct route *r)
{
	struct route_leg legs[ROUTE_LEGS_MAX], *end = legs + ROUTE_LEGS_MAX;
	struct up_down_search s;
	r->count = 0;
	if (from >= t->nodes || to >= t->nodes)
		return -EINVAL;
	int e = search_open(&s, t->nodes, from);
	if (e)
		return e;
	while (s.first < s.last && s.best[to] == UINT32_MAX)
		search_expand(&s, t, tree, s.queue[s.first++]);
	int n = search_legs(&s, to, ROUTE_LEGS_MAX, end);
	search_free(&s);
	if (n < 0)
		return n;
	r->count = (unsigned)n;
	memcpy(r->leg, end - n, (unsigned)n * sizeof(*end));
	return 0;
}

int route_up_down_all(const struct topology *t, const struct route_tree *tree,
	uint32_t from, route_visit *visit, void *context)
{
	struct route_leg legs[ROUTE_ALL_LEGS_MAX],
		*end = legs + ROUTE_ALL_LEGS_MAX;
	struct up_down_search s;
	if (from >= t->nodes)
		return -EINVAL;
	int e = search_open(&s, t->nodes, from);
	if (e)
		return e;
	while (s.first < s.last)
		search_expand(&s, t, tree, s.queue[s.first++]);
	for (uint32_t to = 0; e == 0 && to < t->nodes; to++) {
		int n = search_legs(&s, to, ROUTE_ALL_LEGS_MAX, end);
		e = visit(context, to, n > 0 ? end - n : NULL, n);
	}
	search_free(&s);
	return e;
}

/* ---- routing strings ---- */

static int phit_add(struct routing_string *s, unsigned phit)
{
	if (s->count == STRING_PHITS_MAX)
		return -E2BIG;
	s->phit[s->count++] = (uint16_t)phit;
	return 0;
}

/* Low hops precede high hops, so the high ones go into the last phits. */
static int path_add(
	struct routing_string *s, const struct route *route, unsigned host_phit)
{
	int r = 0;
	for (unsigned i = 0; r == 0 && i < route->count; i++) {
		uint32_t low = route->leg[i].low, high = route->leg[i].high;
		unsigned port = route->leg[i].port;
		if (port >= STRING_PORT_LINKS)
			return -EINVAL;
		while (r == 0 && (low || high)) {
			unsigned l = (unsigned)bits_min(low, STRING_HOPS_MAX);
			low -= l;
			unsigned h =
				low ? 0
				    : (unsigned)bits_min(high, STRING_HOPS_MAX);
			high -= h;
			r = phit_add(s, phit_make(port, l, h));
		}
	}
	return r ? r : phit_add(s, host_phit);
}

int routing_string_build(struct routing_string *s, uint16_t tag,
	const struct route *there, const struct route *back)
{
	s->tag = tag;
	s->count = 0;
	int r = path_add(
		s, there, STRING_PORT_ANY | (back ? STRING_RETURN : 0));
	return r == 0 && back ? path_add(s, back, STRING_PORT_ANY) : r;
}
