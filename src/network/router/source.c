/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Injection. Each network port of a node has an unbounded source queue and
 * injects one packet after the other into its router, one flit per cycle. A
 * packet is routed when it leaves the queue.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "network/engine/parts.h"

/* Entries of the worklist: host << SOURCE_BITS | network port. */
#define SOURCE_BITS 2

_Static_assert(ROUTER_NETWORK_MAX <= 1 << SOURCE_BITS, "a number for each");

/* ---- the queue ---- */

void source_enqueue(struct worker *w, uint32_t host, uint32_t packet)
{
	struct network *n = w->network;
	struct packet_state *p = flit_packet(n, packet);
	struct source_queue *all = host_sources(n, host);
	unsigned port = 0;
	/* The shortest queue; with ordered delivery, always the same. */
	if (n->network_ports > 1 && n->router.ordered)
		port = p->tag % n->network_ports;
	else
		for (unsigned i = 1; i < n->network_ports; i++)
			if (all[i].count < all[port].count)
				port = i;
	struct source_queue *s = &all[port];
	p->next = PACKET_NONE;
	if (s->first == PACKET_NONE)
		s->first = packet;
	else
		flit_packet(n, s->tail)->next = packet;
	s->tail = packet;
	s->count++;
	w->queued++;
	if (!s->listed)
		worklist_add(w, &w->source_worklist[w->now & 1],
			host << SOURCE_BITS | port);
	s->listed = true;
}

/*
 * While the network drains, only copies of a multicast that is in progress are
 * injected. Moves the first of them to the front; returns false if there is
 * none.
 */
static bool queue_select_copy(const struct network *n, struct source_queue *s)
{
	uint32_t before = PACKET_NONE, packet = s->first;
	while (packet != PACKET_NONE &&
		!(flit_packet(n, packet)->flags & PACKET_REPLICATED)) {
		before = packet;
		packet = flit_packet(n, packet)->next;
	}
	if (packet == PACKET_NONE || before == PACKET_NONE)
		return packet != PACKET_NONE;
	flit_packet(n, before)->next = flit_packet(n, packet)->next;
	if (s->tail == packet)
		s->tail = before;
	flit_packet(n, packet)->next = s->first;
	s->first = packet;
	return true;
}

/* ---- routes ---- */

/* Sets the legs of a packet. Returns 0, or -errno of routing_find(). */
static int packet_route(struct worker *w, uint32_t node, struct packet_state *p)
{
	struct network *n = w->network;
	struct routing_path path;
	p->leg_rest = 0;
	p->leg_next = 0;
	if (p->flags & PACKET_MULTICAST) {
		/* Along the tree: the packet has its leg of one hop, if any. */
		p->hops = (uint16_t)(p->hops + p->count);
		return 0;
	}
	uint32_t to = host_node(n, p->to);
	int r = unlikely(n->rerouting) ? reroute_find(n, node, to, &path)
				       : routing_find(n->routing, node, to,
						 &n->node[node].random, &path);
	if (r)
		return r;
	uint32_t hops = p->hops + routing_path_hops(&path);
	if (hops > UINT16_MAX)
		return -E2BIG;
	p->hops = (uint16_t)hops;
	p->count = (uint16_t)path.count;
	if (path.count > ROUTING_LEGS_INLINE)
		p->more = path.more;
	else if (likely(!path.more))
		memcpy(p->leg, path.leg, sizeof(p->leg));
	else
		memcpy(p->leg, path.more, path.count * sizeof(*p->leg));
	return 0;
}

/* ---- injection ---- */

/* Selects the next channel with credit, round robin. False: none has. */
static bool channel_select(const struct network *n, struct source_queue *s,
	const struct output_vc *out, const struct packet_state *p)
{
	unsigned need = n->router.switching == ROUTER_CUT_THROUGH ? p->length
								  : 1;
	uint16_t allowed = n->class_mask[CLASS_ANY];
	if (n->router.ordered)
		allowed = vc_ordered(allowed, p->tag / n->network_ports);
	for (unsigned i = 1; i <= n->channels; i++) {
		unsigned c = s->last_channel + i;
		c -= c >= n->channels ? n->channels : 0;
		if (allowed >> c & 1 && out[c].credits >= need) {
			s->channel = s->last_channel = (uint8_t)c;
			return true;
		}
	}
	return false;
}

/*
 * Takes the next packet off the queue and routes it. Unreachable ones are
 * reported. Returns false if no packet can be injected now.
 */
static bool packet_dequeue(struct worker *w, uint32_t node,
	struct source_queue *s, const struct output_vc *out)
{
	struct network *n = w->network;
	while (unlikely(n->draining) ? queue_select_copy(n, s)
				     : s->first != PACKET_NONE) {
		uint32_t packet = s->first;
		struct packet_state *p = flit_packet(n, packet);
		if (!channel_select(n, s, out, p))
			return false;
		s->first = p->next;
		s->count--;
		w->queued--;
		int r = packet_route(w, node, p);
		if (r) {
			if (r == -ENOMEM)
				worker_fail(w, r);
			packet_report(w, node, packet, NETWORK_UNREACHABLE);
			continue;
		}
		s->packet = packet;
		s->sent = 0;
		if (!(p->flags & PACKET_RESENT))
			p->entered = (uint32_t)(w->now - p->created);
		if (p->flags & PACKET_MULTICAST &&
			!(p->flags & PACKET_REPLICATED)) {
			p->flags |= PACKET_REPLICATED;
			w->multicasts++;
		}
		return true;
	}
	return false;
}

/* Injects a flit, if possible. Returns false if the source has no more. */
static bool source_inject(struct worker *w, uint32_t number)
{
	struct network *n = w->network;
	uint32_t host = number >> SOURCE_BITS, node = host_node(n, host);
	unsigned port = number & ((1u << SOURCE_BITS) - 1);
	struct source_queue *s = &host_sources(n, host)[port];
	port += host_port(n, node, host);
	struct output_vc *out =
		&n->output[vc_of(n, node, n->port_source + port, 0)];
	if (s->packet == PACKET_NONE && !packet_dequeue(w, node, s, out))
		return s->listed = s->first != PACKET_NONE;
	if (out[s->channel].credits == 0)
		return true;
	const struct packet_state *p = flit_packet(n, s->packet);
	uint32_t flit = s->packet;
	if (s->sent == 0)
		flit |= p->record == PACKET_NONE
				? PACKET_HEAD
				: PACKET_HEAD | PACKET_RECORDED;
	if (++s->sent == p->length)
		flit |= PACKET_TAIL;
	out[s->channel].credits--;
	wheel_put(&w->wheel, w->now + n->router.inject_delay, w->index,
		WHEEL_FLIT, vc_of(n, node, n->links + port, s->channel), flit);
	if (flit & PACKET_TAIL)
		s->packet = PACKET_NONE;
	return s->listed = s->packet != PACKET_NONE || s->first != PACKET_NONE;
}

void sources_inject(struct worker *w)
{
	struct worklist *now = &w->source_worklist[w->now & 1];
	struct worklist *next = &w->source_worklist[~w->now & 1];
	for (uint32_t i = 0; i < now->count; i++) {
		uint32_t number = now->entry[i];
		if (source_inject(w, number))
			worklist_add(w, next, number);
	}
	now->count = 0;
}
