/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See routing.h. Threads that ask at once share nothing that is written: what
 * is common is made by open and renew, and each source has a table of its own.
 */
#include "network/routing/routing.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"

/*
 * The ways from one source, or of a hypercube, where only the difference of two
 * numbers counts. Those to node i are leg[first[i]] up to leg[first[i + 1]].
 */
struct table {
	struct table *next; /* of those that are out of use */
	uint32_t *first;
	uint32_t *leg;
	uint32_t used, room; /* legs */
	bool shown;	     /* ways that do not fit inline point into it */
};

struct space {
	const struct topology *topology;
	struct space_options options;
	/* By dimension: what a number is multiplied with to divide it. */
	uint64_t inverse[TOPOLOGY_DIMENSIONS_MAX];
	/* By dimension: legs from each to each, up or down if equally far. */
	uint32_t *ring[TOPOLOGY_DIMENSIONS_MAX];
	bool rings; /* of all dimensions there is one */
	struct table *cube;
	struct route_tree tree;
	struct table **table; /* by source */
	struct table *retired;
};

#define RING_MAX 64 /* nodes of a dimension whose legs are kept */

/* Instead of a way of too many legs: it has no hops, so it is none. */
#define LEG_TOO_MANY space_leg(SPACE_PORT_HOST, 0, 0)

/* ---- tables ---- */

static void table_free(struct table *table)
{
	if (!table)
		return;
	free(table->first);
	free(table->leg);
	free(table);
}

static struct table *table_open(uint32_t nodes, uint32_t room)
{
	struct table *table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	table->first = calloc(nodes + 1ull, sizeof(*table->first));
	table->leg = malloc(room * sizeof(*table->leg));
	table->room = room;
	if (table->first && table->leg)
		return table;
	table_free(table);
	return NULL;
}

static int table_grow(struct table *table)
{
	uint32_t room = table->room + table->room / 2 + 16;
	uint32_t *leg = realloc(table->leg, room * sizeof(*leg));
	if (!leg)
		return -ENOMEM;
	table->leg = leg;
	table->room = room;
	return 0;
}

static int table_add(struct table *table, uint32_t leg)
{
	int r = table->used < table->room ? 0 : table_grow(table);
	if (r == 0)
		table->leg[table->used++] = leg;
	return r;
}

/* It stays where ways may point to. */
static void table_fit(struct table *table)
{
	uint32_t room = table->used ? table->used : 1;
	uint32_t *leg = realloc(table->leg, room * sizeof(*leg));
	if (!leg)
		return;
	table->leg = leg;
	table->room = room;
}

/* All legs to a node are there. */
static void table_end(struct table *table, uint32_t to)
{
	if (table->used - table->first[to] > SPACE_LEGS_INLINE)
		table->shown = true;
	table->first[to + 1] = table->used;
}

static int table_way(
	const struct table *table, uint32_t to, struct space_way *w)
{
	const uint32_t *leg = table->leg + table->first[to];
	uint32_t count = table->first[to + 1] - table->first[to];
	if (count == 0)
		return -EHOSTUNREACH;
	if (leg[0] == LEG_TOO_MANY)
		return -E2BIG;
	w->count = count;
	if (count > SPACE_LEGS_INLINE)
		w->more = leg;
	else
		for (uint32_t i = 0; i < count; i++)
			w->leg[i] = leg[i];
	return 0;
}

/* ---- up and down ---- */

struct filling {
	const struct space *space;
	struct table *table;
	uint32_t from;
};

/* A leg of any number of hops takes as many as it needs. */
static int filling_add(
	struct table *table, unsigned port, uint32_t hops, bool high)
{
	int r = 0;
	while (r == 0 && hops) {
		uint32_t some = (uint32_t)bits_min(hops, SPACE_HOPS_MAX);
		r = table_add(table, high ? space_leg(port, 0, some)
					  : space_leg(port, some, 0));
		hops -= some;
	}
	return r;
}

static int filling_take(
	void *context, uint32_t to, const struct route_leg *leg, int count)
{
	const struct filling *f = context;
	struct table *table = f->table;
	bool high = f->space->options.groups == 2 &&
		    route_pair_ties(f->from, to) & 1;
	int r = 0;
	for (int i = 0; r == 0 && i < count; i++)
		r = filling_add(table, leg[i].port, leg[i].low, high);
	if (count == -E2BIG || table->used - table->first[to] > ROUTE_WAY_MAX) {
		table->used = table->first[to];
		r = table_add(table, LEG_TOO_MANY);
	}
	table_end(table, to);
	return r;
}

static __attribute__((cold, noinline)) int table_fill(
	struct space *s, uint32_t from)
{
	uint32_t nodes = s->topology->nodes;
	struct table *table = table_open(nodes, 2 * nodes);
	struct filling f = { s, table, from };
	if (!table)
		return -ENOMEM;
	int r = route_up_down_all(
		s->topology, &s->tree, from, filling_take, &f);
	if (r) {
		table_free(table);
		return r;
	}
	table_fit(table);
	s->table[from] = table;
	return 0;
}

/* ---- dimension order ---- */

/* The low hops of a way come first, so high ones go with the last of them. */
static __attribute__((cold, noinline)) int way_split(
	struct space_way *w, unsigned port, uint32_t low, uint32_t high)
{
	while (low || high) {
		uint32_t some = (uint32_t)bits_min(low, SPACE_HOPS_MAX);
		low -= some;
		uint32_t rest = low ? 0
				    : (uint32_t)bits_min(high, SPACE_HOPS_MAX);
		high -= rest;
		if (w->count == SPACE_LEGS_INLINE)
			return -E2BIG;
		w->leg[w->count++] = space_leg(port, some, rest);
	}
	return 0;
}

static inline int way_add(
	struct space_way *w, unsigned port, struct route_leg leg)
{
	if (unlikely(leg.low > SPACE_HOPS_MAX || leg.high > SPACE_HOPS_MAX ||
		     w->count == SPACE_LEGS_INLINE))
		return way_split(w, port, leg.low, leg.high);
	w->leg[w->count++] = space_leg(port, leg.low, leg.high);
	return 0;
}

/*
 * Numbers of nodes and sizes are at most 2^20, so a product with the rounded up
 * 2^40 / size is off by less than what would change the quotient.
 */
static inline uint32_t divide(uint32_t number, uint64_t inverse)
{
	return (uint32_t)(number * inverse >> 40);
}

/* The coordinate in a dimension, off the number of a node. */
static inline uint32_t coordinate(
	const struct space *s, unsigned d, uint32_t *number)
{
	uint32_t next = divide(*number, s->inverse[d]);
	uint32_t digit = *number - next * s->topology->size[d];
	*number = next;
	return digit;
}

static int grid_find(const struct space *s, unsigned down, uint32_t from,
	uint32_t to, struct space_way *w)
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
		int r = way_add(w, 2 * d + leg.port, leg);
		if (r)
			return r;
	}
	return 0;
}

/* The same where rings are short: which way is a coin that none can guess. */
static void rings_find(const struct space *s, unsigned down, uint32_t from,
	uint32_t to, struct space_way *w)
{
	const struct topology *t = s->topology;
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t a = coordinate(s, d, &from);
		uint32_t b = coordinate(s, d, &to);
		w->leg[w->count] =
			s->ring[d][(a * t->size[d] + b) * 2 + (down >> d & 1)];
		w->count += a != b;
	}
}

static bool ring_fill(struct space *s, unsigned d)
{
	uint32_t size = s->topology->size[d];
	uint32_t *leg = calloc(2ull * size * size, sizeof(*leg));
	s->ring[d] = leg;
	for (uint32_t i = 0; leg && i < 2 * size * size; i++) {
		uint32_t a = i / 2 / size, b = i / 2 % size;
		struct route_leg l =
			route_ring(s->options.grouping, i & 1, size, a, b);
		leg[i] = space_leg(2 * d + l.port, l.low, l.high);
	}
	return leg;
}

/* Not if a ring is long; without memory it goes without. */
static void rings_open(struct space *s)
{
	const struct topology *t = s->topology;
	s->rings = t->kind == TOPOLOGY_TORUS;
	for (unsigned d = 0; s->rings && d < t->dimensions; d++)
		s->rings = t->size[d] <= RING_MAX && ring_fill(s, d);
}

static int cube_find(const struct space *s, uint32_t flips, struct space_way *w)
{
	if (s->cube)
		return table_way(s->cube, flips, w);
	for (; flips; flips &= flips - 1)
		w->leg[w->count++] =
			space_leg((unsigned)__builtin_ctz(flips), 1, 0);
	return 0;
}

/* The legs of all differences, since a large hypercube's do not fit inline. */
static int cube_fill(struct space *s)
{
	const struct topology *t = s->topology;
	int r = 0;
	s->cube = table_open(t->nodes, t->nodes / 2 * t->dimensions);
	if (!s->cube)
		return -ENOMEM;
	for (uint32_t to = 0; r == 0 && to < t->nodes; to++) {
		for (uint32_t left = to; r == 0 && left; left &= left - 1)
			r = table_add(s->cube,
				space_leg((unsigned)__builtin_ctz(left), 1, 0));
		table_end(s->cube, to);
	}
	return r;
}

static inline unsigned ties_of(const struct space *s, uint32_t from,
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

int space_find(struct space *s, uint32_t from, uint32_t to,
	struct random *random, struct space_way *w)
{
	const struct topology *t = s->topology;
	assert(from < t->nodes && to < t->nodes);
	w->count = 0;
	w->more = NULL;
	if (from == to)
		return 0;
	if (s->options.rule == SPACE_UP_DOWN) {
		int r = s->table[from] ? 0 : table_fill(s, from);
		return r ? r : table_way(s->table[from], to, w);
	}
	switch (t->kind) {
	case TOPOLOGY_TORUS:
		if (s->rings) {
			rings_find(
				s, ties_of(s, from, to, random), from, to, w);
			return 0;
		}
		return grid_find(s, ties_of(s, from, to, random), from, to, w);
	case TOPOLOGY_MESH:
		return grid_find(s, 0, from, to, w);
	case TOPOLOGY_HYPERCUBE:
		return cube_find(s, from ^ to, w);
	default:
		w->leg[w->count++] = space_leg(to > from ? to - 1 : to, 1, 0);
		return 0;
	}
}

/* ---- opening, renewing, closing ---- */

static int order_open(struct space *s)
{
	const struct topology *t = s->topology;
	if (t->kind == TOPOLOGY_GRAPH)
		return -EINVAL;
	if (t->kind == TOPOLOGY_MESH || t->kind == TOPOLOGY_TORUS)
		for (unsigned d = 0; d < t->dimensions; d++)
			s->inverse[d] =
				((1ull << 40) + t->size[d] - 1) / t->size[d];
	rings_open(s);
	if (t->kind == TOPOLOGY_HYPERCUBE && t->dimensions > SPACE_LEGS_INLINE)
		return cube_fill(s);
	return 0;
}

int space_open(struct space **out, const struct topology *t,
	const struct space_options *options)
{
	if (options->groups < 1 || options->groups > 2)
		return -EINVAL;
	struct space *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->topology = t;
	s->options = *options;
	if (options->groups == 1)
		s->options.grouping = ROUTE_GROUPS_PLAIN;
	int r = options->rule == SPACE_UP_DOWN ? space_renew(s) : order_open(s);
	if (r) {
		space_close(s);
		return r;
	}
	*out = s;
	return 0;
}

/* Only tables that ways may point into are kept. */
static void tables_retire(struct space *s)
{
	for (uint32_t node = 0; s->table && node < s->topology->nodes; node++) {
		struct table *table = s->table[node];
		s->table[node] = NULL;
		if (table && table->shown) {
			table->next = s->retired;
			s->retired = table;
		} else {
			table_free(table);
		}
	}
}

int space_renew(struct space *s)
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
	s->options.rule = SPACE_UP_DOWN;
	return 0;
}

void space_close(struct space *s)
{
	if (!s)
		return;
	tables_retire(s);
	while (s->retired) {
		struct table *table = s->retired;
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

static int way_route(const struct space_way *w, struct route *r)
{
	const uint32_t *leg = space_way_legs(w);
	if (w->count > ROUTE_LEGS_MAX)
		return -E2BIG;
	r->count = w->count;
	for (unsigned i = 0; i < w->count; i++)
		r->leg[i] = (struct route_leg){ (uint8_t)space_leg_port(leg[i]),
			space_leg_low(leg[i]), space_leg_high(leg[i]) };
	return 0;
}

int space_path(uint16_t tag, const struct space_way *there,
	const struct space_way *back, struct path *path)
{
	struct route to, from;
	int r = way_route(there, &to);
	if (r == 0 && back)
		r = way_route(back, &from);
	return r ? r : path_build(path, tag, &to, back ? &from : NULL);
}
