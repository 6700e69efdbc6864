/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See load.h. The time to the next packet of a node is drawn when a packet is
 * created, so that nodes cost nothing in other cycles: each worker has a
 * calendar queue, that is, lists of nodes by the time of their next packet,
 * modulo the number of lists.
 */
#include "network/traffic/load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bits.h"
#include "network/engine/parts.h"

#define LISTS	  1024 /* of a worker; a power of two */
#define HOST_NONE UINT32_MAX
#define GAP_MAX	  (1ull << 40)

struct load_state {
	struct traffic traffic;
	struct length length;
	double probability; /* of a packet, per node and cycle */
	double factor;	    /* 1 / ln(1 - probability) */
	uint64_t *when;	    /* by host: time of its next packet */
	uint32_t *next;	    /* by host: the next host of its list */
};

/* Cycles to the next packet: geometrically distributed, 1 or more. */
static uint64_t load_gap(const struct load_state *l, struct random *r)
{
	double gap = l->probability >= 1 ? 0
					 : log(1 - random_real(r)) * l->factor;
	return 1 + (gap < (double)GAP_MAX ? (uint64_t)gap : GAP_MAX);
}

static void load_schedule(struct worker *w, uint32_t host, uint64_t when)
{
	struct load_state *l = w->network->load;
	uint32_t *list = &w->calendar[when % LISTS];
	l->when[host] = when;
	l->next[host] = *list;
	*list = host;
}

static void load_create(struct worker *w, uint32_t host, struct random *r)
{
	struct network *n = w->network;
	struct load_state *l = n->load;
	uint32_t number = packet_alloc(&w->pool);
	if (number == PACKET_NONE) {
		worker_fail(w, -ENOMEM);
		return;
	}
	uint32_t to = traffic_target(&l->traffic, host, r);
	*flit_packet(n, number) = (struct packet_state){ .created = w->now,
		.record = PACKET_NONE,
		.from = host,
		.to = to,
		.length = (uint16_t)length_draw(&l->length, r),
		.tag = (uint16_t)(to & n->tag_mask),
		.flags = n->measuring ? PACKET_MEASURED : 0 };
	w->measure.created += n->measuring;
	w->counters.packets_sent++;
	source_enqueue(w, host, number);
}

void load_generate(struct worker *w)
{
	struct network *n = w->network;
	struct load_state *l = n->load;
	uint32_t *list = &w->calendar[w->now % LISTS];
	uint32_t host = *list, next;
	*list = HOST_NONE;
	for (; host != HOST_NONE; host = next) {
		struct node_state *node = &n->node[host_node(n, host)];
		uint64_t when = l->when[host];
		next = l->next[host];
		if (when == w->now && !node->dead) {
			load_create(w, host, &node->random);
			when += load_gap(l, &node->random);
		}
		if (when > w->now)
			load_schedule(w, host, when);
	}
}

uint64_t load_next(const struct worker *w)
{
	const struct load_state *l = w->network->load;
	uint64_t next = UINT64_MAX;
	if (!l)
		return next;
	for (uint64_t t = w->now + 1; t <= w->now + LISTS; t++)
		for (uint32_t i = w->calendar[t % LISTS]; i != HOST_NONE;
			i = l->next[i])
			if (l->when[i] == t)
				return t;
	/* Beyond one lap of the calendar: search all hosts. */
	const struct network *n = w->network;
	for (uint32_t i = node_host(n, w->first); i < node_host(n, w->end); i++)
		if (!n->node[host_node(n, i)].dead)
			next = bits_min(next, l->when[i]);
	return next;
}

/* ---- set-up ---- */

static int load_open(struct network *n)
{
	struct load_state *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->when = malloc(n->hosts * sizeof(*l->when));
	l->next = malloc(n->hosts * sizeof(*l->next));
	n->load = l;
	for (unsigned i = 0; i < n->workers; i++)
		n->worker[i].calendar =
			malloc(LISTS * sizeof(*n->worker[i].calendar));
	bool all = l->when && l->next;
	for (unsigned i = 0; i < n->workers; i++)
		all = all && n->worker[i].calendar;
	if (!all)
		load_close(n);
	return all ? 0 : -ENOMEM;
}

void load_close(struct network *n)
{
	if (!n->load)
		return;
	free(n->load->when);
	free(n->load->next);
	free(n->load);
	n->load = NULL;
	for (unsigned i = 0; i < n->workers; i++) {
		free(n->worker[i].calendar);
		n->worker[i].calendar = NULL;
	}
}

int load_start(struct network *n, const struct traffic *t,
	const struct length *length, double load)
{
	double probability = load / length_mean(length);
	load_close(n);
	if (load == 0)
		return 0;
	if (!(probability > 0 && probability <= 1) ||
		!router_accepts(&n->router, length_longest(length)))
		return -EINVAL;
	int r = load_open(n);
	if (r)
		return r;
	struct load_state *l = n->load;
	l->traffic = *t;
	l->length = *length;
	l->probability = probability;
	l->factor = 1 / log1p(-probability);
	for (unsigned i = 0; i < n->workers; i++) {
		struct worker *w = &n->worker[i];
		for (unsigned k = 0; k < LISTS; k++)
			w->calendar[k] = HOST_NONE;
		w->now = n->now;
		for (uint32_t host = node_host(n, w->first);
			host < node_host(n, w->end); host++)
			load_schedule(w, host,
				n->now - 1 +
					load_gap(l, &n->node[host_node(n, host)]
							     .random));
	}
	return 0;
}

/* ---- measurement ---- */

void load_measure(struct network *n, bool on)
{
	n->measuring = on;
}

void load_sample(const struct network *n, struct load_sample *s)
{
	*s = (struct load_sample){ 0 };
	for (unsigned i = 0; i < n->workers; i++) {
		const struct worker *w = &n->worker[i];
		s->created += w->measure.created;
		s->done += w->measure.done;
		s->latency += w->measure.latency.sum;
		s->network_latency += w->measure.network_latency;
		s->hops += w->measure.hops;
		s->flits_delivered += w->counters.flits_delivered;
		s->packets_delivered += w->counters.packets_delivered;
		s->queued += (uint64_t)w->queued;
	}
}

void load_latency(const struct network *n, struct histogram *h)
{
	histogram_clear(h);
	for (unsigned i = 0; i < n->workers; i++)
		histogram_merge(h, &n->worker[i].measure.latency);
}
