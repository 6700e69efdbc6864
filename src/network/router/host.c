/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ejection. At a network port a packet is delivered. At the debug port the host
 * of the node receives packets that cannot continue, and sends them on by
 * another route. At the multicast port a packet is delivered and copied along
 * the tree.
 */
#include <errno.h>

#include "base/bits.h"
#include "network/engine/parts.h"

/* ---- delivery ---- */

static void host_deliver(
	struct worker *w, uint32_t node, const struct packet_state *p)
{
	uint64_t when = w->now + w->network->router.eject_delay;
	w->counters.packets_delivered++;
	w->counters.flits_delivered += p->length;
	if (p->flags & PACKET_MEASURED) {
		struct measurement *m = &w->measure;
		uint64_t latency = when - p->created;
		histogram_add(&m->latency, latency);
		m->network_latency += latency - p->entered;
		m->hops += p->hops;
		m->done++;
	}
	if (unlikely(p->record != PACKET_NONE))
		record_deliver(w, p, node, when, NETWORK_DELIVERED);
}

/* ---- sending on ---- */

/* The host holds the packet for its delay, then enqueues it at its source. */
static void host_send_on(struct worker *w, uint32_t node, uint32_t packet)
{
	const struct network *n = w->network;
	/* A node without hosts cannot send. */
	if (unlikely(node_host(n, node) == node_host(n, node + 1))) {
		packet_report(w, node, packet, NETWORK_LOST);
		return;
	}
	uint64_t when = w->now + n->router.eject_delay + n->options.host_delay;
	w->hosted++;
	wheel_put(&w->wheel, when, w->index, WHEEL_HOST, node, packet);
}

/* A total order of the packets that are sent on in one cycle. */
static bool resend_before(const struct network *n, const struct wheel_event *a,
	const struct wheel_event *b)
{
	const struct packet_state *x = flit_packet(n, a->value);
	const struct packet_state *y = flit_packet(n, b->value);
	if (a->index != b->index)
		return a->index < b->index;
	if (x->created != y->created)
		return x->created < y->created;
	if (x->from != y->from)
		return x->from < y->from;
	if (x->flags != y->flags)
		return x->flags < y->flags;
	return x->leg[0] < y->leg[0];
}

void host_resends(struct worker *w, struct wheel_list *l)
{
	const struct network *n = w->network;
	for (uint32_t i = 1; i < l->count; i++) {
		struct wheel_event e = l->event[i];
		uint32_t k = i;
		for (; k && resend_before(n, &e, &l->event[k - 1]); k--)
			l->event[k] = l->event[k - 1];
		l->event[k] = e;
	}
	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t node = l->event[i].index, packet = l->event[i].value;
		w->hosted--;
		if (unlikely(n->node[node].dead))
			packet_report(w, node, packet, NETWORK_LOST);
		else
			source_enqueue(w, node_host(n, node), packet);
	}
}

/* A packet has left by the debug port. */
static void host_drain(struct worker *w, uint32_t node, uint32_t packet)
{
	const struct network *n = w->network;
	struct packet_state *p = flit_packet(n, packet);
	uint32_t port = port_of(n, node, routing_leg_port(p->leg[0]));
	w->counters.drained++;
	/* A copy of a multicast has one leg and no alternative to it. */
	if (p->flags & PACKET_MULTICAST && n->port[port].flags & PORT_MASKED) {
		packet_report(w, node, packet, NETWORK_LOST);
		return;
	}
	p->flags |= PACKET_RESENT;
	host_send_on(w, node, packet);
}

/* ---- multicast ---- */

/* Sends a copy to the neighbour at a port of the tree. */
static void copy_send(struct worker *w, uint32_t node,
	const struct packet_state *p, unsigned port)
{
	struct network *n = w->network;
	uint32_t copy = packet_alloc(&w->pool);
	if (copy == PACKET_NONE) {
		worker_fail(w, -ENOMEM);
		return;
	}
	struct packet_state *c = flit_packet(n, copy);
	uint64_t link = (uint64_t)node * n->links + port;
	*c = *p;
	if (p->record != PACKET_NONE) {
		c->record = record_open(n, n->record[p->record].cookie);
		if (c->record == PACKET_NONE)
			worker_fail(w, -ENOMEM);
	}
	c->count = 1;
	c->leg[0] = routing_leg(port, 1, 0);
	c->leg[PACKET_NEXT_NODE] = n->link_end[port_of(n, node, port)];
	c->tree_port = n->topology->peer_port[link];
	c->flags |= PACKET_RESENT | PACKET_REPLICATED;
	w->counters.multicast_copies++;
	w->multicasts++;
	host_send_on(w, node, copy);
}

/* Delivers a multicast, and copies it to all other neighbours in the tree. */
static void host_replicate(struct worker *w, uint32_t node, uint32_t packet)
{
	struct network *n = w->network;
	struct packet_state *p = flit_packet(n, packet);
	uint32_t ports = tree_ports(&n->tree, node);
	if (p->tree_port != TREE_NO_PORT) {
		ports &= ~(1u << p->tree_port);
	} else if (p->record != PACKET_NONE && n->tree.reached < n->nodes) {
		/* The origin reports nodes that the tree does not reach. */
		for (uint32_t i = 0; i < n->nodes; i++)
			if (i != node && !(ports && tree_ports(&n->tree, i)))
				record_report(
					w, p, i, w->now, NETWORK_UNREACHABLE);
	}
	for (; ports; ports &= ports - 1)
		copy_send(w, node, p, (unsigned)__builtin_ctz(ports));
	host_deliver(w, node, p);
	packet_end(w, packet);
}

/* ---- ejection ---- */

void host_eject(struct worker *w, uint32_t node, unsigned port, uint32_t flit)
{
	struct network *n = w->network;
	uint32_t packet = flit & PACKET_NUMBER;
	struct packet_state *p = flit_packet(n, flit);
	if (!(flit & PACKET_TAIL))
		return;
	if (port == n->port_debug) {
		host_drain(w, node, packet);
	} else if (unlikely(port != n->port_multicast &&
			    host_node(n, p->to) != node)) {
		/* An intermediate node of a rerouted packet. */
		p->flags |= PACKET_RESENT;
		w->counters.forwarded++;
		host_send_on(w, node, packet);
	} else if (port == n->port_multicast) {
		host_replicate(w, node, packet);
	} else {
		host_deliver(w, p->to, p);
		packet_end(w, packet);
	}
}
