/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Properties of a topology: in closed form if possible; of graphs, and of
 * topologies that have lost links, by a search from every node.
 */
#ifndef CAY_NETWORK_TOPOLOGY_METRIC_H
#define CAY_NETWORK_TOPOLOGY_METRIC_H

#include "network/topology/topology.h"

/* The most nodes of a topology that is searched. */
#define METRIC_SEARCH_MAX 16384

/* A link has two channels, one in each direction. */
struct metric {
	uint64_t nodes, links;
	uint32_t diameter; /* hops between nodes with hosts */
	double distance; /* mean, of uniform traffic that includes the sender */
	double distance_far; /* and without the sender; 0 of a single node */
	/*
	 * Least number of channels between two halves (equal up to one node).
	 * 0: not known.
	 */
	uint64_t bisection;
	/*
	 * Flits per cycle of the busiest channel if every host sends one flit
	 * per cycle, uniformly, including itself, with dimension-order routing
	 * and evenly split ties. Of a graph, the mean of all channels, a lower
	 * bound for any routing. The inverse is an upper bound of the load.
	 */
	double channel_load;
};

/*
 * Computes the metric. Returns 0, -EHOSTUNREACH (not connected), -E2BIG (more
 * than METRIC_SEARCH_MAX nodes), -ENOMEM. Any thread.
 */
int metric_of(const struct topology *, struct metric *);

#endif
