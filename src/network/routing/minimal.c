/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Minimal routing on any topology: shortest paths, balanced over the links.
 *
 * Nodes are ordered: by the level of the topology if it has one, or in a
 * breadth-first tree. A hop to a lower node goes up, others go down. A path
 * begins in any channel class and takes the next one when it goes up after it
 * has gone down, so that within a class it goes up first and then down, and no
 * cycle of channels arises. With a single class this is up/down routing. As
 * many classes are used as shortest paths need; if there are not enough virtual
 * channels, some paths are longer.
 *
 * A source has up to eight paths to each node, of which packets draw one. They
 * are drawn from all shortest paths so that those of the source use all links
 * about equally; a path that needs too many classes is drawn again, and at last
 * replaced by one of a search that counts classes. The paths of a source are
 * computed together when it first sends, from data that only open and rebuild
 * write, so threads do not disturb each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "network/routing/class.h"
#include "network/routing/table.h"

#define SOURCES_TRIED 64 /* to find the number of classes */
#define TRIES	      8	 /* to draw a path that needs few enough classes */

struct minimal {
	struct routing base;
	struct route_tree tree;
	struct route_tables tables;
	unsigned ways; /* paths of a pair of nodes */
};

/*
 * A search from one node over states: a node, a class, and whether the path has
 * gone down in this class.
 */
struct state_search {
	const struct minimal *s;
	unsigned classes;
	uint16_t *distance; /* by state */
	uint32_t *queue;
	uint16_t *near; /* by node: its distance, by any path */
	uint32_t *used; /* paths of this source, by node and port */
	struct random random;
	uint32_t *hop; /* of a path, backwards: port << 8 | class */
};

#define FAR UINT16_MAX

static uint32_t state_of(
	const struct state_search *q, uint32_t node, unsigned class, bool down)
{
	return (node * q->classes + class) * 2 + down;
}

static bool goes_up(const struct minimal *s, uint32_t from, uint32_t to)
{
	uint32_t a = s->tree.level[from], b = s->tree.level[to];
	return b < a || (b == a && to < from);
}

static int search_open(
	struct state_search *q, const struct minimal *s, unsigned classes)
{
	const struct topology *t = s->base.topology;
	uint64_t states = 2ull * classes * t->nodes;
	*q = (struct state_search){ .s = s,
		.classes = classes,
		.distance = malloc(states * sizeof(*q->distance)),
		.queue = malloc(states * sizeof(*q->queue)),
		.near = malloc(t->nodes * sizeof(*q->near)),
		.used = calloc(
			(uint64_t)t->nodes * t->ports + 1, sizeof(*q->used)),
		.hop = malloc(states * sizeof(*q->hop)) };
	return q->distance && q->queue && q->near && q->used && q->hop
		       ? 0
		       : -ENOMEM;
}

static void search_free(struct state_search *q)
{
	free(q->distance);
	free(q->queue);
	free(q->near);
	free(q->used);
	free(q->hop);
}

/* The distances of all states; a path begins in any class. */
static void search_run(struct state_search *q, uint32_t from)
{
	const struct topology *t = q->s->base.topology;
	uint32_t first = 0, last = 0;
	memset(q->distance, 0xff,
		2ull * q->classes * t->nodes * sizeof(*q->distance));
	for (unsigned c = 0; c < q->classes; c++) {
		q->queue[last] = state_of(q, from, c, false);
		q->distance[q->queue[last++]] = 0;
	}
	while (first < last) {
		uint32_t state = q->queue[first++];
		uint32_t node = state / 2 / q->classes;
		unsigned class = state / 2 % q->classes;
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next == TOPOLOGY_NOWHERE)
				continue;
			bool up = goes_up(q->s, node, next);
			unsigned c = class + (up && state & 1);
			uint32_t to = state_of(q, next, c, !up);
			if (c == q->classes || q->distance[to] != FAR ||
				q->distance[state] == FAR - 1)
				continue;
			q->distance[to] = (uint16_t)(q->distance[state] + 1);
			q->queue[last++] = to;
		}
	}
}

/* The distances of all nodes by any path, which may need more classes. */
static void search_near(struct state_search *q, uint32_t from)
{
	const struct topology *t = q->s->base.topology;
	uint32_t first = 0, last = 0;
	memset(q->near, 0xff, t->nodes * sizeof(*q->near));
	q->near[from] = 0;
	q->queue[last++] = from;
	while (first < last) {
		uint32_t node = q->queue[first++];
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next == TOPOLOGY_NOWHERE || q->near[next] != FAR ||
				q->near[node] == FAR - 1)
				continue;
			q->near[next] = (uint16_t)(q->near[node] + 1);
			q->queue[last++] = next;
		}
	}
}

/* The least distance of a node; or FAR. */
static uint16_t search_distance(const struct state_search *q, uint32_t node)
{
	uint16_t least = FAR;
	for (unsigned i = 0; i < 2 * q->classes; i++) {
		uint16_t d = q->distance[node * 2 * q->classes + i];
		least = d < least ? d : least;
	}
	return least;
}

/* ---- selection of paths ---- */

struct candidate {
	uint32_t state;	 /* before the hop */
	uint32_t port;	 /* of the node before: index */
	uint32_t weight; /* paths that use the hop */
};

/* Keeps the candidate with the least weight; `ties` draws among equal ones. */
static void candidate_take(struct state_search *q, struct candidate *best,
	unsigned *ties, struct candidate c)
{
	if (*ties && c.weight > best->weight)
		return;
	*ties = *ties && c.weight == best->weight ? *ties + 1 : 1;
	if (*ties == 1 || random_below(&q->random, *ties) == 0)
		*best = c;
}

/* Goes one hop back from a state, along a shortest path. */
static struct candidate hop_back(struct state_search *q, uint32_t state)
{
	const struct topology *t = q->s->base.topology;
	uint32_t node = state / 2 / q->classes;
	unsigned class = state / 2 % q->classes, ties = 0;
	bool down = state & 1;
	struct candidate best = { 0 };
	for (unsigned p = 0; p < t->ports; p++) {
		uint32_t before = topology_next(t, node, p);
		if (before == TOPOLOGY_NOWHERE ||
			goes_up(q->s, before, node) == down)
			continue;
		uint32_t port = before * t->ports +
				t->peer_port[(uint64_t)node * t->ports + p];
		/* Before a hop up: up in this class, or down in the last. */
		const uint32_t from[2] = { state_of(q, before, class, false),
			down	? state_of(q, before, class, true)
			: class ? state_of(q, before, class - 1, true)
				: UINT32_MAX };
		for (unsigned i = 0; i < 2; i++)
			if (from[i] != UINT32_MAX &&
				q->distance[from[i]] + 1 == q->distance[state])
				candidate_take(q, &best, &ties,
					(struct candidate){
						from[i], port, q->used[port] });
	}
	return best;
}

/*
 * Draws a shortest path to a node, and its first class. Returns its hops, in
 * q->hop from the end; 0: it needs too many classes.
 */
static unsigned path_draw(struct state_search *q, uint32_t from, uint32_t to)
{
	const struct topology *t = q->s->base.topology;
	unsigned count = 0, class = 0;
	for (uint32_t node = to; node != from;) {
		struct candidate best = { 0 };
		unsigned ties = 0;
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t before = topology_next(t, node, p);
			if (before == TOPOLOGY_NOWHERE ||
				q->near[before] + 1 != q->near[node])
				continue;
			uint32_t port =
				before * t->ports +
				t->peer_port[(uint64_t)node * t->ports + p];
			candidate_take(q, &best, &ties,
				(struct candidate){
					before, port, q->used[port] });
		}
		q->hop[count++] = best.port;
		node = best.state;
	}
	bool down = false;
	for (unsigned i = count; i-- > 0;) {
		uint32_t port = q->hop[i];
		bool up = goes_up(q->s, port / t->ports, t->neighbour[port]);
		class += up && down;
		down = !up;
		if (class >= q->classes)
			return 0;
		q->hop[i] = port << 4 | class;
	}
	unsigned first = random_below(&q->random, q->classes - class);
	for (unsigned i = 0; i < count; i++) {
		uint32_t port = q->hop[i] >> 4;
		q->used[port]++;
		q->hop[i] = port % t->ports << 8 | ((q->hop[i] & 15) + first);
	}
	return count;
}

/* Selects a path to a node among those that need few enough classes. */
static unsigned path_select(struct state_search *q, uint32_t to)
{
	const struct topology *t = q->s->base.topology;
	uint16_t least = search_distance(q, to);
	uint32_t state = 0;
	unsigned count = 0, ties = 0;
	for (unsigned i = 0; i < 2 * q->classes; i++) {
		uint32_t end = to * 2 * q->classes + i;
		if (q->distance[end] == least &&
			random_below(&q->random, ++ties) == 0)
			state = end;
	}
	while (q->distance[state]) {
		struct candidate c = hop_back(q, state);
		unsigned class = state / 2 % q->classes;
		q->used[c.port]++;
		q->hop[count++] = c.port % t->ports << 8 | class;
		state = c.state;
	}
	return count;
}

/* Adds a path to the table; hops through one port and class are a leg. */
static int path_add(const struct state_search *q, struct route_table *table,
	uint64_t path, unsigned count)
{
	uint32_t begin = table->used, hops = 0;
	int r = 0;
	for (unsigned i = count; r == 0 && i-- > 0;) {
		hops++;
		if (i && q->hop[i - 1] == q->hop[i])
			continue;
		r = table_add_hops(
			table, q->hop[i] >> 8, q->hop[i] & 0xff, hops);
		hops = 0;
	}
	if (r == 0 && table->used - begin > ROUTE_ALL_LEGS_MAX) {
		table->used = begin;
		r = table_add(table, LEG_TOO_MANY);
	}
	table_end(table, path);
	return r;
}

static __attribute__((cold, noinline)) int table_fill(
	struct minimal *s, uint32_t from)
{
	const struct topology *t = s->base.topology;
	struct route_table *table = table_open(
		(uint64_t)t->nodes * s->ways, 2 * t->nodes * s->ways);
	struct state_search q;
	int r = search_open(&q, s, s->base.classes);
	if (!table)
		r = -ENOMEM;
	if (r == 0) {
		q.random = random_stream(from, t->nodes);
		search_run(&q, from);
		search_near(&q, from);
	}
	for (uint32_t to = 0; r == 0 && to < t->nodes; to++)
		for (unsigned w = 0; r == 0 && w < s->ways; w++) {
			uint64_t path = (uint64_t)to * s->ways + w;
			unsigned count = 0, tries = TRIES;
			bool far = to == from || search_distance(&q, to) == FAR;
			while (!far && count == 0 && tries--)
				count = path_draw(&q, from, to);
			if (!far && count == 0)
				count = path_select(&q, to);
			r = path_add(&q, table, path, count);
		}
	search_free(&q);
	if (r) {
		table_free(table);
		return r;
	}
	table_shrink(table);
	s->tables.by_source[from] = table;
	return 0;
}

/* ---- opening ---- */

/* Orders the nodes, so that a path exists between connected ones. */
static int nodes_order(struct minimal *s)
{
	const struct topology *t = s->base.topology;
	uint64_t ends = 0;
	for (uint64_t i = 0; i < (uint64_t)t->nodes * t->ports; i++)
		ends += t->neighbour[i] != TOPOLOGY_NOWHERE;
	/* A tree that has lost links may not connect all of its nodes. */
	if (!t->level || ends != 2 * t->links)
		return route_forest_open(&s->tree, t);
	s->tree.level = malloc(t->nodes * sizeof(*s->tree.level));
	if (!s->tree.level)
		return -ENOMEM;
	memcpy(s->tree.level, t->level, t->nodes * sizeof(*t->level));
	return 0;
}

/* Sets *enough if shortest paths from some nodes need no more classes. */
static int classes_try(const struct minimal *s, unsigned classes, bool *enough)
{
	const struct topology *t = s->base.topology;
	uint32_t step = t->nodes / SOURCES_TRIED + 1;
	struct state_search q;
	int r = search_open(&q, s, classes);
	*enough = true;
	for (uint32_t from = 0; r == 0 && *enough && from < t->nodes;
		from += step) {
		if (topology_host_count(t, from) == 0)
			continue;
		search_run(&q, from);
		search_near(&q, from);
		for (uint32_t to = 0; *enough && to < t->nodes; to++)
			if (topology_host_count(t, to))
				*enough = search_distance(&q, to) == q.near[to];
	}
	search_free(&q);
	return r;
}

static int minimal_open(struct routing *base)
{
	struct minimal *s = (struct minimal *)base;
	uint32_t nodes = base->topology->nodes;
	unsigned most = base->options.channels;
	bool enough = false;
	if (most == 0 || most > ROUTING_CLASSES_MAX)
		most = ROUTING_CLASSES_MAX;
	s->ways = nodes <= 256 ? 8 : nodes <= 512 ? 4 : nodes <= 1024 ? 2 : 1;
	int r = tables_open(&s->tables, nodes);
	if (r == 0)
		r = nodes_order(s);
	for (base->classes = 1; r == 0; base->classes++) {
		r = classes_try(s, base->classes, &enough);
		if (enough || base->classes == most)
			break;
	}
	/* More classes give more shortest paths to choose from. */
	if (r == 0 && base->classes > 1)
		base->classes =
			most < ROUTING_CLASS_BASES ? most : ROUTING_CLASS_BASES;
	return r;
}

static int minimal_rebuild(struct routing *base)
{
	struct minimal *s = (struct minimal *)base;
	struct route_tree old = s->tree;
	s->tree = (struct route_tree){ 0 };
	int r = nodes_order(s);
	if (r) {
		route_tree_free(&s->tree);
		s->tree = old;
		return r;
	}
	route_tree_free(&old);
	tables_retire(&s->tables);
	return 0;
}

static void minimal_close(struct routing *base)
{
	struct minimal *s = (struct minimal *)base;
	tables_free(&s->tables);
	route_tree_free(&s->tree);
}

static int minimal_find(struct routing *base, uint32_t from, uint32_t to,
	struct random *random, struct routing_path *path)
{
	struct minimal *s = (struct minimal *)base;
	int r = s->tables.by_source[from] ? 0 : table_fill(s, from);
	if (r)
		return r;
	uint32_t way = base->options.ordered || !random
			       ? route_pair_ties(from, to) % s->ways
			       : random_below(random, s->ways);
	return table_path(
		s->tables.by_source[from], (uint64_t)to * s->ways + way, path);
}

static int minimal_paths(struct routing *base, uint32_t from, uint32_t to,
	routing_visit *visit, void *context)
{
	struct minimal *s = (struct minimal *)base;
	int r = s->tables.by_source[from] ? 0 : table_fill(s, from);
	for (unsigned w = 0; r == 0 && w < s->ways; w++) {
		struct routing_path path = { 0 };
		r = table_path(s->tables.by_source[from],
			(uint64_t)to * s->ways + w, &path);
		if (r == 0)
			r = visit(context, from, &path);
	}
	return r;
}

const struct routing_class routing_minimal = {
	.name = "minimal",
	.bytes = sizeof(struct minimal),
	.open = minimal_open,
	.close = minimal_close,
	.find = minimal_find,
	.paths = minimal_paths,
	.rebuild = minimal_rebuild,
};
