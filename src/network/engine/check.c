/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of a network, and the check of its invariants. The caller's
 * thread runs them between two cycles.
 */
#include <stdlib.h>

#include "network/engine/parts.h"

/* ---- counters ---- */

_Static_assert(sizeof(struct network_counters) % sizeof(uint64_t) == 0,
	"an array of counters");

void network_count(const struct network *n, struct network_counters *sum)
{
	uint64_t ports = (uint64_t)n->nodes << n->port_bits;
	*sum = (struct network_counters){ 0 };
	uint64_t *to = (uint64_t *)(void *)sum;
	for (unsigned i = 0; i < n->workers; i++) {
		const uint64_t *from =
			(const uint64_t *)(const void *)&n->worker[i].counters;
		for (unsigned k = 0; k < sizeof(*sum) / sizeof(*to); k++)
			to[k] += from[k];
	}
	for (uint64_t p = 0; p < ports; p++)
		sum->flit_hops += link_flits(n, (uint32_t)p);
	sum->packets_in_flight = packets_in_use(n);
}

uint64_t network_links(
	const struct network *n, struct network_link *links, uint64_t capacity)
{
	uint64_t count = 0;
	for (uint32_t node = 0; node < n->nodes; node++)
		for (unsigned p = 0; p < n->links; p++) {
			uint32_t port = port_of(n, node, p);
			if (n->link_end[port] == TOPOLOGY_NOWHERE)
				continue;
			if (count++ >= capacity)
				continue;
			links[count - 1] = (struct network_link){ .from = node,
				.to = n->link_end[port],
				.port = (uint8_t)p,
				.dead = n->port[port].peer_vc == NO_VC,
				.flits = link_flits(n, port),
				.repeated = n->link_state[port].repeated,
				.blocked = n->link_state[port].blocked };
		}
	return count;
}

/* ---- invariants ---- */

struct invariant_sums {
	const struct network *n;
	uint16_t *flits;   /* by input VC: on the link to it */
	uint16_t *credits; /* by output VC: likewise */
	uint16_t *owners;  /* by output VC */
};

static void check_wheel(struct invariant_sums *k, const struct wheel *w)
{
	for (uint64_t i = 0; i < wheel_list_count(w); i += WHEEL_KINDS) {
		const struct wheel_list *l = &w->list[i];
		for (uint32_t e = 0; e < l[WHEEL_FLIT].count; e++)
			k->flits[l[WHEEL_FLIT].event[e].index]++;
		for (uint32_t e = 0; e < l[WHEEL_CREDIT].count; e++)
			k->credits[l[WHEEL_CREDIT].event[e].index]++;
	}
}

static const char *check_input(struct invariant_sums *k, uint32_t vc)
{
	const struct network *n = k->n;
	const struct input_vc *in = &n->input[vc];
	if (in->count > n->router.buffer)
		return "a buffer holds more flits than it has room for";
	if (in->state == INPUT_IDLE && in->count)
		return "an idle input has flits";
	if (in->state == INPUT_VC_ALLOC &&
		(in->count == 0 || !(in->front & PACKET_HEAD)))
		return "an input requests a channel without a head flit";
	if (in->state == INPUT_ACTIVE)
		k->owners[in->out]++;
	return NULL;
}

/* Credits, flits and credits on the link, and buffered flits: one buffer. */
static const char *check_credits(
	const struct invariant_sums *k, uint32_t out, uint32_t peer)
{
	const struct network *n = k->n;
	unsigned sum = n->output[out].credits + k->credits[out] +
		       k->flits[peer] + n->input[peer].count;
	return sum == n->router.buffer
		       ? NULL
		       : "credits and flits do not add up to the buffer";
}

static const char *check_output(const struct invariant_sums *k, uint32_t out)
{
	const struct network *n = k->n;
	uint32_t port = vc_port(n, out);
	unsigned local = port_local(n, port), c = vc_channel(n, out);
	if (c >= n->channels || local >= n->ports)
		return NULL;
	if (local >= n->port_source)
		return check_credits(k, out,
			vc_of(n, port_node(n, port),
				local - n->port_source + n->links, c));
	if (k->owners[out] != !(n->port[port].free_vcs >> c & 1))
		return "a virtual channel and its owner do not agree";
	if (!n->credits || n->port[port].peer_vc == NO_VC)
		return NULL;
	return check_credits(k, out, n->port[port].peer_vc + c);
}

static const char *check_packets(const struct network *n)
{
	struct network_counters c;
	uint64_t queued = 0, listed = 0;
	network_count(n, &c);
	for (unsigned i = 0; i < n->workers; i++)
		queued += (uint64_t)n->worker[i].queued;
	for (uint64_t i = 0; i < (uint64_t)n->hosts * n->network_ports; i++)
		listed += n->source[i].count;
	if (queued != listed)
		return "the source queues and their count do not agree";
	if (c.packets_sent + c.multicast_copies !=
		c.packets_delivered + c.packets_reported + c.packets_in_flight)
		return "packets sent are not those delivered, reported and in "
		       "flight";
	return NULL;
}

const char *network_check(const struct network *n)
{
	uint32_t vcs = n->nodes << n->node_shift;
	struct invariant_sums k = { .n = n,
		.flits = calloc(vcs, sizeof(*k.flits)),
		.credits = calloc(vcs, sizeof(*k.credits)),
		.owners = calloc(vcs, sizeof(*k.owners)) };
	const char *wrong = "not enough memory to check";
	if (k.flits && k.credits && k.owners) {
		wrong = NULL;
		for (unsigned i = 0; i < n->workers; i++)
			check_wheel(&k, &n->worker[i].wheel);
		for (uint32_t vc = 0; !wrong && vc < vcs; vc++)
			wrong = check_input(&k, vc);
		for (uint32_t vc = 0; !wrong && vc < vcs; vc++)
			wrong = check_output(&k, vc);
	}
	free(k.flits);
	free(k.credits);
	free(k.owners);
	return wrong ? wrong : check_packets(n);
}
