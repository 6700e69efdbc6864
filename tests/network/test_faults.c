/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bit errors, failures of links and nodes, and deadlocks: every packet arrives
 * once or is reported, and the invariants hold all the time.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/routing/dependency.h"
#include "network/traffic/load.h"

/* ---- a network, and the fate of each packet ---- */

struct run {
	struct topology topology;
	struct network *network;
	struct random random;
	uint8_t *fate; /* by cookie: how often delivered; 16: reported */
	uint64_t packets;
};

#define REPORTED 16

static struct router router_of(const char *name)
{
	struct router r;
	assert_int_equal(router_preset(name, &r), 0);
	return r;
}

static void run_open(struct run *r, const struct network_options *o)
{
	const char *why;
	r->random = random_stream(o->seed, 77);
	r->packets = 0;
	r->fate = calloc(1 << 20, 1);
	assert_int_equal(network_open(&r->network, &r->topology, o, &why), 0);
}

static void run_close(struct run *r)
{
	network_close(r->network);
	topology_free(&r->topology);
	free(r->fate);
}

static void run_send(struct run *r, uint64_t from_time, uint64_t within,
	unsigned count, unsigned longest)
{
	for (unsigned i = 0; i < count; i++) {
		uint32_t nodes = r->topology.nodes;
		struct network_packet p = { .cookie = r->packets++,
			.from = random_below(&r->random, nodes),
			.to = random_below(&r->random, nodes),
			.length = 1 + random_below(&r->random, longest) };
		uint64_t when =
			from_time + random_below(&r->random, (uint32_t)within);
		assert_int_equal(network_send(r->network, when, &p), 0);
	}
}

static void run_take(struct run *r)
{
	struct network_delivery d;
	while (network_poll(r->network, &d)) {
		assert_true(d.packet.cookie < r->packets);
		assert_true(d.sent <= d.entered || d.fate != NETWORK_DELIVERED);
		if (d.fate == NETWORK_DELIVERED)
			assert_int_equal(d.node, d.packet.to);
		r->fate[d.packet.cookie] +=
			d.fate == NETWORK_DELIVERED ? 1 : REPORTED;
	}
}

/* Runs until the network is empty, and checks the invariants now and then. */
static void run_out(struct run *r, uint64_t step, uint64_t limit)
{
	while (network_busy(r->network)) {
		uint64_t now = network_now(r->network);
		assert_true(now < limit);
		assert_int_equal(network_run(r->network, now + step), 0);
		const char *wrong = network_check(r->network);
		if (wrong)
			fail_msg("cycle %llu: %s", (unsigned long long)now,
				wrong);
		run_take(r);
	}
	/* The last packets arrive a few cycles after they have left. */
	network_run(r->network, network_now(r->network) + 2000);
	run_take(r);
}

static uint64_t run_count(const struct run *r, unsigned fate)
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < r->packets; i++)
		n += r->fate[i] == fate;
	return n;
}

static void run_all_accounted(const struct run *r)
{
	assert_int_equal(run_count(r, 1) + run_count(r, REPORTED), r->packets);
}

static void torus(struct run *r, uint32_t x, uint32_t y, uint32_t z)
{
	uint32_t size[3] = { x, y, z };
	assert_int_equal(topology_torus(&r->topology, size, z ? 3 : 2), 0);
}

/* ---- bit errors ---- */

static void links_repeat_damaged_flits(void **state)
{
	struct run r;
	(void)state;
	torus(&r, 4, 4, 4);
	run_open(&r, &(struct network_options){ .router = router_of("extoll"),
			     .seed = 3,
			     .error_rate = 0.01 });
	run_send(&r, 0, 2000, 4000, 32);
	run_out(&r, 97, 200000);
	struct network_counters c;
	network_count(r.network, &c);
	assert_int_equal(run_count(&r, 1), r.packets);
	assert_true(c.flits_repeated > c.flit_hops / 200);
	assert_true(c.flits_repeated < c.flit_hops / 50);
	run_close(&r);
}

static void one_bit_error_delays_one_packet(void **state)
{
	uint64_t arrived[2];
	(void)state;
	for (unsigned error = 0; error < 2; error++) {
		struct run r;
		struct network_delivery d;
		torus(&r, 4, 4, 0);
		run_open(&r, &(struct network_options){
				     .router = router_of("iq4") });
		struct network_packet p = { .to = 1, .length = 3 };
		network_send(r.network, 10, &p);
		if (error)
			assert_int_equal(network_fail(r.network, 5,
						 NETWORK_BIT_ERROR, 0, 0),
				0);
		assert_int_equal(network_run(r.network, 200), 0);
		assert_true(network_poll(r.network, &d));
		arrived[error] = d.arrived;
		run_close(&r);
	}
	assert_int_equal(arrived[0], 10 + 7 + 6 + 2);
	assert_int_equal(arrived[1], arrived[0] + router_of("iq4").retry_delay);
}

static void a_link_with_too_many_errors_fails(void **state)
{
	struct run r;
	struct network_link links[96];
	unsigned dead = 0;
	(void)state;
	torus(&r, 4, 4, 0);
	run_open(&r, &(struct network_options){ .router = router_of("iq4"),
			     .seed = 4,
			     .error_rate = 0.45,
			     .host_delay = 50 });
	run_send(&r, 0, 20000, 4000, 2);
	run_out(&r, 1009, 1000000);
	run_all_accounted(&r);
	uint64_t count = network_links(r.network, links, 96);
	assert_int_equal(count, 64);
	for (unsigned i = 0; i < count; i++)
		dead += links[i].dead;
	assert_true(dead > 0);
	run_close(&r);
}

/* ---- failures ---- */

static void kill_something(struct run *r, uint64_t when)
{
	const struct topology *t = &r->topology;
	uint32_t node = random_below(&r->random, t->nodes);
	unsigned port = random_below(&r->random, t->ports);
	bool whole = random_below(&r->random, 4) == 0;
	bool link = topology_next(t, node, port) != TOPOLOGY_NOWHERE;
	assert_int_equal(
		network_fail(r->network, when,
			whole ? NETWORK_NODE_FAILS : NETWORK_LINK_FAILS, node,
			port),
		whole || link ? 0 : -EINVAL);
}

static void deaths(
	uint64_t seed, const char *router, unsigned longest, unsigned threads)
{
	struct run r;
	torus(&r, 4, 3, strcmp(router, "atoll") ? 3 : 0);
	run_open(&r, &(struct network_options){ .router = router_of(router),
			     .seed = seed,
			     .threads = threads,
			     .record = true,
			     .host_delay = 20 });
	run_send(&r, 0, 3000, 3000, longest);
	for (unsigned i = 0; i < 6; i++)
		kill_something(&r, random_below(&r.random, 4000));
	run_out(&r, 101, 400000);
	run_all_accounted(&r);
	assert_true(run_count(&r, 1) > r.packets / 4);
	run_close(&r);
}

static void failures_lose_no_packet_silently(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		deaths(seed, "iq4", 1, 1);
		deaths(seed, "iq4", 20, 1);
		deaths(seed, "extoll", 64, 1 + seed % 3);
		deaths(seed, "atoll", 200, 1);
	}
}

/* A graph with a tree and some more links. */
static void random_graph(struct run *r, uint64_t seed)
{
	struct random random = random_stream(seed, 5);
	struct topology_link link[64];
	unsigned count = 0;
	uint32_t nodes = 5 + random_below(&random, 20);
	for (uint32_t i = 1; i < nodes; i++)
		link[count++] = (struct topology_link){ { i,
			random_below(&random, i) } };
	for (unsigned i = 0; i < nodes / 2; i++) {
		uint32_t a = random_below(&random, nodes);
		uint32_t b = random_below(&random, nodes);
		if (a != b)
			link[count++] = (struct topology_link){ { a, b } };
	}
	assert_int_equal(topology_graph(&r->topology, nodes, link, count), 0);
}

static void random_graphs_with_random_faults(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct run r;
		random_graph(&r, seed);
		run_open(&r,
			&(struct network_options){ .router = router_of("iq4"),
				.routing = &routing_up_down,
				.seed = seed,
				.threads = 1 + seed % 4,
				.error_rate = seed % 2 ? 0.001 : 0,
				.host_delay = 10 });
		run_send(&r, 0, 2000, 1500, 12);
		for (unsigned i = 0; i < 4; i++)
			kill_something(&r, random_below(&r.random, 3000));
		run_out(&r, 53, 400000);
		run_all_accounted(&r);
		run_close(&r);
	}
}

/* The remaining nodes still reach each other, around the failed ones. */
static void routes_are_recomputed(void **state)
{
	struct run r;
	(void)state;
	torus(&r, 4, 4, 0);
	run_open(&r, &(struct network_options){ .router = router_of("iq4") });
	assert_int_equal(
		network_fail(r.network, 1, NETWORK_LINK_FAILS, 0, 0), 0);
	assert_int_equal(
		network_fail(r.network, 2, NETWORK_NODE_FAILS, 5, 0), 0);
	assert_int_equal(network_run(r.network, 10), 0);
	for (uint32_t a = 0; a < 16; a++)
		for (uint32_t b = 0; b < 16; b++) {
			struct network_packet p = { .cookie = r.packets++,
				.from = a,
				.to = b,
				.length = 1 };
			assert_int_equal(network_send(r.network, 20, &p), 0);
		}
	run_out(&r, 50, 5000);
	for (uint32_t a = 0; a < 16; a++)
		for (uint32_t b = 0; b < 16; b++)
			assert_int_equal(r.fate[16 * a + b],
				a == 5 || b == 5 ? REPORTED : 1);
	run_close(&r);
}

/* ---- masked ports: detours and the debug port ---- */

/* One long stream over a link that fails in the middle. */
static void stream(struct run *r, bool detour)
{
	static const uint32_t legs[3] = { 2u << 26 | 1u << 12,
		0u << 26 | 1u << 12, 3u << 26 | 1u << 12 };
	torus(r, 5, 5, 0);
	run_open(r, &(struct network_options){
			    .router = router_of("iq4"), .host_delay = 10 });
	if (detour)
		assert_int_equal(network_detour(r->network, 1, 0, legs, 3), 0);
	for (unsigned i = 0; i < 100; i++) {
		struct network_packet p = {
			.cookie = r->packets++, .to = 2, .length = 1
		};
		assert_int_equal(network_send(r->network, i, &p), 0);
	}
	assert_int_equal(
		network_fail(r->network, 60, NETWORK_LINK_FAILS, 1, 0), 0);
	run_out(r, 10, 5000);
	run_all_accounted(r);
}

static void packets_take_the_detour_of_a_masked_port(void **state)
{
	struct run r;
	struct network_counters c;
	(void)state;
	stream(&r, true);
	network_count(r.network, &c);
	assert_true(c.detours > 0);
	assert_int_equal(c.detours, c.masked);
	assert_int_equal(c.drained, 0);
	assert_true(c.interrupts >= c.masked);
	run_close(&r);
}

static void packets_without_a_detour_leave_by_the_debug_port(void **state)
{
	struct run r;
	struct network_counters c;
	(void)state;
	stream(&r, false);
	network_count(r.network, &c);
	assert_true(c.drained > 0);
	assert_int_equal(c.drained, c.masked);
	assert_int_equal(c.detours, 0);
	run_close(&r);
}

static void wrong_faults_and_detours_are_refused(void **state)
{
	struct run r;
	uint32_t leg = 2u << 26 | 1u << 12;
	(void)state;
	torus(&r, 4, 4, 0);
	run_open(&r, &(struct network_options){ .router = router_of("iq4") });
	network_run(r.network, 10);
	assert_int_equal(
		network_fail(r.network, 9, NETWORK_NODE_FAILS, 0, 0), -EINVAL);
	assert_int_equal(network_fail(r.network, 10, NETWORK_NODE_FAILS, 16, 0),
		-EINVAL);
	assert_int_equal(
		network_fail(r.network, 10, NETWORK_LINK_FAILS, 0, 4), -EINVAL);
	assert_int_equal(network_detour(r.network, 0, 0, &leg, 1), -EINVAL);
	assert_int_equal(network_detour(r.network, 0, 0, &leg, 0), -EINVAL);
	run_close(&r);
}

/* ---- deadlock ---- */

/* A ring of four nodes, each sends two hops: with one channel, a cycle. */
static void ring_of_worms(struct run *r, struct router router)
{
	const uint32_t size = 4;
	assert_int_equal(topology_torus(&r->topology, &size, 1), 0);
	run_open(r, &(struct network_options){
			    .router = router, .host_delay = 10 });
	for (uint32_t i = 0; i < 4; i++)
		for (unsigned k = 0; k < 8; k++) {
			struct network_packet p = { .cookie = r->packets++,
				.from = i,
				.to = (i + 2) % 4,
				.length = 100 };
			assert_int_equal(network_send(r->network, 0, &p), 0);
		}
}

static struct router one_channel(void)
{
	struct router r = router_of("iq4");
	r.channels = r.groups = 1;
	r.grouping = ROUTE_GROUPS_PLAIN;
	r.ties = ROUTE_TIES_UP;
	return r;
}

static void a_deadlock_is_detected_and_its_cycle_found(void **state)
{
	struct run r;
	struct channel *cycle;
	uint32_t count;
	(void)state;
	ring_of_worms(&r, one_channel());
	assert_int_equal(network_run(r.network, 100000), -EDEADLK);
	assert_true(network_now(r.network) < 20000);
	assert_null(network_check(r.network));
	assert_int_equal(network_deadlock(r.network, &cycle, &count), 0);
	assert_int_equal(count, 4);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(topology_next(&r.topology, cycle[i].node,
					 cycle[i].port),
			cycle[(i + 1) % count].node);
	free(cycle);
	run_close(&r);
}

static void recovery_resolves_a_deadlock(void **state)
{
	struct run r;
	struct network_counters c;
	struct router router = one_channel();
	(void)state;
	router.deadlock_countdown = 100;
	ring_of_worms(&r, router);
	run_out(&r, 100, 100000);
	assert_int_equal(run_count(&r, 1), r.packets);
	network_count(r.network, &c);
	assert_true(c.deadlock_removed > 0);
	assert_int_equal(
		c.deadlock_alarms, c.deadlock_removed + c.deadlock_false);
	assert_true(c.drained >= c.deadlock_removed);
	run_close(&r);
}

/* A stopped output is not a deadlock if there is no cycle. */
static void false_alarms_are_counted(void **state)
{
	struct run r;
	struct network_counters c;
	struct router router = one_channel();
	const uint32_t size = 6;
	(void)state;
	router.deadlock_countdown = 20;
	assert_int_equal(topology_mesh(&r.topology, &size, 1), 0);
	run_open(&r, &(struct network_options){ .router = router });
	for (uint32_t i = 0; i < 5; i++)
		for (unsigned k = 0; k < 10; k++) {
			struct network_packet p = { .cookie = r.packets++,
				.from = i,
				.to = 5,
				.length = 200 };
			assert_int_equal(network_send(r.network, 0, &p), 0);
		}
	run_out(&r, 100, 100000);
	assert_int_equal(run_count(&r, 1), r.packets);
	network_count(r.network, &c);
	assert_true(c.deadlock_false > 0);
	assert_int_equal(c.deadlock_removed, 0);
	run_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_repeat_damaged_flits),
		cmocka_unit_test(one_bit_error_delays_one_packet),
		cmocka_unit_test(a_link_with_too_many_errors_fails),
		cmocka_unit_test(failures_lose_no_packet_silently),
		cmocka_unit_test(random_graphs_with_random_faults),
		cmocka_unit_test(routes_are_recomputed),
		cmocka_unit_test(packets_take_the_detour_of_a_masked_port),
		cmocka_unit_test(
			packets_without_a_detour_leave_by_the_debug_port),
		cmocka_unit_test(wrong_faults_and_detours_are_refused),
		cmocka_unit_test(a_deadlock_is_detected_and_its_cycle_found),
		cmocka_unit_test(recovery_resolves_a_deadlock),
		cmocka_unit_test(false_alarms_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
