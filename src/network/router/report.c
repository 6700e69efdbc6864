/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of packets that do not arrive: lost in a failure, or unreachable. */
#include <stdlib.h>

#include "network/engine/parts.h"

/*
 * Reports a lost copy of a multicast for all nodes that would have received it:
 * the next node and the subtree behind it. Entries: node << 8 | the port of the
 * tree towards the sender.
 */
static void report_subtree(
	struct worker *w, const struct packet_state *p, enum network_fate fate)
{
	const struct network *n = w->network;
	struct worklist l = { 0 };
	worklist_add(w, &l, p->leg[PACKET_NEXT_NODE] << 8 | p->tree_port);
	for (uint32_t i = 0; i < l.count; i++) {
		uint32_t at = l.entry[i] >> 8, from = l.entry[i] & 0xff;
		uint32_t ports = tree_ports(&n->tree, at);
		if (from != TREE_NO_PORT)
			ports &= ~(1u << from);
		for (; ports; ports &= ports - 1) {
			unsigned port = (unsigned)__builtin_ctz(ports);
			uint64_t link = (uint64_t)at * n->links + port;
			worklist_add(w, &l,
				n->link_end[port_of(n, at, port)] << 8 |
					n->topology->peer_port[link]);
		}
	}
	for (uint32_t i = 0; i + 1 < l.count; i++)
		record_report(w, p, l.entry[i] >> 8, w->now, fate);
	if (l.count)
		record_deliver(w, p, l.entry[l.count - 1] >> 8, w->now, fate);
	free(l.entry);
}

void packet_report(struct worker *w, uint32_t node, uint32_t packet,
	enum network_fate fate)
{
	struct packet_state *p = flit_packet(w->network, packet);
	w->counters.packets_reported++;
	if (p->flags & PACKET_MEASURED)
		w->measure.done++;
	if (p->record != PACKET_NONE && p->flags & PACKET_MULTICAST)
		report_subtree(w, p, fate);
	else if (p->record != PACKET_NONE)
		record_deliver(w, p, node, w->now, fate);
	packet_end(w, packet);
}
