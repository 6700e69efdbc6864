/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where packets leave: at a network port they have arrived; at the debug port
 * the host of a node drains those that cannot go on, and sends them on another
 * way; at the multicast port they are spooled, kept and sent on along the tree.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "network/engine/parts.h"

static void packet_free(struct worker *w, uint32_t packet)
{
	if (flit_packet(w->network, packet)->flags & PACKET_SPREADS)
		w->multicasts--;
	packet_give(&w->pool, packet);
}

/* ---- arrival ---- */

static void measure_add(
	struct measure *m, const struct packet *p, uint64_t when)
{
	uint64_t latency = when - p->created;
	histogram_add(&m->latency, latency);
	m->network_latency += latency - p->entered;
	m->hops += p->hops;
	m->done++;
}

static void host_deliver(
	struct worker *w, uint32_t node, const struct packet *p)
{
	uint64_t when = w->now + w->network->router.eject_delay;
	w->counters.packets_delivered++;
	w->counters.flits_delivered += p->length;
	if (p->flags & PACKET_MEASURED)
		measure_add(&w->measure, p, when);
	if (unlikely(p->record != PACKET_NONE))
		record_deliver(w, p, node, when, NETWORK_DELIVERED);
}

/* Those who would have got it from a node, in the tree: that node first. */
static void nodes_behind(
	struct worker *w, uint32_t node, unsigned came_by, struct places *l)
{
	const struct network *n = w->network;
	places_put(w, l, node << 8 | came_by);
	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t at = l->of[i] >> 8, by = l->of[i] & 0xff;
		uint32_t ports = tree_ports(&n->tree, at);
		if (by != TREE_NO_PORT)
			ports &= ~(1u << by);
		for (; ports; ports &= ports - 1) {
			unsigned p = (unsigned)__builtin_ctz(ports);
			uint64_t link = (uint64_t)at * n->links + p;
			places_put(w, l,
				n->link_end[port_of(n, at, p)] << 8 |
					n->topology->entrance[link]);
		}
	}
}

/* A multicast that is cut does not get to anybody behind. */
static void report_behind(
	struct worker *w, const struct packet *p, enum network_fate fate)
{
	struct places l = { 0 };
	nodes_behind(w, p->leg[PACKET_NEXT_NODE], p->came_by, &l);
	for (uint32_t i = 0; i + 1 < l.count; i++)
		record_note(w, p, l.of[i] >> 8, w->now, fate);
	if (l.count)
		record_deliver(w, p, l.of[l.count - 1] >> 8, w->now, fate);
	free(l.of);
}

void host_report(struct worker *w, uint32_t node, uint32_t packet,
	enum network_fate fate)
{
	struct packet *p = flit_packet(w->network, packet);
	w->counters.packets_reported++;
	if (p->flags & PACKET_MEASURED)
		w->measure.done++;
	if (p->record != PACKET_NONE && p->flags & PACKET_MULTICAST)
		report_behind(w, p, fate);
	else if (p->record != PACKET_NONE)
		record_deliver(w, p, node, w->now, fate);
	packet_free(w, packet);
}

/* ---- sending on ---- */

/* In a while; until then the packet is the host's. */
static void host_later(struct worker *w, uint32_t node, uint32_t packet)
{
	const struct network *n = w->network;
	uint64_t when = w->now + n->router.eject_delay + n->options.host_delay;
	w->hosted++;
	wheel_put(&w->wheel, when, w->index, WHEEL_HOST, node, packet);
}

static void host_resend(struct worker *w, uint32_t node, uint32_t packet)
{
	w->hosted--;
	if (unlikely(w->network->node[node].dead))
		host_report(w, node, packet, NETWORK_CUT);
	else
		source_queue(w, node, packet);
}

/* Of two that a host sends on in the same cycle: not who came first here. */
static bool resend_before(const struct network *n, const struct wheel_event *a,
	const struct wheel_event *b)
{
	const struct packet *x = flit_packet(n, a->what);
	const struct packet *y = flit_packet(n, b->what);
	if (a->place != b->place)
		return a->place < b->place;
	if (x->created != y->created)
		return x->created < y->created;
	if (x->from != y->from)
		return x->from < y->from;
	if (x->flags != y->flags)
		return x->flags < y->flags;
	return x->leg[0] < y->leg[0];
}

void host_events(struct worker *w, struct wheel_list *l)
{
	for (uint32_t i = 1; i < l->count; i++) {
		struct wheel_event e = l->event[i];
		uint32_t k = i;
		for (; k && resend_before(w->network, &e, &l->event[k - 1]);
			k--)
			l->event[k] = l->event[k - 1];
		l->event[k] = e;
	}
	for (uint32_t i = 0; i < l->count; i++)
		host_resend(w, l->event[i].place, l->event[i].what);
}

/* A copy of a multicast has one leg, and no other way than that. */
static bool copy_cut(
	const struct network *n, uint32_t node, const struct packet *p)
{
	unsigned port = space_leg_port(p->leg[0]);
	return p->flags & PACKET_MULTICAST &&
	       n->port[port_of(n, node, port)].flags & PORT_MASKED;
}

static void host_drain(struct worker *w, uint32_t node, uint32_t packet)
{
	struct packet *p = flit_packet(w->network, packet);
	w->counters.drained++;
	if (copy_cut(w->network, node, p)) {
		host_report(w, node, packet, NETWORK_CUT);
		return;
	}
	p->flags |= PACKET_RESENT;
	host_later(w, node, packet);
}

/* It has come here only because the way to its end is cut. */
static void host_forward(struct worker *w, uint32_t node, uint32_t packet)
{
	flit_packet(w->network, packet)->flags |= PACKET_RESENT;
	w->counters.forwarded++;
	host_later(w, node, packet);
}

/* ---- multicast ---- */

static uint32_t copy_packet(struct worker *w, const struct packet *p)
{
	struct network *n = w->network;
	uint32_t copy = packet_take(&w->pool);
	if (copy == PACKET_NONE)
		return copy;
	struct packet *c = flit_packet(n, copy);
	*c = *p;
	if (p->record != PACKET_NONE) {
		c->record = record_open(n, n->record[p->record].cookie);
		if (c->record == PACKET_NONE)
			worker_fail(w, -ENOMEM);
	}
	w->counters.multicast_copies++;
	return copy;
}

static void copy_send(
	struct worker *w, uint32_t node, const struct packet *p, unsigned port)
{
	struct network *n = w->network;
	uint32_t copy = copy_packet(w, p);
	if (copy == PACKET_NONE) {
		worker_fail(w, -ENOMEM);
		return;
	}
	struct packet *c = flit_packet(n, copy);
	uint64_t link = (uint64_t)node * n->links + port;
	c->count = 1;
	c->leg[0] = space_leg(port, 1, 0);
	c->leg[PACKET_NEXT_NODE] = n->link_end[port_of(n, node, port)];
	c->came_by = n->topology->entrance[link];
	c->flags |= PACKET_RESENT | PACKET_SPREADS;
	w->multicasts++;
	host_later(w, node, copy);
}

/* Nodes that are not in the tree, since the network has fallen apart. */
static void report_outside(
	struct worker *w, const struct packet *p, uint32_t from)
{
	const struct tree *t = &w->network->tree;
	bool inside = tree_ports(t, from);
	for (uint32_t i = 0; i < w->network->nodes; i++)
		if (i != from && !(inside && tree_ports(t, i)))
			record_note(w, p, i, w->now, NETWORK_UNREACHABLE);
}

/* Whoever gets it sends it to all neighbours in the tree but the giver. */
static void host_spread(struct worker *w, uint32_t node, uint32_t packet)
{
	struct network *n = w->network;
	struct packet *p = flit_packet(n, packet);
	uint32_t ports = tree_ports(&n->tree, node);
	if (p->came_by != TREE_NO_PORT)
		ports &= ~(1u << p->came_by);
	else if (p->record != PACKET_NONE && n->tree.reached < n->nodes)
		report_outside(w, p, node);
	for (; ports; ports &= ports - 1)
		copy_send(w, node, p, (unsigned)__builtin_ctz(ports));
	host_deliver(w, node, p);
	packet_free(w, packet);
}

/* ---- */

void host_take(struct worker *w, uint32_t node, unsigned port, uint32_t flit)
{
	struct network *n = w->network;
	uint32_t packet = flit & PACKET_NUMBER;
	struct packet *p = flit_packet(n, flit);
	if (!(flit & PACKET_TAIL))
		return;
	if (port == n->port_debug) {
		host_drain(w, node, packet);
	} else if (unlikely(p->to != node && port != n->port_multicast)) {
		host_forward(w, node, packet);
	} else if (port == n->port_multicast) {
		host_spread(w, node, packet);
	} else {
		host_deliver(w, node, p);
		packet_free(w, packet);
	}
}
