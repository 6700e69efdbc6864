/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Corner cases of a running network: unusual blocking, and extreme parameters.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/traffic/load.h"

#define LEG(port) ((uint32_t)(port) << 26 | 1u << 12)

struct corner {
	struct topology topology;
	struct network *network;
};

static struct router router_of(const char *name)
{
	struct router r;
	assert_int_equal(router_preset(name, &r), 0);
	return r;
}

static void corner_open(struct corner *c, uint32_t x, uint32_t y,
	const struct network_options *o)
{
	const uint32_t size[2] = { x, y };
	const char *why;
	if (c->topology.nodes == 0)
		assert_int_equal(
			topology_torus(&c->topology, size, y ? 2 : 1), 0);
	assert_int_equal(network_open(&c->network, &c->topology, o, &why), 0);
}

static void corner_close(struct corner *c)
{
	network_close(c->network);
	topology_free(&c->topology);
}

static void corner_send(struct corner *c, uint64_t when, uint32_t from,
	uint32_t to, uint32_t length)
{
	struct network_packet p = { .from = from, .to = to, .length = length };
	assert_int_equal(network_send(c->network, when, &p), 0);
}

/* The number of packets that have arrived; the others are reported. */
static unsigned corner_take(struct corner *c, unsigned *reported)
{
	struct network_delivery d;
	unsigned arrived = 0;
	*reported = 0;
	while (network_poll(c->network, &d))
		if (d.fate == NETWORK_DELIVERED)
			arrived++;
		else
			(*reported)++;
	return arrived;
}

/* ---- multicasts and failures ---- */

/* The multicast is queued behind a packet that waits for the drain. */
static void a_queued_multicast_does_not_prevent_draining(void **state)
{
	struct corner c = { 0 };
	unsigned reported;
	(void)state;
	corner_open(&c, 4, 4,
		&(struct network_options){ .router = router_of("iq4") });
	corner_send(&c, 10, 0, 5, 1);
	corner_send(&c, 10, 0, NETWORK_MULTICAST, 1);
	network_fail(c.network, 10, NETWORK_LINK_FAILS, 5, 0);
	assert_int_equal(network_run(c.network, 5000), 0);
	assert_int_equal(network_busy(c.network), 0);
	assert_int_equal(corner_take(&c, &reported), 17);
	assert_int_equal(reported, 0);
	corner_close(&c);
}

/* Nodes that a multicast cannot reach are reported. */
static void a_partitioned_network_reports_unreachable_nodes(void **state)
{
	struct corner c = { 0 };
	unsigned reported;
	(void)state;
	corner_open(&c, 8, 0,
		&(struct network_options){ .router = router_of("iq4") });
	network_fail(c.network, 1, NETWORK_LINK_FAILS, 0, 1);
	network_fail(c.network, 1, NETWORK_LINK_FAILS, 2, 0);
	corner_send(&c, 100, 5, NETWORK_MULTICAST, 1);
	corner_send(&c, 100, 5, 1, 1);
	assert_int_equal(network_run(c.network, 5000), 0);
	assert_int_equal(corner_take(&c, &reported), 5);
	assert_int_equal(reported, 3 + 1);
	corner_close(&c);
}

/* The link behind node 1 fails, then node 1, while its host has the packet. */
static void a_host_that_fails_loses_its_packets(void **state)
{
	struct corner c = { 0 };
	struct network_delivery d;
	(void)state;
	corner_open(&c, 8, 0,
		&(struct network_options){
			.router = router_of("iq4"), .host_delay = 1000 });
	corner_send(&c, 0, 0, 2, 1);
	network_fail(c.network, 8, NETWORK_LINK_FAILS, 1, 0);
	network_fail(c.network, 500, NETWORK_NODE_FAILS, 1, 0);
	assert_int_equal(network_run(c.network, 400), 0);
	struct network_counters n;
	network_count(c.network, &n);
	assert_int_equal(n.drained, 1);
	assert_int_equal(network_run(c.network, 5000), 0);
	assert_true(network_poll(c.network, &d));
	assert_int_equal(d.fate, NETWORK_LOST);
	assert_false(network_poll(c.network, &d));
	assert_int_equal(network_busy(c.network), 0);
	corner_close(&c);
}

/* ---- detours ---- */

/* Each of two detours leads over the other dead link. */
static void detours_do_not_loop(void **state)
{
	const uint32_t by_2[2] = { LEG(1), LEG(1) };
	const uint32_t by_0[2] = { LEG(0), LEG(0) };
	struct corner c = { 0 };
	unsigned reported;
	(void)state;
	assert_int_equal(topology_full(&c.topology, 3), 0);
	corner_open(&c, 0, 0,
		&(struct network_options){ .router = router_of("iq4") });
	assert_int_equal(network_detour(c.network, 0, 0, by_2, 2), 0);
	assert_int_equal(network_detour(c.network, 2, 1, by_0, 2), 0);
	corner_send(&c, 0, 0, 1, 1);
	network_fail(c.network, 2, NETWORK_LINK_FAILS, 0, 0);
	network_fail(c.network, 2, NETWORK_LINK_FAILS, 2, 1);
	assert_int_equal(network_run(c.network, 5000), 0);
	assert_int_equal(network_busy(c.network), 0);
	assert_int_equal(corner_take(&c, &reported), 0);
	assert_int_equal(reported, 1);
	corner_close(&c);
}

static void invalid_detours_are_refused(void **state)
{
	const uint32_t nothing[2] = { 2u << 26, LEG(0) };
	const uint32_t itself[3] = { LEG(0), LEG(0), LEG(1) };
	const uint32_t elsewhere[2] = { LEG(2), LEG(0) };
	struct corner c = { 0 };
	(void)state;
	corner_open(&c, 4, 4,
		&(struct network_options){ .router = router_of("iq4") });
	assert_int_equal(network_detour(c.network, 0, 0, nothing, 2), -EINVAL);
	assert_int_equal(network_detour(c.network, 0, 0, itself, 3), -EINVAL);
	assert_int_equal(
		network_detour(c.network, 0, 0, elsewhere, 2), -EINVAL);
	corner_close(&c);
}

/* ---- routers ---- */

static void long_delays_are_exact(void **state)
{
	struct corner c = { 0 };
	struct network_delivery d;
	struct network_options o = { .router = router_of("iq4") };
	(void)state;
	o.router.channel_delay = 1000;
	corner_open(&c, 4, 0, &o);
	corner_send(&c, 0, 0, 1, 1);
	assert_int_equal(network_run(c.network, 5000), 0);
	assert_true(network_poll(c.network, &d));
	assert_int_equal(d.arrived, 7 + 6 + 2 * 999);
	corner_close(&c);
}

/*
 * The first packet leaves two places free in the buffer of node 1, and its
 * credits come back after credit_delay. The second one needs six: until then
 * none of its flits leaves node 0.
 */
static void cut_through_needs_room_for_the_whole_packet(void **state)
{
	struct corner c = { 0 };
	struct network_options o = { .router = router_of("iq4") };
	struct network_counters n;
	unsigned reported;
	(void)state;
	o.router.switching = ROUTER_CUT_THROUGH;
	o.router.channels = o.router.groups = 1;
	o.router.grouping = ROUTE_GROUPS_PLAIN;
	o.router.credit_delay = 1000;
	corner_open(&c, 4, 0, &o);
	corner_send(&c, 0, 0, 1, 6);
	corner_send(&c, 0, 0, 1, 6);
	assert_int_equal(network_run(c.network, 500), 0);
	network_count(c.network, &n);
	assert_int_equal(n.flit_hops, 6);
	assert_int_equal(network_run(c.network, 5000), 0);
	network_count(c.network, &n);
	assert_int_equal(n.flit_hops, 12);
	assert_int_equal(corner_take(&c, &reported), 2);
	corner_close(&c);
}

/*
 * The long packet of node 1 holds the only channel to node 2, so that flits of
 * node 0 fill the buffer of node 1 to the level at which it sends XOFF. Those
 * that leave before the cycle in which XOFF arrives follow.
 */
static void xoff_is_sent_at_its_level(void **state)
{
	struct corner c = { 0 };
	struct network_options o = { .router = router_of("atoll") };
	struct network_link links[16];
	(void)state;
	o.router.deadlock_countdown = 0;
	corner_open(&c, 8, 0, &o);
	corner_send(&c, 0, 1, 2, 4000);
	corner_send(&c, 100, 0, 2, 1000);
	assert_int_equal(network_run(c.network, 2000), 0);
	assert_int_equal(network_links(c.network, links, 16), 16);
	for (unsigned i = 0; i < 16; i++)
		if (links[i].from == 0 && links[i].to == 1)
			assert_int_equal(links[i].flits,
				o.router.xoff_level + o.router.link_delay +
					o.router.credit_delay - 1);
	corner_close(&c);
}

/* iq4 breaks ties at random; with ordered delivery it must not. */
static void ordered_delivery_uses_one_path(void **state)
{
	struct corner c = { 0 };
	struct network_delivery d;
	struct network_options o = { .router = router_of("iq4") };
	uint64_t next = 0;
	(void)state;
	o.router.ordered = true;
	corner_open(&c, 4, 4, &o);
	for (uint64_t i = 0; i < 200; i++) {
		struct network_packet p = {
			.cookie = i, .to = 10, .length = 1 + i % 5
		};
		assert_int_equal(network_send(c.network, i, &p), 0);
		p = (struct network_packet){
			.cookie = 1000, .from = 1, .to = 2, .length = 5
		};
		assert_int_equal(network_send(c.network, i, &p), 0);
	}
	assert_int_equal(network_run(c.network, 20000), 0);
	while (network_poll(c.network, &d))
		if (d.packet.cookie < 1000)
			assert_int_equal(d.packet.cookie, next++);
	assert_int_equal(next, 200);
	corner_close(&c);
}

/* Ordered delivery: a packet waits for its channel while others are free. */
static void every_kind_of_deadlock_is_detected(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct network_options o = { .router = router_of("iq4"),
			.seed = 1 };
		struct corner c = { 0 };
		struct length length;
		o.router.groups = 1;
		o.router.grouping = ROUTE_GROUPS_PLAIN;
		o.router.ordered = kind != 1;
		o.router.deadlock_countdown = kind == 2 ? 500 : 0;
		if (kind == 1)
			o.router.switching = ROUTER_CUT_THROUGH;
		assert_int_equal(
			length_parse(kind == 1 ? "8" : "1", &length), 0);
		corner_open(&c, 8, 8, &o);
		struct traffic t = { .topology = &c.topology };
		assert_int_equal(load_start(c.network, &t, &length, 0.9), 0);
		struct network_counters n;
		int e = network_run(c.network, 50000);
		network_count(c.network, &n);
		if (kind == 2)
			assert_true(e == 0 && n.deadlock_removed > 0);
		else
			assert_int_equal(e, -EDEADLK);
		assert_null(network_check(c.network));
		corner_close(&c);
	}
}

/* ---- topologies ---- */

/* The topology has lost links before the network is opened. */
static void the_topology_may_have_lost_links_before(void **state)
{
	const uint32_t size[2] = { 4, 4 };
	struct corner c = { 0 };
	unsigned reported;
	(void)state;
	assert_int_equal(topology_torus(&c.topology, size, 2), 0);
	assert_int_equal(topology_cut(&c.topology, 0, 0), 0);
	corner_open(&c, 4, 4,
		&(struct network_options){ .router = router_of("iq4") });
	corner_send(&c, 0, 0, 1, 3);
	assert_int_equal(network_run(c.network, 2000), 0);
	assert_int_equal(corner_take(&c, &reported), 1);
	corner_close(&c);
}

static void packets_that_are_too_long_are_refused(void **state)
{
	const uint32_t size = 200000;
	struct network_options o = { .router = router_of("iq4") };
	struct topology t;
	struct network *n;
	const char *why;
	(void)state;
	assert_int_equal(topology_torus(&t, &size, 1), 0);
	assert_int_equal(network_open(&n, &t, &o, &why), -EINVAL);
	assert_non_null(strstr(why, "legs"));
	topology_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queued_multicast_does_not_prevent_draining),
		cmocka_unit_test(
			a_partitioned_network_reports_unreachable_nodes),
		cmocka_unit_test(a_host_that_fails_loses_its_packets),
		cmocka_unit_test(detours_do_not_loop),
		cmocka_unit_test(invalid_detours_are_refused),
		cmocka_unit_test(long_delays_are_exact),
		cmocka_unit_test(cut_through_needs_room_for_the_whole_packet),
		cmocka_unit_test(xoff_is_sent_at_its_level),
		cmocka_unit_test(ordered_delivery_uses_one_path),
		cmocka_unit_test(every_kind_of_deadlock_is_detected),
		cmocka_unit_test(the_topology_may_have_lost_links_before),
		cmocka_unit_test(packets_that_are_too_long_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
