/* SPDX-License-Identifier: BSD-2-Clause */
/* See table.h. */
#include "network/routing/table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"

void table_free(struct route_table *table)
{
	if (!table)
		return;
	free(table->first);
	free(table->leg);
	free(table);
}

struct route_table *table_open(uint64_t paths, uint32_t capacity)
{
	struct route_table *table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	table->first = calloc(paths + 1, sizeof(*table->first));
	table->leg = malloc(capacity * sizeof(*table->leg));
	table->capacity = capacity;
	if (table->first && table->leg)
		return table;
	table_free(table);
	return NULL;
}

int table_add(struct route_table *table, uint32_t leg)
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

void table_end(struct route_table *table, uint64_t to)
{
	if (table->used - table->first[to] > ROUTING_LEGS_INLINE)
		table->referenced = true;
	table->first[to + 1] = table->used;
}

int table_path(
	const struct route_table *table, uint64_t to, struct routing_path *path)
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

int table_add_hops(
	struct route_table *table, unsigned port, unsigned class, uint32_t hops)
{
	int r = 0;
	for (uint32_t some; r == 0 && hops; hops -= some) {
		some = (uint32_t)bits_min(hops, ROUTING_HOPS_MAX);
		/* Other classes than the lowest are the second of a leg. */
		uint32_t leg = class ? routing_leg(port, 0, some)
				     : routing_leg(port, some, 0);
		r = table_add(
			table, routing_leg_raise(leg, class ? class - 1 : 0));
	}
	return r;
}

void table_shrink(struct route_table *table)
{
	uint32_t capacity = table->used ? table->used : 1;
	uint32_t *leg = realloc(table->leg, capacity * sizeof(*leg));
	if (!leg)
		return;
	table->leg = leg;
	table->capacity = capacity;
}

/* ---- tables of all sources ---- */

int tables_open(struct route_tables *t, uint32_t sources)
{
	t->by_source = calloc(sources, sizeof(*t->by_source));
	t->count = t->by_source ? sources : 0;
	return t->by_source ? 0 : -ENOMEM;
}

void tables_retire(struct route_tables *t)
{
	for (uint32_t node = 0; node < t->count; node++) {
		struct route_table *table = t->by_source[node];
		t->by_source[node] = NULL;
		if (table && table->referenced) {
			table->next = t->retired;
			t->retired = table;
		} else {
			table_free(table);
		}
	}
}

void tables_free(struct route_tables *t)
{
	tables_retire(t);
	while (t->retired) {
		struct route_table *table = t->retired;
		t->retired = table->next;
		table_free(table);
	}
	free(t->by_source);
}
