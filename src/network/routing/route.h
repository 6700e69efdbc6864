/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes: through which ports a packet goes, and on which group of virtual
 * channels. They are computed at the source, before a packet leaves.
 *
 * A leg is a number of hops through the same port: first so many on the low
 * group, then so many on the high one.
 */
#ifndef CAY_NETWORK_ROUTING_ROUTE_H
#define CAY_NETWORK_ROUTING_ROUTE_H

#include "network/topology/topology.h"

#define ROUTE_LEGS_MAX	   64
#define ROUTE_ALL_LEGS_MAX 1023 /* legs that route_up_down_all() gives */

struct route_leg {
	uint8_t port;
	uint32_t low, high; /* hops */
};

struct route {
	unsigned count;
	struct route_leg leg[ROUTE_LEGS_MAX];
};

/* Which group a packet takes. */
enum route_groups {
	ROUTE_GROUPS_PLAIN, /* always the low one */
	ROUTE_GROUPS_DATED, /* the high one behind the date line of a torus */
	ROUTE_GROUPS_FIXED, /* the high one in a dimension whose line it crosses
			     */
};

/* Which of two directions that are equally far. */
enum route_ties {
	ROUTE_TIES_UP,
	ROUTE_TIES_PAIR,   /* by the two nodes: half go up, always the same */
	ROUTE_TIES_RANDOM, /* by the packet */
};

/* What up/down routing needs to know of a topology. */
struct route_tree {
	uint32_t *level; /* of each node; the root, node 0, has 0 */
};

/* 0, -ENOMEM, or -EHOSTUNREACH: not all nodes are connected. */
int route_tree_open(struct route_tree *, const struct topology *);
/* Every part that is connected has a root, its first node. 0 or -ENOMEM. */
int route_forest_open(struct route_tree *, const struct topology *);
void route_tree_free(struct route_tree *);

/* ---- one dimension, for whoever computes many routes ---- */

/*
 * How many hops are on the low group. The date line of a dimension lies behind
 * its last node; if the group changes there, the hop that crosses it is the
 * last on the low one.
 */
static inline uint32_t route_low_hops(
	enum route_groups groups, uint32_t hops, uint32_t to_line)
{
	if (groups == ROUTE_GROUPS_DATED && hops > to_line)
		return to_line;
	return groups == ROUTE_GROUPS_FIXED && hops >= to_line ? 0 : hops;
}

/* The shorter way round a ring: port 0 is up, 1 down. Perhaps no hops. */
static inline struct route_leg route_ring(enum route_groups groups, bool falls,
	uint32_t size, uint32_t from, uint32_t to)
{
	uint32_t up = to >= from ? to - from : to + size - from;
	uint32_t down = up ? size - up : 0;
	bool rises = up < down || (up == down && !falls);
	uint32_t hops = rises ? up : down;
	uint32_t low =
		route_low_hops(groups, hops, rises ? size - from : from + 1);
	return (struct route_leg){ !rises, low, hops - low };
}

/* Along a line, likewise. */
static inline struct route_leg route_line(uint32_t from, uint32_t to)
{
	bool rises = to >= from;
	return (struct route_leg){ !rises, rises ? to - from : from - to, 0 };
}

/* ---- whole routes ---- */

/*
 * The minimal route, one dimension after the other; a full topology has one
 * hop. Of two directions that are equally far, up, or down in the dimensions
 * whose bit in `down` is set. 0, -EINVAL (no such node), or -EOPNOTSUPP: a
 * graph has no dimensions.
 */
int route_dimension_order(const struct topology *, enum route_groups,
	unsigned down, uint32_t from, uint32_t to, struct route *);
/* The `down` of ROUTE_TIES_PAIR. */
unsigned route_pair_ties(uint32_t from, uint32_t to);
/*
 * The shortest of those that never go up again once they have gone down, on any
 * topology; up is towards the root. 0, -EINVAL, -ENOMEM, -E2BIG (too many
 * legs).
 */
int route_up_down(const struct topology *, const struct route_tree *,
	uint32_t from, uint32_t to, struct route *);

/*
 * Takes the way to a node: so many legs, or -EHOSTUNREACH or -E2BIG. Whatever
 * it returns but 0 ends the search.
 */
typedef int route_visit(
	void *context, uint32_t to, const struct route_leg *, int count);
/*
 * The same routes from one node to each, in the order of their numbers, by a
 * single search. 0, -EINVAL, -ENOMEM, or what `take` returned. Any thread.
 */
int route_up_down_all(const struct topology *, const struct route_tree *,
	uint32_t from, route_visit *, void *context);

uint32_t route_hops(const struct route *);
/* Where it ends; TOPOLOGY_NOWHERE if it leaves the topology. */
uint32_t route_end(
	const struct topology *, uint32_t from, const struct route *);

#endif
