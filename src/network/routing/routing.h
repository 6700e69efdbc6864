/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routing space: how to get from every node to every other, as the routers
 * use it. A leg is a phit of a routing string with room for more ports and
 * hops, because a simulated router may have any number of links; where a router
 * has six, legs and phits say the same.
 *
 * Where dimension order works, legs are computed when they are asked for.
 * Elsewhere (graphs, and topologies that have lost something) they are up/down
 * routes, and those of a source are computed together when it first sends. Two
 * threads may ask at once, but not for the same source.
 */
#ifndef CAY_NETWORK_ROUTING_ROUTING_H
#define CAY_NETWORK_ROUTING_ROUTING_H

#include "network/routing/routing_string.h"
#include "network/traffic/random.h"

/* Port 8, hops on the low group 12, hops on the high group 12. */
#define SPACE_HOPS_MAX	  4095
#define SPACE_PORT_HOST	  0xffu /* whichever network port is free */
#define SPACE_LEGS_INLINE 6

static inline uint32_t space_leg(unsigned port, uint32_t low, uint32_t high)
{
	return (uint32_t)port << 24 | low << 12 | high;
}

static inline unsigned space_leg_port(uint32_t leg)
{
	return leg >> 24;
}

static inline uint32_t space_leg_low(uint32_t leg)
{
	return leg >> 12 & SPACE_HOPS_MAX;
}

static inline uint32_t space_leg_high(uint32_t leg)
{
	return leg & SPACE_HOPS_MAX;
}

static inline uint32_t space_leg_hops(uint32_t leg)
{
	return space_leg_low(leg) + space_leg_high(leg);
}

enum space_rule {
	SPACE_DIMENSION_ORDER,
	SPACE_UP_DOWN,
};

struct space;

struct space_options {
	enum space_rule rule;
	enum route_groups grouping; /* of dimension order */
	enum route_ties ties;
	unsigned groups; /* 1 or 2; up/down uses them alike, pair by pair */
};

/* Of the legs between two nodes. */
struct space_way {
	unsigned count;
	/* Either here or, if there are more, in the space, until it is closed.
	 */
	uint32_t leg[SPACE_LEGS_INLINE];
	const uint32_t *more;
};

/*
 * The topology must live as long. 0, -EINVAL (dimension order in a graph),
 * -ENOMEM.
 */
int space_open(
	struct space **, const struct topology *, const struct space_options *);
void space_close(struct space *);
/*
 * The legs from one node to another, without a host leg at the end; none to
 * oneself. The random stream is for ROUTE_TIES_RANDOM only. 0, -EHOSTUNREACH,
 * -E2BIG (a way of too many legs), -ENOMEM.
 */
int space_find(struct space *, uint32_t from, uint32_t to, struct random *,
	struct space_way *);
/*
 * The topology has lost links: everything is up/down from now on, around what
 * is missing. Ways that were given stay readable. 0 or -ENOMEM.
 */
int space_renew(struct space *);

static inline const uint32_t *space_way_legs(const struct space_way *w)
{
	return w->more ? w->more : w->leg;
}

/*
 * The routing string of a way there and a way back (or NULL), as in the
 * contract. 0, -EINVAL (a port that is no link), -E2BIG.
 */
int space_path(uint16_t tag, const struct space_way *there,
	const struct space_way *back, struct path *);

#endif
