/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes: the ports and the channel groups of a path. They are computed at the
 * source, before a packet is injected.
 *
 * A leg is a number of hops through the same port: `low` hops on the low group,
 * then `high` hops on the high group.
 */
#ifndef CAY_NETWORK_ROUTING_ROUTE_H
#define CAY_NETWORK_ROUTING_ROUTE_H

#include "contract/routing_string.h"
#include "network/topology/topology.h"

#define ROUTE_LEGS_MAX	   64
#define ROUTE_ALL_LEGS_MAX 1023 /* of route_up_down_all() */

struct route_leg {
	uint8_t port;
	uint32_t low, high; /* hops */
};

struct route {
	unsigned count;
	struct route_leg leg[ROUTE_LEGS_MAX];
};

/* How packets use the channel groups. */
enum route_groups {
	ROUTE_GROUPS_PLAIN, /* always the low group */
	ROUTE_GROUPS_DATED, /* the high group after the dateline of a ring */
	ROUTE_GROUPS_FIXED, /* the high group if the dateline is crossed */
};

/* The direction if both are equally long. */
enum route_ties {
	ROUTE_TIES_UP,
	ROUTE_TIES_PAIR, /* fixed for each pair of nodes: half of them go up */
	ROUTE_TIES_RANDOM, /* drawn for each packet */
};

/* Levels of the spanning trees of up/down routing. */
struct route_tree {
	uint32_t *level; /* by node; 0 at a root */
};

/* Node 0 is the root. Returns 0, -ENOMEM, or -EHOSTUNREACH: not connected. */
int route_tree_open(struct route_tree *, const struct topology *);
/* The first node of each connected part is its root. Returns 0 or -ENOMEM. */
int route_forest_open(struct route_tree *, const struct topology *);
void route_tree_free(struct route_tree *);

/* ---- one dimension ---- */

/*
 * The hops on the low group. The dateline of a dimension is after its last
 * node; with ROUTE_GROUPS_DATED the hop that crosses it is the last one on the
 * low group.
 */
static inline uint32_t route_low_hops(
	enum route_groups groups, uint32_t hops, uint32_t to_line)
{
	if (groups == ROUTE_GROUPS_DATED && hops > to_line)
		return to_line;
	return groups == ROUTE_GROUPS_FIXED && hops >= to_line ? 0 : hops;
}

/*
 * A bit for the direction in each dimension. The bits of the first three are
 * the highest bits of the number, those of the others follow.
 */
static inline unsigned route_ties_of(uint64_t number)
{
	return (unsigned)(number >> 61 | (number >> 58 & 7) << 3);
}

/* ---- whole routes ---- */

/*
 * Finds the minimal route, one dimension after the other. Ties go up, or down
 * in dimensions whose bit in `down` is set. Returns 0, -EINVAL (no such node),
 * or -EOPNOTSUPP: there are no dimensions.
 */
int route_dimension_order(const struct topology *, enum route_groups,
	unsigned down, uint32_t from, uint32_t to, struct route *);
/* The `down` of ROUTE_TIES_PAIR. */
unsigned route_pair_ties(uint32_t from, uint32_t to);
/*
 * Finds the shortest route that does not go up (towards the root) after it has
 * gone down, on any topology. Returns 0, -EINVAL, -ENOMEM, -E2BIG (too many
 * legs).
 */
int route_up_down(const struct topology *, const struct route_tree *,
	uint32_t from, uint32_t to, struct route *);

/*
 * Gets the legs to a node; `count` may be -EHOSTUNREACH or -E2BIG. A return
 * value other than 0 ends the search.
 */
typedef int route_visit(
	void *context, uint32_t to, const struct route_leg *, int count);
/*
 * Finds the routes of route_up_down() from one node to all, in ascending order,
 * by a single search. Returns 0, -EINVAL, -ENOMEM, or the value of `visit`. Any
 * thread.
 */
int route_up_down_all(const struct topology *, const struct route_tree *,
	uint32_t from, route_visit *, void *context);

uint32_t route_hops(const struct route *);
/* The last node; TOPOLOGY_NOWHERE if the route leaves the topology. */
uint32_t route_end(
	const struct topology *, uint32_t from, const struct route *);
/*
 * Builds the routing string of a route and a return route (or NULL), both to
 * any network port. A leg with more hops than fit takes several phits. Returns
 * 0, -EINVAL (a port that is not a link), -E2BIG (too long).
 */
int routing_string_build(struct routing_string *, uint16_t tag,
	const struct route *there, const struct route *back);

#endif
