/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flits come to a node: into the buffers of its inputs, where heads read their
 * route.
 */
#include "network/router/input.h"

#define AHEAD 8 /* events that are asked for before their turn */

static unsigned step_output(
	struct worker *w, uint32_t node, struct packet *p, unsigned *group)
{
	const struct network *n = w->network;
	struct packet_step step = packet_next(p);
	*group = step.group;
	if (likely(step.port < n->links)) {
		if (unlikely(n->masks) &&
			n->port[port_of(n, node, step.port)].flags &
				PORT_MASKED)
			return fault_avoid(w, node, step.port, p, group);
		return step.port;
	}
	*group = GROUP_ANY;
	if (unlikely(p->flags & PACKET_MULTICAST))
		return n->port_multicast;
	return n->network_ports == 1 ? n->links : PORT_ANY;
}

static inline void route_read(
	struct worker *w, struct input *in, uint32_t place, uint64_t when)
{
	struct network *n = w->network;
	struct packet *p = flit_packet(n, in->front);
	unsigned group;
	in->turn = in->port;
	in->port = (uint8_t)step_output(w, place_node(n, place), p, &group);
	in->group = group & 3;
	in->state = INPUT_ASKING;
	in->since = (uint32_t)(when + n->router.route_delay);
	if (n->input_tag)
		n->input_tag[place] = p->tag;
	input_asks(w, place);
}

void arrive_route(struct worker *w, uint32_t place, uint64_t when)
{
	route_read(w, &w->network->input[place], place, when);
}

static inline void flit_arrives(struct worker *w, uint32_t place, uint32_t flit)
{
	const struct network *n = w->network;
	struct input *in = &n->input[place];
	input_push(n, in, place, flit);
	if (in->state == INPUT_IDLE)
		route_read(w, in, place, w->now);
	else if (in->state == INPUT_ACTIVE && in->count == 1)
		input_moves(w, in, place);
	if (unlikely(!n->credits))
		credit_level(w, place);
}

void arrive_flits(struct worker *w, const struct wheel_list *l)
{
	const struct network *n = w->network;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct wheel_event *e = &l->event[i];
		/* What it will touch is known: asking early hides the wait. */
		if (likely(i + AHEAD < l->count)) {
			__builtin_prefetch(&n->input[e[AHEAD].place], 1);
			__builtin_prefetch(flit_packet(n, e[AHEAD].what), 1);
		}
		flit_arrives(w, e->place, e->what);
	}
}
