/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removal of packets that have lost flits because a link or a node has failed:
 * their remaining flits leave every buffer and link, the credit for them
 * returns to the senders, and their virtual channels are freed. Each packet is
 * reported once. The caller's thread does this between two cycles and visits
 * the whole state: failures are rare.
 */
#include <stdlib.h>

#include "network/router/input.h"

static bool is_discarded(const struct network *n, uint32_t flit)
{
	return flit_packet(n, flit)->flags & PACKET_DISCARDED;
}

void discard_packet(struct discard *d, uint32_t flit)
{
	struct network *n = d->network;
	if (is_discarded(n, flit))
		return;
	flit_packet(n, flit)->flags |= PACKET_DISCARDED;
	worklist_add(&n->worker[0], &d->packets, flit & PACKET_NUMBER);
}

/* ---- links ---- */

/* Visits all flits on links; removes those for which `gone` returns true. */
static void wheel_filter(struct discard *d,
	bool (*gone)(struct discard *, const struct wheel_event *))
{
	struct network *n = d->network;
	for (unsigned i = 0; i < n->workers; i++) {
		struct wheel *w = &n->worker[i].wheel;
		for (uint64_t k = 0; k < wheel_list_count(w);
			k += WHEEL_KINDS) {
			struct wheel_list *l = &w->list[k + WHEEL_FLIT];
			uint32_t kept = 0;
			for (uint32_t e = 0; e < l->count; e++)
				if (!gone(d, &l->event[e]))
					l->event[kept++] = l->event[e];
			l->count = kept;
		}
	}
}

static bool flit_of_link(struct discard *d, const struct wheel_event *e)
{
	if (vc_port(d->network, e->index) == d->link)
		discard_packet(d, e->value);
	return false;
}

void discard_link(struct discard *d, uint32_t port)
{
	d->link = port;
	wheel_filter(d, flit_of_link);
}

/* ---- buffers ---- */

/* Returns credit for flits that an input VC will not hold. */
static void credit_return(struct network *n, uint32_t vc, unsigned flits)
{
	uint32_t port = vc_port(n, vc), peer = n->port[port].peer_vc;
	if (!port_is_link(n, port_local(n, port)))
		n->output[vc_source(n, vc)].credits += flits;
	else if (n->credits && peer != NO_VC)
		n->output[peer + vc_channel(n, vc)].credits += flits;
}

static bool flit_removed(struct discard *d, const struct wheel_event *e)
{
	if (!is_discarded(d->network, e->value))
		return false;
	credit_return(d->network, e->index, 1);
	return true;
}

/* Removes discarded flits from a buffer, and frees the output VC they hold. */
static void input_discard(struct network *n, uint32_t vc)
{
	struct input_vc *in = &n->input[vc];
	struct worker *w = node_worker(n, vc_node(n, vc));
	unsigned count = in->count, gone = 0;
	if (in->state == INPUT_IDLE)
		return;
	uint32_t current = input_mid_packet(in) ? n->input_packet[vc]
						: in->front;
	if (is_discarded(n, current)) {
		input_release(n, in);
		in->state = INPUT_IDLE;
	}
	for (unsigned i = 0; i < count; i++) {
		uint32_t flit = input_pop(n, in, vc);
		if (is_discarded(n, flit))
			gone++;
		else
			input_push(n, in, vc, flit);
	}
	if (gone)
		credit_return(n, vc, gone);
	if (!n->credits)
		credit_threshold(w, vc);
	if (in->state == INPUT_IDLE && in->count)
		input_route(w, vc, n->now);
}

/* Puts all inputs that have work into the worklists of this cycle. */
static void worklists_rebuild(struct worker *w)
{
	struct network *n = w->network;
	for (unsigned i = 0; i < 2; i++)
		w->vc_worklist[i].count = w->switch_worklist[i].count = 0;
	for (uint32_t vc = w->first << n->node_shift;
		vc < w->end << n->node_shift; vc++) {
		struct input_vc *in = &n->input[vc];
		n->output[vc].blocked_input = NO_VC;
		in->switch_listed = in->state == INPUT_ACTIVE && in->count;
		if (in->switch_listed)
			worklist_add(w, &w->switch_worklist[w->now & 1], vc);
		else if (in->state == INPUT_VC_ALLOC)
			worklist_add(w, &w->vc_worklist[w->now & 1], vc);
	}
}

void discard_commit(struct discard *d)
{
	struct network *n = d->network;
	wheel_filter(d, flit_removed);
	for (uint32_t vc = 0; vc < n->nodes << n->node_shift; vc++)
		input_discard(n, vc);
	for (uint64_t i = 0; i < (uint64_t)n->hosts * n->network_ports; i++) {
		struct source_queue *s = &n->source[i];
		if (s->packet != PACKET_NONE && is_discarded(n, s->packet))
			s->packet = PACKET_NONE;
	}
	for (unsigned i = 0; i < n->workers; i++)
		worklists_rebuild(&n->worker[i]);
	for (uint32_t i = 0; i < d->packets.count; i++) {
		uint32_t packet = d->packets.entry[i];
		uint32_t from = flit_packet(n, packet)->from;
		packet_report(node_worker(n, host_node(n, from)), from, packet,
			NETWORK_LOST);
	}
	free(d->packets.entry);
}
