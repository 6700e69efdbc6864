/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can be said of a topology without simulating it. Closed forms where
 * there are some; of graphs, and of what has lost links, by searching from
 * every node.
 */
#ifndef CAY_NETWORK_TOPOLOGY_METRIC_H
#define CAY_NETWORK_TOPOLOGY_METRIC_H

#include "network/topology/topology.h"

/* A search from every node takes too long for more. */
#define METRIC_SEARCH_MAX 16384

/* A link has two channels, one in each direction. */
struct metric {
	uint64_t nodes, links;
	uint32_t diameter;   /* hops */
	double distance;     /* mean, of uniform traffic with oneself */
	double distance_far; /* and without; 0 of a single node */
	/*
	 * Channels between two halves, or halves but for a node, if these are
	 * chosen so that there are fewest. 0: not known.
	 */
	uint64_t bisection;
	/*
	 * Flits per cycle of the busiest channel if every node sends one per
	 * cycle, uniformly, with oneself, on minimal routes in dimension order
	 * and ties that are split evenly. Of a graph the mean of all channels:
	 * no routes can do better. Its inverse bounds the load.
	 */
	double channel_load;
};

/* 0, -EHOSTUNREACH (not connected), -E2BIG (see above), -ENOMEM. Any thread. */
int metric_of(const struct topology *, struct metric *);

#endif
