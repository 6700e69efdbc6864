/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets whose output port is masked: detours, and the debug port. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "network/engine/parts.h"

/*
 * Replaces the hop to a masked port by its detour, in front of the remaining
 * legs. Returns false if there is no detour, or no room for its legs.
 */
static bool detour_take(
	const struct network *n, uint32_t port, struct packet_state *p)
{
	uint32_t leg[ROUTING_LEGS_INLINE];
	const struct detour *d = NULL;
	for (unsigned i = 0; i < n->detours && !d; i++)
		if (n->detour[i].port == port)
			d = &n->detour[i];
	if (!d)
		return false;
	unsigned count = d->count, rest = p->count - p->leg_next;
	bool mid_leg = routing_leg_hops(p->leg_rest);
	if (count + rest + mid_leg > ROUTING_LEGS_INLINE)
		return false;
	memcpy(leg, d->leg, count * sizeof(*leg));
	if (mid_leg)
		leg[count++] = p->leg_rest;
	for (unsigned i = 0; i < rest; i++)
		leg[count++] = packet_leg(p, p->leg_next + i);
	memcpy(p->leg, leg, count * sizeof(*leg));
	p->count = (uint16_t)count;
	p->leg_next = 0;
	p->leg_rest = 0;
	return true;
}

unsigned detour_port(struct worker *w, uint32_t node, unsigned port,
	struct packet_state *p, unsigned *class)
{
	const struct network *n = w->network;
	uint32_t left = packet_hops_left(p);
	w->counters.interrupts++;
	w->counters.masked++;
	/* At most one detour per packet, so that detours cannot loop. */
	if (!(p->flags & (PACKET_DETOURED | PACKET_MULTICAST)) &&
		detour_take(n, port_of(n, node, port), p)) {
		p->flags |= PACKET_DETOURED;
		p->hops = (uint16_t)(p->hops + packet_hops_left(p) - left - 1);
		struct packet_hop hop = packet_route_hop(p);
		*class = hop.class;
		w->counters.detours++;
		if (!(n->port[port_of(n, node, hop.port)].flags & PORT_MASKED))
			return hop.port;
		left = packet_hops_left(p);
	}
	/* The hops that remain do not count; those of the new route will. */
	p->hops = (uint16_t)(p->hops - left - 1);
	*class = CLASS_ANY;
	return n->port_debug;
}

/* Returns true if the legs lead to the neighbour at a port, but not by it. */
static bool detour_valid(const struct network *n, uint32_t node, unsigned port,
	const uint32_t *legs, unsigned count)
{
	uint32_t to = topology_next(n->topology, node, port);
	uint32_t start = node;
	for (unsigned i = 0; i < count; i++) {
		unsigned out = routing_leg_port(legs[i]);
		if (routing_leg_hops(legs[i]) == 0)
			return false;
		for (uint32_t h = routing_leg_hops(legs[i]); h; h--) {
			if (out >= n->links || (node == start && out == port))
				return false;
			node = topology_next(n->topology, node, out);
			if (node == TOPOLOGY_NOWHERE)
				return false;
		}
	}
	return to != TOPOLOGY_NOWHERE && node == to;
}

int network_detour(struct network *n, uint32_t node, unsigned port,
	const uint32_t *legs, unsigned count)
{
	if (node >= n->nodes || port >= n->links || count == 0 ||
		count > ROUTING_LEGS_INLINE ||
		!detour_valid(n, node, port, legs, count))
		return -EINVAL;
	struct detour *more =
		realloc(n->detour, (n->detours + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	n->detour = more;
	struct detour *d = &more[n->detours++];
	*d = (struct detour){ .port = port_of(n, node, port), .count = count };
	memcpy(d->leg, legs, count * sizeof(*legs));
	return 0;
}
