/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a set of routes free of deadlock? A packet that holds a channel waits for
 * the next one of its route: that is a dependency. If the dependencies of all
 * routes form no cycle, some packet can always go on (Dally and Seitz).
 *
 * A channel is a link port of a node and a group. Whatever follows it leaves
 * from the node at its end, so its dependencies are a few bits.
 */
#ifndef CAY_NETWORK_ROUTING_DEPENDENCY_H
#define CAY_NETWORK_ROUTING_DEPENDENCY_H

#include "network/routing/routing_string.h"

struct channel {
	uint32_t node; /* that it leaves from */
	uint8_t port;
	uint8_t group; /* enum channel_group */
};

struct dependency {
	const struct topology *topology;
	/* By channel; bit 2 * port + group of the channel that follows. */
	uint64_t *follows;
};

_Static_assert(2 * TOPOLOGY_PORTS_MAX <= 64, "a bit for each next channel");

/* 0 or -ENOMEM. */
int dependency_open(struct dependency *, const struct topology *);
void dependency_free(struct dependency *);
/* Adds a route; 0, or -EINVAL: it leaves the topology. */
int dependency_add(struct dependency *, uint32_t from, const struct route *);
/*
 * A cycle: *count channels, each of which waits for the next and the last for
 * the first; to be freed. 0: *count is 0 if there is none. Or -ENOMEM.
 */
int dependency_cycle(
	const struct dependency *, struct channel **cycle, uint32_t *count);

#endif
