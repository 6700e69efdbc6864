/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that have lost flits, because a link or a node has died under them,
 * are taken out of the network: the rest of their flits from every buffer and
 * link, with the credit for them given back, and their virtual channels freed.
 * Each is reported once. The caller does this between two cycles, and looks at
 * everything: deaths are rare.
 */
#include <errno.h>
#include <stdlib.h>

#include "network/router/input.h"

static bool flit_cut(const struct network *n, uint32_t flit)
{
	return flit_packet(n, flit)->flags & PACKET_CUT;
}

void cut_packet(struct cut *c, uint32_t flit)
{
	struct network *n = c->network;
	if (flit_cut(n, flit))
		return;
	flit_packet(n, flit)->flags |= PACKET_CUT;
	places_put(&n->worker[0], &c->packets, flit & PACKET_NUMBER);
}

/* ---- what is on links ---- */

/* Calls for each flit under way; those for which it says so are gone. */
static void flights_filter(struct network *n, struct cut *c,
	bool (*gone)(struct cut *, struct wheel_event *))
{
	for (unsigned i = 0; i < n->workers; i++) {
		struct wheel *w = &n->worker[i].wheel;
		uint64_t lists = (w->mask + 1ull) * w->readers;
		for (uint64_t k = 0; k < lists; k++) {
			struct wheel_list *l =
				&w->list[k * WHEEL_KINDS + WHEEL_FLIT];
			uint32_t left = 0;
			for (uint32_t e = 0; e < l->count; e++)
				if (!gone(c, &l->event[e]))
					l->event[left++] = l->event[e];
			l->count = left;
		}
	}
}

static bool flight_marked(struct cut *c, struct wheel_event *e)
{
	if (place_port(c->network, e->place) == c->link)
		cut_packet(c, e->what);
	return false;
}

void cut_link(struct cut *c, uint32_t port)
{
	c->link = port;
	flights_filter(c->network, c, flight_marked);
}

/* ---- credit ---- */

/* Room for flits that an input will not hold: the sender knows of it. */
static void room_give(struct network *n, uint32_t place, unsigned flits)
{
	uint32_t port = place_port(n, place);
	unsigned local = port_local(n, port), c = place_channel(n, place);
	if (!port_is_link(n, local)) {
		n->output[place_source(n, place)].credits += flits;
	} else if (n->credits && n->port[port].there != NO_PLACE) {
		n->output[n->port[port].there + c].credits += flits;
	}
}

static bool flight_removed(struct cut *c, struct wheel_event *e)
{
	if (!flit_cut(c->network, e->what))
		return false;
	room_give(c->network, e->place, 1);
	return true;
}

/* ---- buffers ---- */

/* The packet that an input has a channel for, or asks for one for. */
static uint32_t input_current(const struct network *n, uint32_t place)
{
	const struct input *in = &n->input[place];
	return input_begun(in) ? n->input_packet[place] : in->front;
}

/* The flits that stay, in order. */
static void input_clean(struct network *n, uint32_t place)
{
	struct input *in = &n->input[place];
	unsigned count = in->count, gone = 0;
	for (unsigned i = 0; i < count; i++) {
		uint32_t flit = input_pop(n, in, place);
		if (flit_cut(n, flit))
			gone++;
		else
			input_push(n, in, place, flit);
	}
	if (gone)
		room_give(n, place, gone);
}

static void input_cut(struct network *n, uint32_t place)
{
	struct input *in = &n->input[place];
	struct worker *w = node_worker(n, place_node(n, place));
	if (in->state == INPUT_IDLE)
		return;
	if (flit_cut(n, input_current(n, place))) {
		input_release(n, in);
		in->state = INPUT_IDLE;
	}
	input_clean(n, place);
	if (!n->credits)
		credit_level(w, place);
	if (in->state == INPUT_IDLE && in->count)
		arrive_route(w, place, n->now);
}

/* ---- lists ---- */

/* Everybody who could do something is looked at in this cycle. */
static void input_list(struct worker *w, uint32_t place)
{
	struct input *in = &w->network->input[place];
	in->moving = in->state == INPUT_ACTIVE && in->count;
	if (in->moving)
		places_put(w, &w->moving[w->now & 1], place);
	else if (in->state == INPUT_ASKING)
		places_put(w, &w->asking[w->now & 1], place);
}

static void worker_lists(struct worker *w)
{
	struct network *n = w->network;
	for (unsigned i = 0; i < 2; i++)
		w->asking[i].count = w->moving[i].count = 0;
	for (uint32_t p = w->first << n->node_shift;
		p < w->end << n->node_shift; p++) {
		n->output[p].waiter = NO_PLACE;
		input_list(w, p);
	}
}

/* ---- */

static void source_cut(struct network *n, struct source *s)
{
	if (s->packet != PACKET_NONE && flit_cut(n, s->packet))
		s->packet = PACKET_NONE;
}

static void cut_report(struct network *n, uint32_t packet)
{
	uint32_t from = flit_packet(n, packet)->from;
	host_report(node_worker(n, from), from, packet, NETWORK_CUT);
}

void cut_remove(struct cut *c)
{
	struct network *n = c->network;
	uint32_t places = n->nodes << n->node_shift;
	flights_filter(n, c, flight_removed);
	for (uint32_t p = 0; p < places; p++)
		input_cut(n, p);
	for (uint64_t i = 0; i < (uint64_t)n->nodes * n->network_ports; i++)
		source_cut(n, &n->source[i]);
	for (unsigned i = 0; i < n->workers; i++)
		worker_lists(&n->worker[i]);
	for (uint32_t i = 0; i < c->packets.count; i++)
		cut_report(n, c->packets.of[i]);
	free(c->packets.of);
}
