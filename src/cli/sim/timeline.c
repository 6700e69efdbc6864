/* SPDX-License-Identifier: BSD-2-Clause */
/* Records the paths of some packets, for `cay sim --timeline`. */
#include <errno.h>
#include <stdlib.h>

#include "cli/sim/sim.h"

/* A random stream that no node uses. */
#define STREAM_PROBES (2ull << 40)
/* Mean number of cycles between two packets. */
#define PROBE_GAP 8
/* The limit for a saturated network, where packets may wait for ever. */
#define PROBE_CYCLES_MAX 20000
#define PROBE_STEP	 256

static const char *fate_name(enum network_fate fate)
{
	static const char *const names[] = { [NETWORK_DELIVERED] = "delivered",
		[NETWORK_LOST] = "cut",
		[NETWORK_UNREACHABLE] = "unreachable" };
	return names[fate];
}

/* Copies the hops over links, without the ejection at the last router. Returns
 * their number. */
static uint32_t hops_copy(const struct topology *t,
	const struct network_delivery *d, struct timeline_hop *hop)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < d->path_count; i++) {
		const struct network_hop *h = &d->path[i];
		if (h->port >= t->ports)
			continue;
		hop[count++] = (struct timeline_hop){ .time = h->time,
			.node = h->node,
			.to = topology_next(t, h->node, h->port),
			.port = h->port,
			.channel = h->channel };
	}
	return count;
}

int sim_paths_add(struct sim_paths *w, const struct topology *t,
	const struct network_delivery *d)
{
	struct timeline_hop *hop = malloc((d->path_count + 1) * sizeof(*hop));
	if (hop && w->count == w->capacity) {
		uint32_t capacity = w->capacity ? 2 * w->capacity : 64;
		void *more = realloc(w->packet, capacity * sizeof(*w->packet));
		w->packet = more ? more : w->packet;
		w->capacity = more ? capacity : w->capacity;
	}
	if (!hop || w->count == w->capacity) {
		free(hop);
		return -ENOMEM;
	}
	w->packet[w->count++] = (struct timeline_packet){
		.from = d->packet.from,
		.to = d->packet.to,
		.length = d->packet.length,
		.sent = d->sent,
		.entered = d->entered,
		.arrived = d->arrived,
		.end = fate_name(d->fate),
		.hop = hop,
		.hops = hops_copy(t, d, hop),
	};
	return 0;
}

void sim_paths_free(struct sim_paths *w)
{
	for (uint32_t i = 0; i < w->count; i++)
		free((void *)w->packet[i].hop);
	free(w->packet);
	*w = (struct sim_paths){ 0 };
}

/* ---- probe packets in the loaded network ---- */

static int probes_send(const struct sim_options *c, struct network *n)
{
	struct random random = random_stream(c->network.seed, STREAM_PROBES);
	const struct traffic *t = &c->study.traffic;
	uint64_t time = network_now(n);
	int r = 0;
	for (uint64_t i = 0; i < c->packets && r == 0; i++) {
		struct network_packet p = { .cookie = i };
		p.from = random_below(&random, t->topology->hosts);
		p.to = traffic_target(t, p.from, &random);
		p.length = length_draw(&c->study.length, &random);
		time += random_below(&random, 2 * PROBE_GAP);
		r = network_send(n, time, &p);
	}
	return r;
}

int sim_paths_probe(
	struct sim_paths *w, const struct sim_options *c, struct network *n)
{
	uint64_t end =
		network_now(n) + PROBE_CYCLES_MAX + 2 * PROBE_GAP * c->packets;
	struct network_delivery d;
	int r = probes_send(c, n);
	while (r == 0 && w->count < c->packets && network_now(n) < end &&
		!sim_interrupted()) {
		r = network_run(n, network_now(n) + PROBE_STEP);
		int kept = 0;
		while (kept == 0 && network_poll(n, &d))
			kept = sim_paths_add(w, c->study.traffic.topology, &d);
		r = kept ? kept : r;
	}
	return r;
}

int sim_timeline_write(const struct sim_results *o, FILE *to)
{
	char title[SIM_TITLE_BYTES];
	sim_title(o, title);
	const struct timeline line = { .title = title,
		.packet = o->paths.packet,
		.count = o->paths.count };
	return timeline_write(to, &line);
}
