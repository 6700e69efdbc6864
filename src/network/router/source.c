/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where packets enter: each network port of a node has a queue without end, and
 * sends one packet after the other, a flit in a cycle, into the buffers of its
 * router. A packet gets its way when it leaves the queue.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "network/engine/parts.h"

/* In lists: the node, and which of its network ports. */
#define SOURCE_BITS 2

_Static_assert(ROUTER_NETWORK_MAX <= 1 << SOURCE_BITS, "a number for each");

/* ---- queues ---- */

/* In order: always the same port; else the shortest queue. */
static unsigned source_port(
	const struct network *n, uint32_t node, const struct packet *p)
{
	const struct source *s = node_sources(n, node);
	unsigned best = 0;
	if (n->network_ports == 1)
		return 0;
	if (n->router.ordered)
		return p->tag % n->network_ports;
	for (unsigned i = 1; i < n->network_ports; i++)
		if (s[i].count < s[best].count)
			best = i;
	return best;
}

static struct source *source_open(
	struct worker *w, uint32_t node, const struct packet *p)
{
	struct network *n = w->network;
	unsigned port = source_port(n, node, p);
	struct source *s = &node_sources(n, node)[port];
	if (!s->listed)
		places_put(
			w, &w->sending[w->now & 1], node << SOURCE_BITS | port);
	s->listed = true;
	s->count++;
	w->queued++;
	return s;
}

void source_queue(struct worker *w, uint32_t node, uint32_t packet)
{
	struct packet *p = flit_packet(w->network, packet);
	struct source *s = source_open(w, node, p);
	p->next = PACKET_NONE;
	if (s->first == PACKET_NONE)
		s->first = packet;
	else
		flit_packet(w->network, s->tail)->next = packet;
	s->tail = packet;
}

static uint32_t source_pop(struct worker *w, struct source *s)
{
	uint32_t packet = s->first;
	s->first = flit_packet(w->network, packet)->next;
	s->count--;
	w->queued--;
	return packet;
}

/* ---- routes ---- */

static uint32_t way_hops(const struct space_way *way)
{
	const uint32_t *leg = space_way_legs(way);
	uint32_t hops = 0;
	for (unsigned i = 0; i < way->count; i++)
		hops += space_leg_hops(leg[i]);
	return hops;
}

int source_route(struct worker *w, uint32_t node, struct packet *p)
{
	struct network *n = w->network;
	struct space_way way;
	p->left = 0;
	p->at = 0;
	if (p->flags & PACKET_MULTICAST) {
		/* Along the tree: it has its leg, of one hop, if any. */
		p->hops = (uint16_t)(p->hops + p->count);
		return 0;
	}
	int r = unlikely(n->around) ? around_find(n, node, p->to, &way)
				    : space_find(n->space, node, p->to,
					      &n->node[node].random, &way);
	if (r)
		return r;
	uint32_t hops = p->hops + way_hops(&way);
	if (hops > UINT16_MAX)
		return -E2BIG;
	p->hops = (uint16_t)hops;
	p->count = (uint16_t)way.count;
	if (way.count > SPACE_LEGS_INLINE)
		p->more = way.more;
	else if (likely(!way.more))
		memcpy(p->leg, way.leg, sizeof(p->leg));
	else
		memcpy(p->leg, way.more, way.count * sizeof(*p->leg));
	return 0;
}

/* ---- sending ---- */

/* The next virtual channel with room, after the one of the packet before. */
static bool source_channel(const struct network *n, struct source *s,
	const struct output *out, const struct packet *p)
{
	unsigned need = n->router.switching == ROUTER_CUT_THROUGH ? p->length
								  : 1;
	uint16_t may = n->group_mask[GROUP_ANY];
	if (n->router.ordered)
		may = channel_of_order(may, p->tag / n->network_ports);
	for (unsigned i = 1; i <= n->channels; i++) {
		unsigned c = s->last + i;
		c -= c >= n->channels ? n->channels : 0;
		if (may >> c & 1 && out[c].credits >= need) {
			s->channel = s->last = (uint8_t)c;
			return true;
		}
	}
	return false;
}

/*
 * While the network empties, only copies of multicasts go on: their multicast
 * began before. The first of them comes to the front.
 */
static bool source_draining(const struct network *n, struct source *s)
{
	uint32_t before = PACKET_NONE, packet = s->first;
	while (packet != PACKET_NONE &&
		!(flit_packet(n, packet)->flags & PACKET_SPREADS)) {
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

static bool source_waits(const struct network *n, struct source *s)
{
	if (unlikely(n->draining))
		return source_draining(n, s);
	return s->first != PACKET_NONE;
}

static void source_begin(struct worker *w, struct source *s, uint32_t packet)
{
	struct packet *p = flit_packet(w->network, packet);
	s->packet = packet;
	s->sent = 0;
	if (!(p->flags & PACKET_RESENT))
		p->entered = (uint32_t)(w->now - p->created);
	if (p->flags & PACKET_MULTICAST && !(p->flags & PACKET_SPREADS)) {
		p->flags |= PACKET_SPREADS;
		w->multicasts++;
	}
}

/* Is there a packet to send? Those that lead nowhere are reported. */
static bool source_next(struct worker *w, uint32_t node, struct source *s,
	const struct output *out)
{
	struct network *n = w->network;
	while (source_waits(n, s)) {
		uint32_t packet = s->first;
		if (!source_channel(n, s, out, flit_packet(n, packet)))
			return false;
		source_pop(w, s);
		int r = source_route(w, node, flit_packet(n, packet));
		if (r == 0) {
			source_begin(w, s, packet);
			return true;
		}
		if (r == -ENOMEM)
			worker_fail(w, r);
		host_report(w, node, packet, NETWORK_UNREACHABLE);
	}
	return false;
}

static uint32_t source_flit(const struct network *n, struct source *s)
{
	const struct packet *p = flit_packet(n, s->packet);
	uint32_t flit = s->packet;
	if (s->sent == 0)
		flit |= p->record == PACKET_NONE ? PACKET_HEAD
						 : PACKET_HEAD | PACKET_WATCHED;
	if (++s->sent == p->length)
		flit |= PACKET_TAIL;
	return flit;
}

/* False: it has nothing more to send. */
static bool source_sends(struct worker *w, uint32_t number)
{
	struct network *n = w->network;
	uint32_t node = number >> SOURCE_BITS;
	unsigned port = number & ((1u << SOURCE_BITS) - 1);
	struct source *s = &node_sources(n, node)[port];
	struct output *out =
		&n->output[place_of(n, node, n->port_source + port, 0)];
	if (s->packet == PACKET_NONE && !source_next(w, node, s, out))
		return s->listed = s->first != PACKET_NONE;
	if (out[s->channel].credits == 0)
		return true;
	uint32_t flit = source_flit(n, s);
	out[s->channel].credits--;
	wheel_put(&w->wheel, w->now + n->router.inject_delay, w->index,
		WHEEL_FLIT, place_of(n, node, n->links + port, s->channel),
		flit);
	if (flit & PACKET_TAIL)
		s->packet = PACKET_NONE;
	return s->listed = s->packet != PACKET_NONE || s->first != PACKET_NONE;
}

void source_step(struct worker *w)
{
	struct places *now = &w->sending[w->now & 1];
	struct places *next = &w->sending[~w->now & 1];
	for (uint32_t i = 0; i < now->count; i++) {
		uint32_t number = now->of[i];
		if (source_sends(w, number))
			places_put(w, next, number);
	}
	now->count = 0;
}
