/* SPDX-License-Identifier: BSD-2-Clause */
/* Flits enter the buffers of input VCs; head flits are routed. */
#include "network/router/input.h"

#define AHEAD 8 /* events whose state is prefetched */

/*
 * Routes the packet at the front of an input VC: the next hop of its source
 * route names the output port and the channel class. VC allocation follows
 * after the delay of the routing stage.
 */
static inline void head_route(
	struct worker *w, struct input_vc *in, uint32_t vc, uint64_t when)
{
	struct network *n = w->network;
	struct packet_state *p = flit_packet(n, in->front);
	in->last_port = in->port;
	struct packet_hop hop = packet_route_hop(p);
	uint32_t node = vc_node(n, vc);
	unsigned port = hop.port, class = hop.class;
	if (unlikely(port >= n->links)) {
		port = n->network_ports == 1
			       ? n->links + host_port(n, node, p->to)
			       : PORT_ANY;
		class = CLASS_ANY;
		if (unlikely(p->flags & PACKET_MULTICAST))
			port = n->port_multicast;
	} else if (unlikely(n->any_masked) &&
		   n->port[port_of(n, node, port)].flags & PORT_MASKED) {
		port = detour_port(w, node, port, p, &class);
	}
	in->port = (uint8_t)port;
	in->class = class & 15;
	in->state = INPUT_VC_ALLOC;
	in->request_time = (uint32_t)(when + n->router.route_delay);
	if (n->input_tag)
		n->input_tag[vc] = p->tag;
	input_request_vc(w, vc);
}

void input_route(struct worker *w, uint32_t vc, uint64_t when)
{
	head_route(w, &w->network->input[vc], vc, when);
}

void flits_arrive(struct worker *w, const struct wheel_list *l)
{
	const struct network *n = w->network;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct wheel_event *e = &l->event[i];
		if (likely(i + AHEAD < l->count)) {
			__builtin_prefetch(&n->input[e[AHEAD].index], 1);
			__builtin_prefetch(flit_packet(n, e[AHEAD].value), 1);
		}
		struct input_vc *in = &n->input[e->index];
		input_push(n, in, e->index, e->value);
		if (in->state == INPUT_IDLE)
			head_route(w, in, e->index, w->now);
		else if (in->state == INPUT_ACTIVE && in->count == 1)
			input_request_switch(w, in, e->index);
		if (unlikely(!n->credits))
			credit_threshold(w, e->index);
	}
}
