/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking at a network: what it has counted, and whether everything adds up.
 * Between two cycles, by the caller.
 */
#include <stdlib.h>

#include "network/engine/parts.h"

/* ---- counters ---- */

static void counters_add(
	struct network_counters *to, const struct network_counters *from)
{
	const uint64_t *f = (const uint64_t *)(const void *)from;
	uint64_t *t = (uint64_t *)(void *)to;
	for (unsigned i = 0; i < sizeof(*to) / sizeof(*t); i++)
		t[i] += f[i];
}

_Static_assert(sizeof(struct network_counters) % sizeof(uint64_t) == 0,
	"nothing but counters");

void network_count(const struct network *n, struct network_counters *c)
{
	uint64_t ports = (uint64_t)n->nodes << n->port_bits;
	*c = (struct network_counters){ 0 };
	for (unsigned i = 0; i < n->workers; i++)
		counters_add(c, &n->worker[i].counters);
	for (uint64_t p = 0; p < ports; p++)
		c->flit_hops += link_flits(n, (uint32_t)p);
}

/* Its end is where it was, also if it is dead. */
static struct network_link link_at(const struct network *n, uint32_t port)
{
	return (struct network_link){ .from = port_node(n, port),
		.to = n->link_end[port],
		.port = (uint8_t)port_local(n, port),
		.dead = n->port[port].there == NO_PLACE,
		.flits = link_flits(n, port),
		.repeated = n->link_count[port].repeated,
		.blocked = n->link_count[port].blocked };
}

uint64_t network_links(
	const struct network *n, struct network_link *links, uint64_t room)
{
	uint64_t count = 0;
	for (uint32_t node = 0; node < n->nodes; node++)
		for (unsigned p = 0; p < n->links; p++) {
			uint32_t port = port_of(n, node, p);
			if (n->link_end[port] == TOPOLOGY_NOWHERE)
				continue;
			if (count < room)
				links[count] = link_at(n, port);
			count++;
		}
	return count;
}

/* ---- does it add up? ---- */

struct audit {
	const struct network *n;
	uint16_t *flits;   /* by input: on their way to it */
	uint16_t *credits; /* by output: likewise */
	uint16_t *owners;  /* by output */
};

static void audit_lists(struct audit *a, const struct wheel *w)
{
	uint64_t lists = (w->mask + 1ull) * w->readers;
	for (uint64_t i = 0; i < lists; i++) {
		const struct wheel_list *l = &w->list[i * WHEEL_KINDS];
		for (uint32_t e = 0; e < l[WHEEL_FLIT].count; e++)
			a->flits[l[WHEEL_FLIT].event[e].place]++;
		for (uint32_t e = 0; e < l[WHEEL_CREDIT].count; e++)
			a->credits[l[WHEEL_CREDIT].event[e].place]++;
	}
}

static const char *audit_input(struct audit *a, uint32_t place)
{
	const struct network *n = a->n;
	const struct input *in = &n->input[place];
	if (in->count > n->router.buffer)
		return "a buffer holds more than it can";
	if (in->state == INPUT_IDLE && in->count)
		return "an idle input has flits";
	if (in->state == INPUT_ASKING &&
		(in->count == 0 || !(in->front & PACKET_HEAD)))
		return "an input asks without a head";
	if (in->state == INPUT_ACTIVE)
		a->owners[in->out]++;
	return NULL;
}

/* What a sender may still send, and what it has sent, is one buffer. */
static const char *audit_credits(
	const struct audit *a, uint32_t out, uint32_t there)
{
	const struct network *n = a->n;
	unsigned sum = n->output[out].credits + a->credits[out] +
		       a->flits[there] + n->input[there].count;
	return sum == n->router.buffer ? NULL
				       : "credits and flits are not "
					 "one buffer";
}

static const char *audit_output(const struct audit *a, uint32_t out)
{
	const struct network *n = a->n;
	uint32_t port = place_port(n, out);
	unsigned local = port_local(n, port), c = place_channel(n, out);
	if (c >= n->channels || local >= n->ports)
		return NULL;
	if (local >= n->port_source)
		return audit_credits(a, out,
			place_of(n, port_node(n, port),
				local - n->port_source + n->links, c));
	if (a->owners[out] != !(n->port[port].free >> c & 1))
		return "a virtual channel has not one owner, or none";
	if (!n->credits || n->port[port].there == NO_PLACE)
		return NULL;
	return audit_credits(a, out, n->port[port].there + c);
}

static const char *audit_packets(const struct network *n)
{
	struct network_counters c;
	uint64_t inside = 0, queued = 0, listed = 0;
	network_count(n, &c);
	for (unsigned i = 0; i < n->workers; i++) {
		inside += n->worker[i].pool.used - n->worker[i].pool.freed;
		queued += (uint64_t)n->worker[i].queued;
	}
	for (uint64_t i = 0; i < (uint64_t)n->nodes * n->network_ports; i++)
		listed += n->source[i].count;
	if (queued != listed)
		return "queues do not hold what is queued";
	if (c.packets_sent + c.multicast_copies !=
		c.packets_delivered + c.packets_reported + inside)
		return "packets sent are not those delivered, reported and on "
		       "their way";
	return NULL;
}

static const char *audit_places(struct audit *a)
{
	uint32_t places = a->n->nodes << a->n->node_shift;
	const char *wrong = NULL;
	for (uint32_t p = 0; !wrong && p < places; p++)
		wrong = audit_input(a, p);
	for (uint32_t p = 0; !wrong && p < places; p++)
		wrong = audit_output(a, p);
	return wrong;
}

const char *network_check(const struct network *n)
{
	uint64_t places = (uint64_t)n->nodes << n->node_shift;
	struct audit a = { .n = n,
		.flits = calloc(places, sizeof(*a.flits)),
		.credits = calloc(places, sizeof(*a.credits)),
		.owners = calloc(places, sizeof(*a.owners)) };
	const char *wrong = "not enough memory to check";
	if (a.flits && a.credits && a.owners) {
		for (unsigned i = 0; i < n->workers; i++)
			audit_lists(&a, &n->worker[i].wheel);
		wrong = audit_places(&a);
	}
	free(a.flits);
	free(a.credits);
	free(a.owners);
	return wrong ? wrong : audit_packets(n);
}
