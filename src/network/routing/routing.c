/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See routing.h. Concurrent calls of routing_find() share only data that
 * routing_open() and routing_rebuild() write; each source has its own table.
 */
#include "network/routing/routing.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"

/*
 * The paths from one source; or of a hypercube, where only the exclusive or of
 * two node numbers matters. Those to node i are leg[first[i]] up to
 * leg[first[i + 1]].
 */
struct route_table {
	struct route_table *next; /* retired tables */
	uint32_t *first;
	uint32_t *leg;
	uint32_t used, capacity; /* legs */
	bool referenced; /* paths that do not fit inline point into it */
};

struct routing {
	const struct topology *topology;
	struct routing_options options;
	uint64_t inverse[TOPOLOGY_DIMENSIONS_MAX]; /* see coordinate() */
	/* By dimension: legs by both coordinates, and direction of a tie. */
	uint32_t *ring[TOPOLOGY_DIMENSIONS_MAX];
	bool rings; /* all dimensions have such legs */
	struct route_table *cube;
	struct route_tree tree;
	struct route_table **table; /* by source */
	struct route_table *retired;
};

#define RING_MAX 64 /* nodes of a dimension whose legs are tabulated */

/* Stands for a path of too many legs; a valid leg has hops. */
#define LEG_TOO_MANY routing_leg(ROUTING_PORT_HOST, 0, 0)

/* ---- tables ---- */

static void table_free(struct route_table *table)
{
	if (!table)
		return;
	free(table->first);
	free(table->leg);
	free(table);
}

static struct route_table *table_open(uint32_t nodes, uint32_t capacity)
{
	struct route_table *table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	table->first = calloc(nodes + 1ull, sizeof(*table->first));
	table->leg = malloc(capacity * sizeof(*table->leg));
	table->capacity = capacity;
	if (table->first && table->leg)
		return table;
	table_free(table);
	return NULL;
}

static int table_add(struct route_table *table, uint32_t leg)
{
	if (table->used == table->capacity) {
		uint32_t capacity = table->capacity + table->capacity / 2 + 16;
		uint32_t *more = realloc(table->leg, capacity * sizeof(*more));
		if (!more)
			return -ENOMEM;
		table->leg = more;
		table->capacity = capacity;
	}
	table->leg[table->used++] = leg;
	return 0;
}

/* All legs to a node have been added. */
static void table_end(struct route_table *table, uint32_t to)
{
	if (table->used - table->first[to] > ROUTING_LEGS_INLINE)
		table->referenced = true;
	table->first[to + 1] = table->used;
}

static int table_path(
	const struct route_table *table, uint32_t to, struct routing_path *path)
{
	const uint32_t *leg = table->leg + table->first[to];
	uint32_t count = table->first[to + 1] - table->first[to];
	if (count == 0)
		return -EHOSTUNREACH;
	if (leg[0] == LEG_TOO_MANY)
		return -E2BIG;
	path->count = count;
	if (count > ROUTING_LEGS_INLINE)
		path->more = leg;
	else
		for (uint32_t i = 0; i < count; i++)
			path->leg[i] = leg[i];
	return 0;
}

/* ---- up/down ---- */

struct table_fill {
	const struct routing *routing;
	struct route_table *table;
	uint32_t from;
};

/* Adds the route to a node; see route_visit. */
static int table_add_route(
	void *context, uint32_t to, const struct route_leg *leg, int count)
{
	const struct table_fill *f = context;
	struct route_table *table = f->table;
	bool high = f->routing->options.groups == 2 &&
		    route_pair_ties(f->from, to) & 1;
	int r = 0;
	for (int i = 0; i < count; i++)
		for (uint32_t hops = leg[i].low, some; r == 0 && hops;
			hops -= some) {
			some = (uint32_t)bits_min(hops, ROUTING_HOPS_MAX);
			r = table_add(table,
				high ? routing_leg(leg[i].port, 0, some)
				     : routing_leg(leg[i].port, some, 0));
		}
	if (count == -E2BIG ||
		table->used - table->first[to] > ROUTE_ALL_LEGS_MAX) {
		table->used = table->first[to];
		r = table_add(table, LEG_TOO_MANY);
	}
	table_end(table, to);
	return r;
}

static __attribute__((cold, noinline)) int table_fill(
	struct routing *s, uint32_t from)
{
	uint32_t nodes = s->topology->nodes;
	struct route_table *table = table_open(nodes, 2 * nodes);
	struct table_fill f = { s, table, from };
	if (!table)
		return -ENOMEM;
	int r = route_up_down_all(
		s->topology, &s->tree, from, table_add_route, &f);
	if (r) {
		table_free(table);
		return r;
	}
	/* Shrink the array now: paths will point into it. */
	uint32_t capacity = table->used ? table->used : 1;
	uint32_t *leg = realloc(table->leg, capacity * sizeof(*leg));
	if (leg) {
		table->leg = leg;
		table->capacity = capacity;
	}
	s->table[from] = table;
	return 0;
}

/* ---- dimension order ---- */

/* Splits a leg; the low hops of a path precede its high hops. */
static __attribute__((cold, noinline)) int leg_split(
	struct routing_path *path, unsigned port, uint32_t low, uint32_t high)
{
	while (low || high) {
		uint32_t some = (uint32_t)bits_min(low, ROUTING_HOPS_MAX);
		low -= some;
		uint32_t rest =
			low ? 0 : (uint32_t)bits_min(high, ROUTING_HOPS_MAX);
		high -= rest;
		if (path->count == ROUTING_LEGS_INLINE)
			return -E2BIG;
		path->leg[path->count++] = routing_leg(port, some, rest);
	}
	return 0;
}

static inline int path_add(
	struct routing_path *path, unsigned port, struct route_leg leg)
{
	if (unlikely(leg.low > ROUTING_HOPS_MAX ||
		     leg.high > ROUTING_HOPS_MAX ||
		     path->count == ROUTING_LEGS_INLINE))
		return leg_split(path, port, leg.low, leg.high);
	path->leg[path->count++] = routing_leg(port, leg.low, leg.high);
	return 0;
}

/*
 * Returns the lowest coordinate, and removes it from the number. The division
 * is a multiplication with 2^40 / size, rounded up. Node numbers and sizes are
 * at most 2^20, so the error is too small to change the quotient.
 */
static inline uint32_t coordinate(
	const struct routing *s, unsigned d, uint32_t *number)
{
	uint32_t next = (uint32_t)(*number * s->inverse[d] >> 40);
	uint32_t digit = *number - next * s->topology->size[d];
	*number = next;
	return digit;
}

static int grid_find(const struct routing *s, unsigned down, uint32_t from,
	uint32_t to, struct routing_path *path)
{
	const struct topology *t = s->topology;
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t size = t->size[d];
		uint32_t a = coordinate(s, d, &from);
		uint32_t b = coordinate(s, d, &to);
		if (a == b)
			continue;
		struct route_leg leg = t->kind == TOPOLOGY_MESH
					       ? route_line(a, b)
					       : route_ring(s->options.grouping,
							 down >> d & 1, size, a,
							 b);
		int r = path_add(path, 2 * d + leg.port, leg);
		if (r)
			return r;
	}
	return 0;
}

/*
 * The same for tabulated rings: without branches on the direction, which are
 * unpredictable.
 */
static void rings_find(const struct routing *s, unsigned down, uint32_t from,
	uint32_t to, struct routing_path *path)
{
	const struct topology *t = s->topology;
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t a = coordinate(s, d, &from);
		uint32_t b = coordinate(s, d, &to);
		path->leg[path->count] =
			s->ring[d][(a * t->size[d] + b) * 2 + (down >> d & 1)];
		path->count += a != b;
	}
}

/* Tabulates short rings. Without memory, legs are computed. */
static void rings_open(struct routing *s)
{
	const struct topology *t = s->topology;
	s->rings = t->kind == TOPOLOGY_TORUS;
	for (unsigned d = 0; s->rings && d < t->dimensions; d++) {
		uint32_t size = t->size[d], *leg = NULL;
		if (size <= RING_MAX)
			leg = calloc(2ull * size * size, sizeof(*leg));
		s->ring[d] = leg;
		s->rings = leg;
		for (uint32_t i = 0; leg && i < 2 * size * size; i++) {
			uint32_t a = i / 2 / size, b = i / 2 % size;
			struct route_leg l = route_ring(
				s->options.grouping, i & 1, size, a, b);
			leg[i] = routing_leg(2 * d + l.port, l.low, l.high);
		}
	}
}

static int cube_find(
	const struct routing *s, uint32_t flips, struct routing_path *path)
{
	if (s->cube)
		return table_path(s->cube, flips, path);
	for (; flips; flips &= flips - 1)
		path->leg[path->count++] =
			routing_leg((unsigned)__builtin_ctz(flips), 1, 0);
	return 0;
}

/* Tabulates the legs of a hypercube, which do not fit inline if it is large. */
static int cube_fill(struct routing *s)
{
	const struct topology *t = s->topology;
	int r = 0;
	s->cube = table_open(t->nodes, t->nodes / 2 * t->dimensions);
	if (!s->cube)
		return -ENOMEM;
	for (uint32_t to = 0; r == 0 && to < t->nodes; to++) {
		for (uint32_t left = to; r == 0 && left; left &= left - 1)
			r = table_add(s->cube,
				routing_leg(
					(unsigned)__builtin_ctz(left), 1, 0));
		table_end(s->cube, to);
	}
	return r;
}

static inline unsigned ties_of(const struct routing *s, uint32_t from,
	uint32_t to, struct random *random)
{
	switch (s->options.ties) {
	case ROUTE_TIES_PAIR:
		return route_pair_ties(from, to);
	case ROUTE_TIES_RANDOM:
		return (unsigned)(random_next(random) >> 61);
	default:
		return 0;
	}
}

int routing_find(struct routing *s, uint32_t from, uint32_t to,
	struct random *random, struct routing_path *path)
{
	const struct topology *t = s->topology;
	assert(from < t->nodes && to < t->nodes);
	path->count = 0;
	path->more = NULL;
	if (from == to)
		return 0;
	if (s->options.rule == ROUTING_UP_DOWN) {
		int r = s->table[from] ? 0 : table_fill(s, from);
		return r ? r : table_path(s->table[from], to, path);
	}
	switch (t->kind) {
	case TOPOLOGY_TORUS:
		if (s->rings) {
			rings_find(s, ties_of(s, from, to, random), from, to,
				path);
			return 0;
		}
		return grid_find(
			s, ties_of(s, from, to, random), from, to, path);
	case TOPOLOGY_MESH:
		return grid_find(s, 0, from, to, path);
	case TOPOLOGY_HYPERCUBE:
		return cube_find(s, from ^ to, path);
	default:
		path->leg[path->count++] =
			routing_leg(to > from ? to - 1 : to, 1, 0);
		return 0;
	}
}

/* ---- opening, rebuilding, closing ---- */

static int order_open(struct routing *s)
{
	const struct topology *t = s->topology;
	if (t->kind == TOPOLOGY_GRAPH)
		return -EINVAL;
	if (t->kind == TOPOLOGY_MESH || t->kind == TOPOLOGY_TORUS)
		for (unsigned d = 0; d < t->dimensions; d++)
			s->inverse[d] =
				((1ull << 40) + t->size[d] - 1) / t->size[d];
	rings_open(s);
	if (t->kind == TOPOLOGY_HYPERCUBE &&
		t->dimensions > ROUTING_LEGS_INLINE)
		return cube_fill(s);
	return 0;
}

int routing_open(struct routing **out, const struct topology *t,
	const struct routing_options *options)
{
	if (options->groups < 1 || options->groups > 2)
		return -EINVAL;
	struct routing *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->topology = t;
	s->options = *options;
	if (options->groups == 1)
		s->options.grouping = ROUTE_GROUPS_PLAIN;
	int r = options->rule == ROUTING_UP_DOWN ? routing_rebuild(s)
						 : order_open(s);
	if (r) {
		routing_close(s);
		return r;
	}
	*out = s;
	return 0;
}

/* Keeps tables that paths may point into, and frees the others. */
static void tables_retire(struct routing *s)
{
	for (uint32_t node = 0; s->table && node < s->topology->nodes; node++) {
		struct route_table *table = s->table[node];
		s->table[node] = NULL;
		if (table && table->referenced) {
			table->next = s->retired;
			s->retired = table;
		} else {
			table_free(table);
		}
	}
}

int routing_rebuild(struct routing *s)
{
	struct route_tree tree;
	if (!s->table)
		s->table = calloc(s->topology->nodes, sizeof(*s->table));
	if (!s->table)
		return -ENOMEM;
	int r = route_forest_open(&tree, s->topology);
	if (r)
		return r;
	tables_retire(s);
	route_tree_free(&s->tree);
	s->tree = tree;
	s->options.rule = ROUTING_UP_DOWN;
	return 0;
}

void routing_close(struct routing *s)
{
	if (!s)
		return;
	tables_retire(s);
	while (s->retired) {
		struct route_table *table = s->retired;
		s->retired = table->next;
		table_free(table);
	}
	free(s->table);
	route_tree_free(&s->tree);
	table_free(s->cube);
	for (unsigned d = 0; d < TOPOLOGY_DIMENSIONS_MAX; d++)
		free(s->ring[d]);
	free(s);
}

/* ---- routing strings ---- */

static int path_to_route(const struct routing_path *path, struct route *r)
{
	const uint32_t *leg = routing_path_legs(path);
	if (path->count > ROUTE_LEGS_MAX)
		return -E2BIG;
	r->count = path->count;
	for (unsigned i = 0; i < path->count; i++)
		r->leg[i] = (struct route_leg){ (uint8_t)routing_leg_port(
							leg[i]),
			routing_leg_low(leg[i]), routing_leg_high(leg[i]) };
	return 0;
}

int routing_string_of(uint16_t tag, const struct routing_path *there,
	const struct routing_path *back, struct routing_string *string)
{
	struct route to, from;
	int r = path_to_route(there, &to);
	if (r == 0 && back)
		r = path_to_route(back, &from);
	return r ? r
		 : routing_string_build(string, tag, &to, back ? &from : NULL);
}
