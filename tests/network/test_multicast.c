/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicasts: the multicast port of each router delivers a packet and sends
 * copies along the tree. Each node, including the sender, receives it once.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/engine/engine.h"
#include "network/traffic/load.h"
#include "topologies.h"

#define FAR UINT32_MAX

struct cast {
	struct topology net;
	struct network *n;
	struct network_options options;
	uint32_t *depth, *parent; /* on the tree, from the sender */
	uint64_t *arrived;
};

/* The topology must be open. */
static void cast_open(struct cast *c, const char *router, unsigned threads)
{
	const char *why;
	c->options = (struct network_options){
		.seed = 3, .threads = threads, .record = true
	};
	if (c->net.class == &topology_class_graph)
		c->options.routing = &routing_up_down;
	assert_int_equal(router_preset(router, &c->options.router), 0);
	assert_int_equal(network_open(&c->n, &c->net, &c->options, &why), 0);
	c->depth = calloc(c->net.nodes, sizeof(*c->depth));
	c->parent = calloc(c->net.nodes, sizeof(*c->parent));
	c->arrived = calloc(c->net.nodes, sizeof(*c->arrived));
	assert_true(c->depth && c->parent && c->arrived);
}

static void cast_close(struct cast *c)
{
	network_close(c->n);
	topology_free(&c->net);
	free(c->depth);
	free(c->parent);
	free(c->arrived);
}

static void cast_torus(struct cast *c, const uint32_t *size,
	unsigned dimensions, const char *router, unsigned threads)
{
	assert_int_equal(topology_torus(&c->net, size, dimensions), 0);
	cast_open(c, router, threads);
}

/* Distances from a node in the tree, by relaxation. */
static void cast_depths(struct cast *c, uint32_t from)
{
	bool changed = true;
	memset(c->depth, 0xff, c->net.nodes * sizeof(*c->depth));
	c->depth[from] = 0;
	while (changed) {
		changed = false;
		for (uint64_t i = 0; i < (uint64_t)c->net.nodes * c->net.ports;
			i++) {
			uint32_t a = (uint32_t)(i / c->net.ports);
			uint32_t b = c->net.neighbour[i];
			if (!(tree_ports(&c->n->tree, a) >> i % c->net.ports &
				    1) ||
				c->depth[a] == FAR || c->depth[b] != FAR)
				continue;
			c->depth[b] = c->depth[a] + 1;
			c->parent[b] = a;
			changed = true;
		}
	}
}

static void send_to_all(struct cast *c, uint64_t time, uint32_t from,
	uint32_t length, uint64_t cookie)
{
	struct network_packet p = { .cookie = cookie,
		.from = from,
		.to = NETWORK_MULTICAST,
		.length = length };
	assert_int_equal(network_send(c->n, time, &p), 0);
}

/* ---- one multicast ---- */

/* The last hop of the path is the router of the node, towards the host. */
static void check_way(const struct cast *c, const struct network_delivery *d)
{
	const struct network_hop *last = &d->path[d->path_count - 1];
	assert_true(d->path_count > 0);
	assert_int_equal(last->node, d->node);
	assert_int_equal(last->port, c->n->port_multicast);
	if (c->depth[d->node] == 0)
		return;
	assert_true(d->path_count > 1);
	assert_int_equal(last[-1].node, c->parent[d->node]);
	assert_int_equal(
		topology_next(&c->net, last[-1].node, last[-1].port), d->node);
	assert_true(last[-1].time < last->time);
}

static void check_delivery(
	struct cast *c, const struct network_delivery *d, uint32_t from)
{
	assert_int_equal(d->fate, NETWORK_DELIVERED);
	assert_int_equal(d->packet.from, from);
	assert_int_equal(d->packet.to, NETWORK_MULTICAST);
	assert_int_equal(d->packet.cookie, 77);
	assert_int_equal(d->sent, 10);
	assert_int_equal(d->hops, c->depth[d->node]);
	assert_int_equal(c->arrived[d->node], 0);
	c->arrived[d->node] = d->arrived;
	check_way(c, d);
}

static void check_counters(const struct cast *c, uint64_t sent)
{
	struct network_counters n;
	network_count(c->n, &n);
	assert_int_equal(n.packets_sent, sent);
	assert_int_equal(
		n.packets_sent + n.multicast_copies, n.packets_delivered);
	assert_int_equal(n.packets_reported, 0);
	assert_int_equal(network_busy(c->n), 0);
	assert_null(network_check(c->n));
}

/* Each node once, and none before its parent. */
static void check_cast(struct cast *c, uint32_t from, uint32_t length)
{
	struct network_delivery d;
	cast_depths(c, from);
	send_to_all(c, 10, from, length, 77);
	assert_int_equal(network_run(c->n, 20000), 0);
	while (network_poll(c->n, &d))
		check_delivery(c, &d, from);
	for (uint32_t i = 0; i < c->net.nodes; i++) {
		assert_true(c->arrived[i] > 10);
		if (i != from)
			assert_true(c->arrived[i] > c->arrived[c->parent[i]]);
	}
	check_counters(c, 1);
	cast_close(c);
}

static void every_node_receives_a_multicast_once(void **state)
{
	const uint32_t size[3] = { 4, 3, 5 }, pair = 2;
	const struct topology_link link = { { 0, 1 } };
	struct cast c;
	(void)state;
	cast_torus(&c, size, 3, "iq4", 1);
	check_cast(&c, 17, 1);
	cast_torus(&c, size, 3, "extoll", 2);
	check_cast(&c, 0, 32);
	cast_torus(&c, size, 2, "atoll", 1);
	check_cast(&c, 11, 200);
	assert_int_equal(topology_mesh(&c.net, size, 3), 0);
	cast_open(&c, "iq4", 3);
	check_cast(&c, 59, 20);
	assert_int_equal(topology_hypercube(&c.net, 5), 0);
	cast_open(&c, "iq4", 1);
	check_cast(&c, 30, 2);
	cast_torus(&c, &pair, 1, "iq4", 1);
	check_cast(&c, 1, 3);
	assert_int_equal(topology_graph(&c.net, 2, &link, 1), 0);
	cast_open(&c, "iq4", 1);
	check_cast(&c, 1, 3);
	assert_int_equal(topology_graph(&c.net, 1, NULL, 0), 0);
	cast_open(&c, "iq4", 1);
	check_cast(&c, 0, 3);
}

static void multicasts_work_on_graphs(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct random r = random_stream(seed, 1);
		struct cast c;
		random_graph(&c.net, &r);
		cast_open(&c, "iq4", 1 + seed % 3);
		check_cast(&c, random_below(&r, c.net.nodes),
			1 + random_below(&r, 12));
	}
}

/* ---- latency ---- */

/* Injection, two routers, ejection, and the serialization of the packet. */
static uint64_t level_time(
	const struct router *r, unsigned host_delay, uint32_t length)
{
	uint64_t through = r->route_delay + r->channel_delay;
	return r->inject_delay + through + r->link_delay + through + length -
	       1 + r->eject_delay + host_delay;
}

/* On a line each node sends one copy, so each hop takes the same time. */
static void check_line(const char *router, uint32_t length)
{
	const uint32_t size = 9;
	struct cast c;
	struct network_delivery d;
	assert_int_equal(topology_mesh(&c.net, &size, 1), 0);
	cast_open(&c, router, 1);
	const struct router *r = &c.options.router;
	uint64_t first = 10 + r->inject_delay + r->route_delay +
			 r->channel_delay + length - 1 + r->eject_delay;
	send_to_all(&c, 10, 0, length, 77);
	assert_int_equal(network_run(c.n, 20000), 0);
	for (uint32_t i = 0; i < size; i++) {
		assert_true(network_poll(c.n, &d));
		assert_int_equal(d.node, i);
		assert_int_equal(
			d.arrived, first + i * level_time(r, 0, length));
	}
	assert_false(network_poll(c.n, &d));
	cast_close(&c);
}

static void every_level_takes_the_same_time(void **state)
{
	(void)state;
	check_line("iq4", 1);
	check_line("iq4", 5);
	check_line("extoll", 16);
	check_line("atoll", 100);
}

/* ---- many ---- */

#define CASTS 20

struct tally {
	uint64_t casts, plain;
	uint64_t hash; /* of all deliveries, in order */
	uint8_t got[CASTS][64];
};

static void tally_add(struct tally *t, const struct network_delivery *d)
{
	const uint64_t what[] = { d->packet.cookie, d->node, d->arrived,
		d->hops, d->path_count };
	for (unsigned i = 0; i < COUNT(what); i++)
		t->hash = (t->hash ^ what[i]) * 0x100000001b3ull;
	assert_int_equal(d->fate, NETWORK_DELIVERED);
	if (d->packet.to == NETWORK_MULTICAST) {
		t->casts++;
		t->got[d->packet.cookie][d->node]++;
	} else {
		t->plain++;
		assert_int_equal(d->node, d->packet.to);
	}
}

/* From different nodes at nearly the same time, and others between them. */
static void many_are_sent(struct cast *c, struct random *r)
{
	for (unsigned i = 0; i < CASTS; i++)
		send_to_all(c, 100 + random_below(r, 30),
			random_below(r, c->net.nodes), 1 + i % 9, i);
	for (unsigned i = 0; i < 500; i++) {
		struct network_packet p = { .cookie = CASTS + i,
			.from = random_below(r, c->net.nodes),
			.to = random_below(r, c->net.nodes),
			.length = 1 + random_below(r, 9) };
		assert_int_equal(
			network_send(c->n, 50 + random_below(r, 300), &p), 0);
	}
}

static void many_run(struct tally *t, const char *router, unsigned threads)
{
	const uint32_t size[3] = { 4, 4, 4 };
	struct random r = random_stream(5, 5);
	struct traffic traffic = { .pattern = TRAFFIC_UNIFORM };
	struct network_delivery d;
	struct network_counters n;
	struct length length;
	struct cast c;
	cast_torus(&c, size, 3, router, threads);
	traffic.topology = &c.net;
	assert_int_equal(length_parse("4", &length), 0);
	assert_int_equal(load_start(c.n, &traffic, &length, 0.2), 0);
	many_are_sent(&c, &r);
	assert_int_equal(network_run(c.n, 2000), 0);
	assert_int_equal(load_start(c.n, &traffic, &length, 0), 0);
	assert_int_equal(network_run(c.n, 20000), 0);
	*t = (struct tally){ .hash = 1 };
	while (network_poll(c.n, &d))
		tally_add(t, &d);
	network_count(c.n, &n);
	assert_int_equal(n.multicast_copies, CASTS * 63);
	check_counters(&c, n.packets_sent);
	cast_close(&c);
}

static void check_many(const char *router)
{
	struct tally one, more;
	many_run(&one, router, 1);
	assert_int_equal(one.plain, 500);
	assert_int_equal(one.casts, CASTS * 64);
	for (unsigned i = 0; i < CASTS; i++)
		for (unsigned node = 0; node < 64; node++)
			assert_int_equal(one.got[i][node], 1);
	for (unsigned threads = 2; threads <= 3; threads++) {
		many_run(&more, router, threads);
		assert_int_equal(more.hash, one.hash);
		assert_memory_equal(&more, &one, sizeof(one));
	}
}

static void many_multicasts_among_other_packets(void **state)
{
	(void)state;
	check_many("iq4");
	check_many("extoll");
}

/* ---- errors ---- */

static void invalid_multicasts_are_refused(void **state)
{
	const uint32_t size = 4;
	struct network_packet p = { .from = 0, .to = NETWORK_MULTICAST };
	struct cast c;
	(void)state;
	cast_torus(&c, &size, 1, "extoll", 1);
	assert_int_equal(network_send(c.n, 10, &p), -EINVAL);
	p.length = 65; /* than a buffer holds */
	assert_int_equal(network_send(c.n, 10, &p), -EINVAL);
	p.length = 1;
	p.from = 4;
	assert_int_equal(network_send(c.n, 10, &p), -EINVAL);
	p.from = NETWORK_MULTICAST;
	assert_int_equal(network_send(c.n, 10, &p), -EINVAL);
	assert_int_equal(network_busy(c.n), 0);
	cast_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_node_receives_a_multicast_once),
		cmocka_unit_test(multicasts_work_on_graphs),
		cmocka_unit_test(every_level_takes_the_same_time),
		cmocka_unit_test(many_multicasts_among_other_packets),
		cmocka_unit_test(invalid_multicasts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
