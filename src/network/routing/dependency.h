/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The channel dependency graph of a set of routes. A packet that holds a
 * channel waits for the next one of its route: the first depends on the second.
 * If the graph has no cycle, the routes are free of deadlock (Dally and Seitz).
 *
 * A channel is a link port of a node and a channel group. All channels that it
 * depends on leave from the node at its end, so a bit for each is enough.
 */
#ifndef CAY_NETWORK_ROUTING_DEPENDENCY_H
#define CAY_NETWORK_ROUTING_DEPENDENCY_H

#include "network/routing/route.h"

struct channel {
	uint32_t node; /* where it begins */
	uint8_t port;
	uint8_t group; /* enum channel_group */
};

struct dependency {
	const struct topology *topology;
	/* By channel: bits 2 * port + group of the channels it depends on. */
	uint64_t *follows;
};

_Static_assert(2 * TOPOLOGY_PORTS_MAX <= 64, "a bit for each next channel");

/* Returns 0 or -ENOMEM. */
int dependency_open(struct dependency *, const struct topology *);
void dependency_free(struct dependency *);
/* Adds a route. Returns 0, or -EINVAL: it leaves the topology. */
int dependency_add(struct dependency *, uint32_t from, const struct route *);
/*
 * Finds a cycle: *count channels, each of which depends on the next, and the
 * last on the first. The caller frees it; *count is 0 if there is none. Returns
 * 0 or -ENOMEM.
 */
int dependency_cycle(
	const struct dependency *, struct channel **cycle, uint32_t *count);

#endif
