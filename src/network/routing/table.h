/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of paths: those from one source, or to one exclusive or. */
#ifndef CAY_NETWORK_ROUTING_TABLE_H
#define CAY_NETWORK_ROUTING_TABLE_H

#include "network/routing/routing.h"

/* Path i is leg[first[i]] up to leg[first[i + 1]]. */
struct route_table {
	struct route_table *next; /* retired tables */
	uint32_t *first;
	uint32_t *leg;
	uint32_t used, capacity; /* legs */
	bool referenced; /* paths that do not fit inline point into it */
};

/* Tables by source. Retired ones stay readable until they are freed. */
struct route_tables {
	struct route_table **by_source;
	struct route_table *retired;
	uint32_t count;
};

/* Stands for a path of too many legs; a valid leg has hops. */
#define LEG_TOO_MANY routing_leg(ROUTING_PORT_HOST, 0, 0)

/* Returns NULL without memory. */
struct route_table *table_open(uint64_t paths, uint32_t legs);
void table_free(struct route_table *);
/* Adds a leg to the current path. Returns 0 or -ENOMEM. */
int table_add(struct route_table *, uint32_t leg);
/* Splits a leg that has too many hops. Returns 0 or -ENOMEM. */
int table_add_hops(
	struct route_table *, unsigned port, unsigned class, uint32_t hops);
/* All legs of a path have been added. */
void table_end(struct route_table *, uint64_t path);
/* Gives unused memory back, before paths point into the table. */
void table_shrink(struct route_table *);
/* Gets a path. Returns 0, -EHOSTUNREACH, -E2BIG. */
int table_path(
	const struct route_table *, uint64_t path, struct routing_path *);

/* Returns 0 or -ENOMEM. */
int tables_open(struct route_tables *, uint32_t sources);
/* Empties the tables; those that paths may point into are kept. */
void tables_retire(struct route_tables *);
void tables_free(struct route_tables *);

#endif
