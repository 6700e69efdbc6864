/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Up/down routing, on any topology: one shortest path that does not go up,
 * towards the root of a tree, after it has gone down. The paths of a source are
 * computed together when it first sends.
 *
 * Concurrent calls share only data that open and rebuild write; each source has
 * its own table.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "network/routing/class.h"
#include "network/routing/table.h"
#include "network/topology/class.h"

struct up_down {
	struct routing base;
	struct route_tree tree;
	struct route_tables tables;
};

struct table_fill {
	const struct up_down *routing;
	struct route_table *table;
	uint32_t from;
};

/* Adds the route to a node; see route_visit. */
static int table_add_route(
	void *context, uint32_t to, const struct route_leg *leg, int count)
{
	const struct table_fill *f = context;
	struct route_table *table = f->table;
	unsigned class = f->routing->base.classes == 2
				 ? route_pair_ties(f->from, to) & 1
				 : 0;
	int r = 0;
	for (int i = 0; r == 0 && i < count; i++)
		r = table_add_hops(table, leg[i].port, class, leg[i].low);
	if (count == -E2BIG ||
		table->used - table->first[to] > ROUTE_ALL_LEGS_MAX) {
		table->used = table->first[to];
		r = table_add(table, LEG_TOO_MANY);
	}
	table_end(table, to);
	return r;
}

static __attribute__((cold, noinline)) int table_fill(
	struct up_down *s, uint32_t from)
{
	uint32_t nodes = s->base.topology->nodes;
	struct route_table *table = table_open(nodes, 2 * nodes);
	struct table_fill f = { s, table, from };
	if (!table)
		return -ENOMEM;
	int r = route_up_down_all(
		s->base.topology, &s->tree, from, table_add_route, &f);
	if (r) {
		table_free(table);
		return r;
	}
	table_shrink(table);
	s->tables.by_source[from] = table;
	return 0;
}

static int up_down_rebuild(struct routing *base)
{
	struct up_down *s = (struct up_down *)base;
	struct route_tree tree;
	int r = route_forest_open(&tree, base->topology);
	if (r)
		return r;
	tables_retire(&s->tables);
	route_tree_free(&s->tree);
	s->tree = tree;
	return 0;
}

static int up_down_open(struct routing *base)
{
	struct up_down *s = (struct up_down *)base;
	/* One of two classes for each pair of nodes. */
	base->classes = base->options.groups;
	base->shared = !base->topology->class->rings;
	int r = tables_open(&s->tables, base->topology->nodes);
	return r ? r : up_down_rebuild(base);
}

static void up_down_close(struct routing *base)
{
	struct up_down *s = (struct up_down *)base;
	tables_free(&s->tables);
	route_tree_free(&s->tree);
}

static int up_down_find(struct routing *base, uint32_t from, uint32_t to,
	struct random *random, struct routing_path *path)
{
	struct up_down *s = (struct up_down *)base;
	(void)random;
	int r = s->tables.by_source[from] ? 0 : table_fill(s, from);
	return r ? r : table_path(s->tables.by_source[from], to, path);
}

const struct routing_class routing_up_down = {
	.name = "up-down",
	.bytes = sizeof(struct up_down),
	.open = up_down_open,
	.close = up_down_close,
	.find = up_down_find,
	.rebuild = up_down_rebuild,
};
