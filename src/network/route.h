/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes: through which ports a packet goes, and on which group of virtual
 * channels. They are computed at the source, before a packet leaves.
 *
 * A leg is a number of hops through the same port: first so many on the low
 * group, then so many on the high one.
 */
#ifndef CAY_NETWORK_ROUTE_H
#define CAY_NETWORK_ROUTE_H

#include "network/topology.h"

#define ROUTE_LEGS_MAX 64

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
};

/* What up/down routing needs to know of a topology. */
struct route_tree {
	uint32_t *level; /* of each node; the root, node 0, has 0 */
};

/* 0, -ENOMEM, or -EHOSTUNREACH: not all nodes are connected. */
int route_tree_open(struct route_tree *, const struct topology *);
void route_tree_free(struct route_tree *);

/*
 * The minimal route, one dimension after the other; a full topology has one
 * hop. Of two directions that are equally far, up. 0, -EINVAL (no such node),
 * or -EOPNOTSUPP: a graph has no dimensions.
 */
int route_dimension_order(const struct topology *, enum route_groups,
	uint32_t from, uint32_t to, struct route *);
/*
 * The shortest of those that never go up again once they have gone down, on any
 * topology; up is towards the root. 0, -EINVAL, -ENOMEM, -E2BIG (too many
 * legs).
 */
int route_up_down(const struct topology *, const struct route_tree *,
	uint32_t from, uint32_t to, struct route *);

uint32_t route_hops(const struct route *);
/* Where it ends; TOPOLOGY_NOWHERE if it leaves the topology. */
uint32_t route_end(
	const struct topology *, uint32_t from, const struct route *);

#endif
