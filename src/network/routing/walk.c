/* SPDX-License-Identifier: BSD-2-Clause */
/* The hops of a path; see routing.h. */
#include "network/routing/routing.h"

void routing_walk_begin(struct routing_walk *w, const struct topology *t,
	uint32_t from, const struct routing_path *path)
{
	*w = (struct routing_walk){ .topology = t, .path = path, .to = from };
}

/* Ends at a port that leads nowhere, too. */
bool routing_walk_next(struct routing_walk *w)
{
	const uint32_t *leg = routing_path_legs(w->path);
	while (w->leg_index < w->path->count && w->to != TOPOLOGY_NOWHERE) {
		uint32_t now = leg[w->leg_index];
		if (w->hop < routing_leg_hops(now)) {
			w->port = routing_leg_port(now);
			w->class = routing_leg_class(now) +
				   (w->hop++ >= routing_leg_low(now));
			w->from = w->to;
			w->to = w->port < w->topology->ports
					? topology_next(
						  w->topology, w->from, w->port)
					: TOPOLOGY_NOWHERE;
			return w->to != TOPOLOGY_NOWHERE;
		}
		w->leg_index++;
		w->hop = 0;
	}
	return false;
}
