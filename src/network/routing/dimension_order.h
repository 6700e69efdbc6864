/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways in the order of dimensions, for the routing functions that use them. */
#ifndef CAY_NETWORK_ROUTING_DIMENSION_ORDER_H
#define CAY_NETWORK_ROUTING_DIMENSION_ORDER_H

#include "network/routing/class.h"
#include "network/routing/table.h"
#include "network/topology/class.h"

/* The begin of the state of these routing functions. */
struct dimension_order {
	struct routing base;
	uint64_t inverse[TOPOLOGY_DIMENSIONS_MAX]; /* see coordinate() */
	/* By dimension: legs by both coordinates, and direction of a tie. */
	uint32_t *leg[ROUTING_LEGS_INLINE];
	bool tabulated; /* all dimensions have such legs */
	struct route_table *cube;
};

const char *order_refuse(
	const struct topology *, const struct routing_options *);
int order_open(struct routing *);
void order_close(struct routing *);
/*
 * Appends the legs from one node to another. Ties go up, or down in dimensions
 * whose bit in `down` is set. Returns 0 or -E2BIG.
 */
int order_find(const struct dimension_order *, unsigned down, uint32_t from,
	uint32_t to, struct routing_path *);
/* See struct routing_class. */
int order_depend(struct routing *, struct dependency *, routing_progress *,
	void *context);

/* Each packet draws the directions of its ties. */
static inline bool order_drawn(const struct routing *s)
{
	return s->topology->class->rings && !s->options.ordered &&
	       s->options.ties == ROUTE_TIES_RANDOM;
}

/* The number of combinations of directions that are drawn. */
static inline unsigned order_ways(const struct routing *s)
{
	return order_drawn(s) ? 1u << s->topology->dimensions : 1;
}

/* The directions of ties between two nodes. */
static inline unsigned order_ties(const struct routing *s, uint32_t from,
	uint32_t to, struct random *random)
{
	if (!s->topology->class->rings || s->options.ties == ROUTE_TIES_UP)
		return 0;
	if (!order_drawn(s) || !random)
		return route_pair_ties(from, to);
	return route_ties_of(random_next(random));
}

#endif
