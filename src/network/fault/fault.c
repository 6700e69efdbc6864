/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links and nodes that die. Their ports are masked; packets that are cut are
 * reported. A packet that finds its port masked raises an interrupt and takes
 * the port's detour, or else leaves by the debug port, to the host, which sends
 * it on later.
 *
 * Old routes and new ones together could deadlock where neither could alone. So
 * nothing new enters until the network is empty; it empties, because what
 * cannot go on is drained. Then routes and the tree are made anew, around what
 * is missing: up/down, or, where dimension order is the rule, as in reroute.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "network/router/input.h"

/* ---- a packet that finds its port masked ---- */

static const struct detour *detour_of(const struct network *n, uint32_t port)
{
	for (unsigned i = 0; i < n->detours; i++)
		if (n->detour[i].port == port)
			return &n->detour[i];
	return NULL;
}

/* Its legs in front of what the packet has left; false: there is no room. */
static bool detour_take(struct packet *p, const struct detour *d)
{
	uint32_t leg[SPACE_LEGS_INLINE];
	unsigned count = d->count, rest = p->count - p->at;
	bool more = space_leg_hops(p->left);
	if (count + rest + more > SPACE_LEGS_INLINE)
		return false;
	memcpy(leg, d->leg, count * sizeof(*leg));
	if (more)
		leg[count++] = p->left;
	for (unsigned i = 0; i < rest; i++)
		leg[count++] = packet_leg(p, p->at + i);
	memcpy(p->leg, leg, count * sizeof(*leg));
	p->count = (uint16_t)count;
	p->at = 0;
	p->left = 0;
	return true;
}

unsigned fault_avoid(struct worker *w, uint32_t node, unsigned port,
	struct packet *p, unsigned *group)
{
	const struct network *n = w->network;
	const struct detour *d = detour_of(n, port_of(n, node, port));
	uint32_t left = packet_hops_left(p);
	w->counters.interrupts++;
	w->counters.masked++;
	/* One at most, so that detours cannot lead round for ever. */
	if (d && !(p->flags & (PACKET_DETOURED | PACKET_MULTICAST)) &&
		detour_take(p, d)) {
		p->flags |= PACKET_DETOURED;
		p->hops = (uint16_t)(p->hops + packet_hops_left(p) - left - 1);
		struct packet_step step = packet_next(p);
		*group = step.group;
		w->counters.detours++;
		if (!(n->port[port_of(n, node, step.port)].flags & PORT_MASKED))
			return step.port;
		left = packet_hops_left(p);
	}
	/* What it does not go from here; its new way counts anew. */
	p->hops = (uint16_t)(p->hops - left - 1);
	*group = GROUP_ANY;
	return n->port_debug;
}

/* ---- deaths ---- */

/* The head of its packet is still here: it chooses again. */
static void input_again(struct network *n, uint32_t place)
{
	struct input *in = &n->input[place];
	struct worker *w = node_worker(n, place_node(n, place));
	unsigned group;
	input_release(n, in);
	in->state = INPUT_ASKING;
	in->since = (uint32_t)(n->now + n->router.route_delay);
	in->port = (uint8_t)fault_avoid(w, place_node(n, place), in->port,
		flit_packet(n, in->front), &group);
	in->group = group & 3;
}

/* All inputs of a node that have or want an output which is masked now. */
static void outputs_leave(struct cut *c, uint32_t port)
{
	struct network *n = c->network;
	uint32_t node = port_node(n, port), first = node << n->node_shift;
	for (uint32_t p = first; p < first + (1u << n->node_shift); p++) {
		struct input *in = &n->input[p];
		if (in->state == INPUT_IDLE || in->port != port_local(n, port))
			continue;
		if (input_begun(in))
			cut_packet(c, n->input_packet[p]);
		else
			input_again(n, p);
	}
}

/* False: it was dead. */
static bool link_dies(struct cut *c, uint32_t node, unsigned local)
{
	struct network *n = c->network;
	uint32_t port = port_of(n, node, local);
	if (n->port[port].there == NO_PLACE)
		return false;
	uint32_t ends[2] = { port, place_port(n, n->port[port].there) };
	topology_cut(n->topology, node, local);
	n->masks = true;
	for (unsigned i = 0; i < 2; i++) {
		cut_link(c, ends[i]);
		n->port[ends[i]].flags |= PORT_MASKED;
		n->port[ends[i]].there = NO_PLACE;
	}
	for (unsigned i = 0; i < 2; i++)
		outputs_leave(c, ends[i]);
	return true;
}

/* What its sources hold never enters. */
static void sources_die(struct cut *c, uint32_t node)
{
	struct network *n = c->network;
	struct worker *w = node_worker(n, node);
	for (unsigned i = 0; i < n->network_ports; i++) {
		struct source *s = &node_sources(n, node)[i];
		if (s->packet != PACKET_NONE)
			cut_packet(c, s->packet);
		for (uint32_t p = s->first, next; p != PACKET_NONE; p = next) {
			next = flit_packet(n, p)->next;
			w->queued--;
			host_report(w, node, p, NETWORK_CUT);
		}
		s->first = s->tail = PACKET_NONE;
		s->count = 0;
	}
}

static bool node_dies(struct cut *c, uint32_t node)
{
	struct network *n = c->network;
	uint32_t first = node << n->node_shift;
	if (n->node[node].dead)
		return false;
	n->node[node].dead = true;
	for (unsigned p = 0; p < n->links; p++)
		link_dies(c, node, p);
	for (unsigned p = 0; p < n->network_ports; p++)
		cut_link(c, port_of(n, node, n->links + p));
	for (uint32_t p = first; p < first + (1u << n->node_shift); p++) {
		struct input *in = &n->input[p];
		if (input_begun(in))
			cut_packet(c, n->input_packet[p]);
		for (unsigned i = 0; i < in->count; i++) {
			uint32_t flit = input_pop(n, in, p);
			cut_packet(c, flit);
			input_push(n, in, p, flit);
		}
	}
	sources_die(c, node);
	return true;
}

void fault_do(struct network *n, enum network_fault fault, uint32_t node,
	unsigned port)
{
	struct cut c = { .network = n };
	if (fault == NETWORK_BIT_ERROR) {
		n->port[port_of(n, node, port)].flags |= PORT_ERROR;
		n->patient = true;
		return;
	}
	bool died = fault == NETWORK_LINK_DIES ? link_dies(&c, node, port)
					       : node_dies(&c, node);
	if (!died)
		return;
	cut_remove(&c);
	n->draining = true;
}

/* ---- afterwards ---- */

static uint32_t nodes_alive(const struct network *n)
{
	uint32_t alive = 0;
	for (uint32_t i = 0; i < n->nodes; i++)
		alive += !n->node[i].dead;
	return alive;
}

/* In the part of the network that has most of the nodes. */
static int tree_renew(struct network *n)
{
	uint32_t best = n->tree.root, most = 0, alive = nodes_alive(n);
	for (uint32_t i = 0; i < n->nodes && 2 * most < alive; i++) {
		if (n->node[i].dead)
			continue;
		tree_free(&n->tree);
		int r = tree_open(&n->tree, n->topology, i);
		if (r)
			return r;
		if (n->tree.reached > most) {
			most = n->tree.reached;
			best = i;
		}
	}
	tree_free(&n->tree);
	return tree_open(&n->tree, n->topology, best);
}

void fault_drained(struct network *n)
{
	int64_t multicasts = 0;
	for (unsigned i = 0; i < n->workers; i++)
		multicasts += n->worker[i].multicasts;
	if (network_inside(n) || multicasts)
		return;
	n->around = around_needed(n);
	int r = n->around ? 0 : space_renew(n->space);
	if (r == 0)
		r = tree_renew(n);
	if (r == 0)
		r = level_renew(n);
	if (r)
		worker_fail(&n->worker[0], r);
	n->draining = false;
}

/* ---- from outside ---- */

int network_fail(struct network *n, uint64_t time, enum network_fault fault,
	uint32_t node, unsigned port)
{
	bool link = fault != NETWORK_NODE_DIES;
	if (node >= n->nodes || time < n->now || fault > NETWORK_BIT_ERROR ||
		(link && port >= n->links) ||
		(link && n->link_end[port_of(n, node, port)] ==
				 TOPOLOGY_NOWHERE))
		return -EINVAL;
	return agenda_put(&n->agenda, &(struct agenda_item){ .time = time,
					      .kind = AGENDA_FAULT,
					      .fault = fault,
					      .node = node,
					      .port = port });
}

/* Do these legs lead to where the port leads, and not by it? */
static bool detour_fits(const struct network *n, uint32_t node, unsigned port,
	const uint32_t *legs, unsigned count)
{
	uint32_t to = topology_next(n->topology, node, port);
	uint32_t start = node;
	for (unsigned i = 0; i < count; i++) {
		unsigned out = space_leg_port(legs[i]);
		if (space_leg_hops(legs[i]) == 0)
			return false;
		for (uint32_t h = space_leg_hops(legs[i]); h; h--) {
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
		count > SPACE_LEGS_INLINE ||
		!detour_fits(n, node, port, legs, count))
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
