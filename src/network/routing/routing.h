/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routing: the path from every node to every other, as the routers use it. A
 * leg is like a phit of a routing string, with room for more ports and hops,
 * because a simulated router may have any number of links; for a router with
 * six links, legs and phits are equivalent.
 *
 * Dimension-order legs are computed on demand. For graphs, and for topologies
 * with failures, the paths are up/down routes; those of a source are computed
 * together when it first sends. Two threads may call concurrently for different
 * sources.
 */
#ifndef CAY_NETWORK_ROUTING_ROUTING_H
#define CAY_NETWORK_ROUTING_ROUTING_H

#include "network/routing/route.h"
#include "network/traffic/random.h"

/* A leg: port 8 bits, hops on the low group 12, hops on the high group 12. */
#define ROUTING_HOPS_MAX    4095
#define ROUTING_PORT_HOST   0xffu /* any network port */
#define ROUTING_LEGS_INLINE 6

static inline uint32_t routing_leg(unsigned port, uint32_t low, uint32_t high)
{
	return (uint32_t)port << 24 | low << 12 | high;
}

static inline unsigned routing_leg_port(uint32_t leg)
{
	return leg >> 24;
}

static inline uint32_t routing_leg_low(uint32_t leg)
{
	return leg >> 12 & ROUTING_HOPS_MAX;
}

static inline uint32_t routing_leg_high(uint32_t leg)
{
	return leg & ROUTING_HOPS_MAX;
}

static inline uint32_t routing_leg_hops(uint32_t leg)
{
	return routing_leg_low(leg) + routing_leg_high(leg);
}

enum routing_rule {
	ROUTING_DIMENSION_ORDER,
	ROUTING_UP_DOWN,
};

struct routing;

struct routing_options {
	enum routing_rule rule;
	enum route_groups grouping; /* of dimension order */
	enum route_ties ties;
	unsigned groups; /* 1 or 2; up/down chooses one per pair of nodes */
};

/* The legs from one node to another. */
struct routing_path {
	unsigned count;
	uint32_t leg[ROUTING_LEGS_INLINE];
	/* If not NULL, the legs are here, and valid until routing_close(). */
	const uint32_t *more;
};

/*
 * Opens the routing of a topology, which must outlive it. Returns 0, -EINVAL
 * (dimension order in a graph), -ENOMEM.
 */
int routing_open(struct routing **, const struct topology *,
	const struct routing_options *);
void routing_close(struct routing *);
/*
 * Finds the legs from one node to another, without a host leg at the end; none
 * from a node to itself. The random stream serves ROUTE_TIES_RANDOM. Returns 0,
 * -EHOSTUNREACH, -E2BIG (too many legs), -ENOMEM.
 */
int routing_find(struct routing *, uint32_t from, uint32_t to, struct random *,
	struct routing_path *);
/*
 * Switches to up/down routes after the topology has lost links. Paths that were
 * found before stay readable. Returns 0 or -ENOMEM.
 */
int routing_rebuild(struct routing *);

static inline const uint32_t *routing_path_legs(const struct routing_path *p)
{
	return p->more ? p->more : p->leg;
}

static inline uint32_t routing_path_hops(const struct routing_path *p)
{
	const uint32_t *leg = routing_path_legs(p);
	uint32_t hops = 0;
	for (unsigned i = 0; i < p->count; i++)
		hops += routing_leg_hops(leg[i]);
	return hops;
}

/*
 * Builds the routing string of a path and a return path (or NULL), as in the
 * contract. Returns 0, -EINVAL (a port that is not a link), -E2BIG.
 */
int routing_string_of(uint16_t tag, const struct routing_path *there,
	const struct routing_path *back, struct routing_string *);

#endif
