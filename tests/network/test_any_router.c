/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random routers, topologies and packets: every packet arrives once, the
 * invariants hold all the time, and only routes that are not free of deadlock
 * may deadlock.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/engine/network.h"
#include "network/topology/class.h"

#define SEEDS	400
#define PACKETS 400

static unsigned between(struct random *r, unsigned least, unsigned most)
{
	return least + random_below(r, most - least + 1);
}

static bool often(struct random *r)
{
	return random_below(r, 2);
}

static void any_flow(struct random *r, struct router *o)
{
	o->flow = often(r) ? ROUTER_CREDITS : ROUTER_XON_XOFF;
	o->switching = o->flow == ROUTER_CREDITS && often(r)
			       ? ROUTER_CUT_THROUGH
			       : ROUTER_WORMHOLE;
	o->buffer = between(r, 1, 40);
	if (o->flow == ROUTER_CREDITS)
		return;
	o->xon_level = between(r, 0, 5);
	o->xoff_level = o->xon_level + between(r, 1, 5);
	o->buffer = o->xoff_level + o->link_delay + o->credit_delay +
		    between(r, 0, 9);
}

static struct router any_router(struct random *r)
{
	struct router o = { .name = "any",
		.network_ports = between(r, 1, ROUTER_NETWORK_MAX),
		.channels = between(r, 2, ROUTER_CHANNELS_MAX),
		.groups = 2,
		.arbiter = (enum router_arbiter)between(r, 0, 3),
		.grouping = often(r) ? ROUTE_GROUPS_DATED : ROUTE_GROUPS_FIXED,
		.ties = (enum route_ties)between(r, 0, 2),
		.route_delay = between(r, 1, 5),
		.channel_delay = between(r, 1, 5),
		.link_delay = between(r, 1, 20),
		.credit_delay = between(r, 1, 20),
		.inject_delay = between(r, 1, 5),
		.inject_credit_delay = between(r, 1, 5),
		.eject_delay = between(r, 1, 5),
		.retry_delay = between(r, 1, 30),
		.tag_bits = between(r, 0, 16),
		.ordered = often(r) };
	if (random_below(r, 4) == 0) {
		o.groups = 1;
		o.channels = between(r, 1, 3);
		o.grouping = ROUTE_GROUPS_PLAIN;
	}
	any_flow(r, &o);
	return o;
}

static void any_topology(struct random *r, struct topology *t)
{
	uint32_t size[3] = { between(r, 2, 5), between(r, 2, 5),
		between(r, 2, 4) };
	unsigned dimensions = between(r, 1, 3), kind = random_below(r, 4);
	int e = kind == 0   ? topology_torus(t, size, dimensions)
		: kind == 1 ? topology_mesh(t, size, dimensions)
		: kind == 2 ? topology_hypercube(t, between(r, 1, 6))
			    : topology_full(t, between(r, 2, 12));
	assert_int_equal(e, 0);
}

/* Starts shortly before the 32-bit times wrap around. */
#define TURN ((1ull << 32) - 300)

/* The start time. */
static uint64_t send_any(struct random *r, struct network *n,
	const struct router *o, uint32_t nodes)
{
	uint64_t from = often(r) ? TURN : 0;
	unsigned longest = o->switching == ROUTER_CUT_THROUGH ? o->buffer : 60;
	for (unsigned i = 0; i < PACKETS; i++) {
		struct network_packet p = { .cookie = i,
			.from = random_below(r, nodes),
			.to = random_below(r, nodes),
			.length = between(r, 1, longest) };
		assert_int_equal(
			network_send(n, from + random_below(r, 600), &p), 0);
	}
	return from;
}

/* Each packet once, at its destination. */
static void take_all(struct network *n, uint8_t *seen)
{
	struct network_delivery d;
	while (network_poll(n, &d)) {
		assert_int_equal(d.fate, NETWORK_DELIVERED);
		assert_int_equal(d.node, d.packet.to);
		assert_int_equal(seen[d.packet.cookie]++, 0);
	}
}

static int run_all(struct network *n, uint64_t from, uint8_t *seen)
{
	int e = network_run(n, from);
	while (e == 0 && network_busy(n)) {
		assert_true(network_now(n) < from + 1000000);
		e = network_run(n, network_now(n) + 61);
		assert_null(network_check(n));
		take_all(n, seen);
	}
	if (e == 0)
		e = network_run(n, network_now(n) + 100);
	take_all(n, seen);
	return e;
}

static void any_run(uint64_t seed)
{
	struct random r = random_stream(seed, 3);
	struct network_options o = { .seed = seed,
		.router = any_router(&r),
		.threads = between(&r, 1, 3),
		.record = often(&r),
		.error_rate = random_below(&r, 4) ? 0 : 0.002 };
	uint8_t seen[PACKETS] = { 0 };
	struct topology t;
	struct network *n;
	const char *why;
	any_topology(&r, &t);
	assert_int_equal(network_open(&n, &t, &o, &why), 0);
	uint64_t from = send_any(&r, n, &o.router, t.nodes);
	int e = run_all(n, from, seen);
	if (t.class->rings && o.router.groups == 1)
		assert_true(e == 0 || e == -EDEADLK);
	else
		assert_int_equal(e, 0);
	for (unsigned i = 0; e == 0 && i < PACKETS; i++)
		assert_int_equal(seen[i], 1);
	network_close(n);
	topology_free(&t);
}

static void any_router_delivers_every_packet(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		any_run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_router_delivers_every_packet),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
