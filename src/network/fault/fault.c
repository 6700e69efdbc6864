/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failures of links and nodes. Their ports are masked; packets that lose flits
 * are discarded and reported. A packet whose output port is masked raises an
 * interrupt and takes the detour of the port, or leaves by the debug port to
 * the host, which sends it on later.
 *
 * Old and new routes together could deadlock where neither could alone. So
 * after a failure nothing is injected until the network is empty; it empties
 * because packets that cannot continue leave by the debug port. Then routes and
 * the tree are computed again without the failed parts: up/down, or, if
 * dimension order is the rule, as in reroute.c.
 */
#include <errno.h>

#include "network/router/input.h"

/* ---- failures ---- */

/*
 * A port is masked from now on. Packets that have partly left by it are
 * discarded; packets that request it, or hold a channel but have not left, are
 * routed again.
 */
static void output_mask(struct discard *d, uint32_t port)
{
	struct network *n = d->network;
	uint32_t node = port_node(n, port), first = node << n->node_shift;
	for (uint32_t vc = first; vc < first + (1u << n->node_shift); vc++) {
		struct input_vc *in = &n->input[vc];
		if (in->state == INPUT_IDLE || in->port != port_local(n, port))
			continue;
		if (input_mid_packet(in)) {
			discard_packet(d, n->input_packet[vc]);
			continue;
		}
		unsigned class;
		input_release(n, in);
		in->state = INPUT_VC_ALLOC;
		in->request_time = (uint32_t)(n->now + n->router.route_delay);
		in->port = (uint8_t)detour_port(node_worker(n, node), node,
			in->port, flit_packet(n, in->front), &class);
		in->class = class & 15;
	}
}

/* Returns false if the link was dead. */
static bool link_fail(struct discard *d, uint32_t node, unsigned local)
{
	struct network *n = d->network;
	uint32_t port = port_of(n, node, local);
	if (n->port[port].peer_vc == NO_VC)
		return false;
	uint32_t ends[2] = { port, vc_port(n, n->port[port].peer_vc) };
	topology_cut(n->topology, node, local);
	n->any_masked = true;
	for (unsigned i = 0; i < 2; i++) {
		discard_link(d, ends[i]);
		n->port[ends[i]].flags |= PORT_MASKED;
		n->port[ends[i]].peer_vc = NO_VC;
	}
	for (unsigned i = 0; i < 2; i++)
		output_mask(d, ends[i]);
	return true;
}

/* Returns false if the node was dead. */
static bool node_fail(struct discard *d, uint32_t node)
{
	struct network *n = d->network;
	struct worker *w = node_worker(n, node);
	uint32_t first = node << n->node_shift;
	if (n->node[node].dead)
		return false;
	n->node[node].dead = true;
	for (unsigned p = 0; p < n->links; p++)
		link_fail(d, node, p);
	for (unsigned p = 0; p < n->host_ports; p++)
		discard_link(d, port_of(n, node, n->links + p));
	for (uint32_t vc = first; vc < first + (1u << n->node_shift); vc++) {
		struct input_vc *in = &n->input[vc];
		if (input_mid_packet(in))
			discard_packet(d, n->input_packet[vc]);
		for (unsigned i = 0; i < in->count; i++) {
			uint32_t flit = input_pop(n, in, vc);
			discard_packet(d, flit);
			input_push(n, in, vc, flit);
		}
	}
	struct source_queue *end = host_sources(n, node_host(n, node + 1));
	for (struct source_queue *s = host_sources(n, node_host(n, node));
		s < end; s++) {
		if (s->packet != PACKET_NONE)
			discard_packet(d, s->packet);
		for (uint32_t p = s->first, next; p != PACKET_NONE; p = next) {
			next = flit_packet(n, p)->next;
			w->queued--;
			packet_report(w, node, p, NETWORK_LOST);
		}
		s->first = s->tail = PACKET_NONE;
		s->count = 0;
	}
	return true;
}

void fault_apply(struct network *n, enum network_fault fault, uint32_t node,
	unsigned port)
{
	struct discard d = { .network = n };
	if (fault == NETWORK_BIT_ERROR) {
		n->port[port_of(n, node, port)].flags |= PORT_ERROR;
		n->check_links = true;
		return;
	}
	bool failed = fault == NETWORK_LINK_FAILS ? link_fail(&d, node, port)
						  : node_fail(&d, node);
	if (!failed)
		return;
	discard_commit(&d);
	n->draining = true;
}

/* ---- new routes ---- */

/* Builds the tree of the largest connected part of the network. */
static int tree_rebuild(struct network *n)
{
	uint32_t best = n->tree.root, most = 0, alive = 0;
	for (uint32_t i = 0; i < n->nodes; i++)
		alive += !n->node[i].dead;
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

void fault_reroute_if_drained(struct network *n)
{
	int64_t multicasts = 0;
	for (unsigned i = 0; i < n->workers; i++)
		multicasts += n->worker[i].multicasts;
	if (packets_in_flight(n) || multicasts)
		return;
	int r = routing_rebuild(n->routing);
	n->rerouting = r == -EOPNOTSUPP;
	if (r == 0 || n->rerouting)
		r = tree_rebuild(n);
	if (r == 0)
		r = transport_rebuild(n);
	if (r)
		worker_fail(&n->worker[0], r);
	n->draining = false;
}

/* ---- the interface ---- */

int network_fail(struct network *n, uint64_t time, enum network_fault fault,
	uint32_t node, unsigned port)
{
	bool link = fault != NETWORK_NODE_FAILS;
	if (node >= n->nodes || time < n->now || fault > NETWORK_BIT_ERROR ||
		(link && port >= n->links) ||
		(link && n->link_end[port_of(n, node, port)] ==
				 TOPOLOGY_NOWHERE))
		return -EINVAL;
	return schedule_add(
		&n->schedule, &(struct scheduled_event){ .time = time,
				      .kind = EVENT_FAULT,
				      .fault = fault,
				      .node = node,
				      .port = port });
}
