/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a network: a user sends packets at given times and polls for
 * deliveries with their times and paths. Two hosts that answer each other run
 * on the simulated clock.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/engine/network.h"

struct plug {
	struct topology topology;
	struct network *network;
};

static void plug_open(struct plug *p, struct network_options o)
{
	const uint32_t size[2] = { 5, 4 };
	const char *why;
	assert_int_equal(topology_torus(&p->topology, size, 2), 0);
	if (!o.router.name[0])
		assert_int_equal(router_preset("iq4", &o.router), 0);
	assert_int_equal(network_open(&p->network, &p->topology, &o, &why), 0);
	assert_null(why);
}

static void plug_close(struct plug *p)
{
	network_close(p->network);
	topology_free(&p->topology);
}

/* ---- send and poll ---- */

static void deliveries_have_times_and_paths(void **state)
{
	struct plug p;
	struct network_delivery d;
	(void)state;
	plug_open(&p, (struct network_options){ .record = true });
	struct network_packet packet = {
		.cookie = 99, .from = 0, .to = 1 + 5 * 1, .length = 4
	};
	assert_int_equal(network_send(p.network, 100, &packet), 0);
	assert_int_equal(network_busy(p.network), 1);
	assert_int_equal(network_run(p.network, 100 + 7 + 12 + 2), 0);
	assert_false(network_poll(p.network, &d));
	assert_int_equal(network_run(p.network, 100 + 7 + 12 + 3), 0);
	assert_true(network_poll(p.network, &d));
	assert_int_equal(d.packet.cookie, 99);
	assert_int_equal(d.packet.to, 6);
	assert_int_equal(d.packet.length, 4);
	assert_int_equal(d.fate, NETWORK_DELIVERED);
	assert_int_equal(d.node, 6);
	assert_int_equal(d.sent, 100);
	assert_int_equal(d.entered, 100);
	assert_int_equal(d.arrived, 100 + 7 + 12 + 3);
	assert_int_equal(d.hops, 2);
	/* Up in x, up in y, and out. */
	const struct network_hop way[3] = { { 104, 0, 0, 0 }, { 110, 1, 2, 0 },
		{ 116, 6, 4, 0 } };
	assert_int_equal(d.path_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(d.path[i].time, way[i].time);
		assert_int_equal(d.path[i].node, way[i].node);
		assert_int_equal(d.path[i].port, way[i].port);
	}
	assert_false(network_poll(p.network, &d));
	assert_int_equal(network_busy(p.network), 0);
	plug_close(&p);
}

static void invalid_packets_are_refused(void **state)
{
	struct plug p;
	struct network_options o = { 0 };
	struct network_packet good = { .to = 1, .length = 1 }, bad;
	(void)state;
	assert_int_equal(router_preset("extoll", &o.router), 0);
	plug_open(&p, o);
	assert_int_equal(network_run(p.network, 50), 0);
	assert_int_equal(network_now(p.network), 50);
	assert_int_equal(network_send(p.network, 49, &good), -EINVAL);
	bad = good;
	bad.from = 20;
	assert_int_equal(network_send(p.network, 50, &bad), -EINVAL);
	bad = good;
	bad.to = 20;
	assert_int_equal(network_send(p.network, 50, &bad), -EINVAL);
	bad = good;
	bad.length = 0;
	assert_int_equal(network_send(p.network, 50, &bad), -EINVAL);
	bad.length = 65; /* cut-through: all of it must fit a buffer */
	assert_int_equal(network_send(p.network, 50, &bad), -EINVAL);
	assert_int_equal(network_busy(p.network), 0);
	plug_close(&p);
}

static void wrong_networks_are_refused_with_a_reason(void **state)
{
	const uint32_t size[3] = { 4, 4, 4 };
	struct topology t, cube;
	struct network *n;
	struct network_options o = { .threads = 65 };
	const char *why;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 3), 0);
	assert_int_equal(topology_hypercube(&cube, 7), 0);
	router_preset("iq4", &o.router);
	assert_int_equal(network_open(&n, &t, &o, &why), -EINVAL);
	assert_non_null(strstr(why, "threads"));
	o.threads = 0;
	o.error_rate = 0.7;
	assert_int_equal(network_open(&n, &t, &o, &why), -EINVAL);
	o.error_rate = 0;
	router_preset("extoll", &o.router);
	assert_int_equal(network_open(&n, &cube, &o, &why), -EINVAL);
	assert_non_null(strstr(why, "links"));
	o.router.buffer = 0;
	assert_int_equal(network_open(&n, &t, &o, &why), -EINVAL);
	assert_non_null(strstr(why, "buffer"));
	topology_free(&t);
	topology_free(&cube);
}

/* ---- a device on the network's clock ---- */

#define ROUNDS	 50
#define THINKING 13 /* cycles until a host answers */

/* Ping-pong. */
static uint64_t ping_pong(unsigned threads, const char *router)
{
	struct network_options o = { .threads = threads, .record = true };
	struct plug p;
	struct network_delivery d;
	uint64_t last = 0;
	unsigned seen = 0;
	assert_int_equal(router_preset(router, &o.router), 0);
	plug_open(&p, o);
	struct network_packet packet = { .from = 0, .to = 13, .length = 2 };
	assert_int_equal(network_send(p.network, 0, &packet), 0);
	while (seen < ROUNDS) {
		uint64_t now = network_now(p.network);
		assert_int_equal(network_run(p.network, now + 1), 0);
		while (network_poll(p.network, &d)) {
			assert_int_equal(d.packet.cookie, seen++);
			assert_true(d.arrived <= network_now(p.network));
			last = d.arrived;
			packet = (struct network_packet){ .cookie = seen,
				.from = d.node,
				.to = d.packet.from,
				.length = 2 };
			assert_int_equal(network_send(p.network,
						 last + THINKING, &packet),
				0);
		}
	}
	assert_null(network_check(p.network));
	plug_close(&p);
	return last;
}

static void hosts_can_run_on_the_simulated_clock(void **state)
{
	/* 3 hops of 6 cycles there and, 13 being 3 and 2 away, back. */
	uint64_t hops = 2 + 2, trip = 7 + 6 * hops + 1;
	(void)state;
	assert_int_equal(
		ping_pong(1, "iq4"), ROUNDS * trip + (ROUNDS - 1) * THINKING);
	assert_int_equal(ping_pong(1, "extoll"), ping_pong(3, "extoll"));
	assert_int_equal(ping_pong(1, "atoll"), ping_pong(4, "atoll"));
}

/* Idle cycles cost nothing. */
static void idle_time_is_skipped(void **state)
{
	struct plug p;
	struct network_delivery d;
	struct network_packet packet = { .to = 7, .length = 1 };
	uint64_t year = 10000000000000000ull;
	(void)state;
	plug_open(&p, (struct network_options){ 0 });
	assert_int_equal(network_send(p.network, year, &packet), 0);
	assert_int_equal(network_run(p.network, year + 100), 0);
	assert_true(network_poll(p.network, &d));
	assert_int_equal(d.sent, year);
	assert_true(d.arrived < year + 100);
	plug_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deliveries_have_times_and_paths),
		cmocka_unit_test(invalid_packets_are_refused),
		cmocka_unit_test(wrong_networks_are_refused_with_a_reason),
		cmocka_unit_test(hosts_can_run_on_the_simulated_clock),
		cmocka_unit_test(idle_time_is_skipped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
