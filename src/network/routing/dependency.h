/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The channel dependency graph of a set of routes. A packet that holds a
 * channel waits for the next one of its route: the first depends on the second.
 * If the graph has no cycle, the routes are free of deadlock (Dally and Seitz).
 *
 * A channel is a link port of a node and a channel class. All channels that it
 * depends on leave from the node at its end, so a bit for each is enough.
 */
#ifndef CAY_NETWORK_ROUTING_DEPENDENCY_H
#define CAY_NETWORK_ROUTING_DEPENDENCY_H

#include "network/routing/routing.h"

#define CHANNEL_VC_ANY 0xff /* any virtual channel of the class */

struct channel {
	uint32_t node; /* where it begins */
	uint8_t port;
	uint8_t class;
	uint8_t vc; /* or CHANNEL_VC_ANY */
};

struct dependency {
	const struct topology *topology;
	unsigned classes;
	unsigned words; /* of 64 bits, for the channels of a node */
	/* By channel: bits port * classes + class of those it depends on. */
	uint64_t *follows;
};

/* Returns 0 or -ENOMEM. */
int dependency_open(
	struct dependency *, const struct topology *, unsigned classes);
void dependency_free(struct dependency *);
/*
 * Adds the dependency of a channel on one that leaves the node at its end.
 * Returns 0, or -EINVAL: there is no such channel.
 */
int dependency_add(struct dependency *, const struct channel *before,
	unsigned port, unsigned class);
/* Adds a path. Returns 0, or -EINVAL: it leaves the topology. */
int dependency_add_path(
	struct dependency *, uint32_t from, const struct routing_path *);
/* The same for a route of at most two classes. */
int dependency_add_route(
	struct dependency *, uint32_t from, const struct route *);
/*
 * Finds a cycle: *count channels, each of which depends on the next, and the
 * last on the first. The caller frees it; *count is 0 if there is none. Returns
 * 0 or -ENOMEM.
 */
int dependency_cycle(
	const struct dependency *, struct channel **cycle, uint32_t *count);

#endif
