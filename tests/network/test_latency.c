/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closed forms of the routers: zero-load latency, throughput of a virtual
 * channel, and throughput of a torus.
 */
#include "networks.h"

#define APART 1000 /* cycles between two packets that do not meet */

/* ---- zero load ---- */

static uint64_t alone_takes(
	const struct router *r, uint32_t hops, uint32_t length)
{
	uint64_t router = r->route_delay + r->channel_delay;
	return r->inject_delay + router + hops * (router + r->link_delay) +
	       r->eject_delay + length - 1;
}

static uint32_t shortest(const struct topology *t, uint32_t a, uint32_t b)
{
	struct route r;
	assert_int_equal(
		route_dimension_order(t, ROUTE_GROUPS_PLAIN, 0, a, b, &r), 0);
	return route_hops(&r);
}

/* From three nodes to all, with different lengths. */
static uint64_t send_apart(struct network *n, const struct topology *t)
{
	static const uint32_t lengths[] = { 1, 2, 5, 8, 20, 64 };
	uint64_t count = 0;
	for (uint32_t to = 0; to < t->nodes; to++)
		for (uint32_t i = 0; i < 3; i++, count++) {
			struct network_packet p = { .cookie = count,
				.from = (i * t->nodes / 3 + to / 7) % t->nodes,
				.to = to,
				.length = lengths[count % COUNT(lengths)] };
			assert_int_equal(network_send(n, count * APART, &p), 0);
		}
	return count;
}

static void check_alone(struct topology *t, const struct router *r)
{
	struct network *n = network_seeded(t, r, 1);
	struct network_delivery d;
	uint64_t count = send_apart(n, t), taken = 0;
	assert_int_equal(network_run(n, count * APART), 0);
	for (; network_poll(n, &d); taken++) {
		uint32_t hops = shortest(t, d.packet.from, d.packet.to);
		assert_int_equal(d.packet.cookie, taken);
		assert_int_equal(d.fate, NETWORK_DELIVERED);
		assert_int_equal(d.node, d.packet.to);
		assert_int_equal(d.sent, taken * APART);
		assert_int_equal(d.entered, d.sent);
		assert_int_equal(d.hops, hops);
		assert_int_equal(d.arrived - d.sent,
			alone_takes(r, hops, d.packet.length));
	}
	assert_int_equal(taken, count);
	assert_int_equal(network_busy(n), 0);
	assert_null(network_check(n));
	network_close(n);
	topology_free(t);
}

static void iq4_takes_six_cycles_per_hop(void **state)
{
	static const uint32_t sizes[][3] = { { 9, 0, 0 }, { 4, 5, 0 },
		{ 3, 4, 5 }, { 8, 2, 3 } };
	struct router r = router_of("iq4");
	struct topology t;
	(void)state;
	assert_int_equal(alone_takes(&r, 0, 1), 7);
	assert_int_equal(alone_takes(&r, 10, 4), 7 + 6 * 10 + 3);
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		unsigned n = sizes[i][1] == 0 ? 1 : sizes[i][2] == 0 ? 2 : 3;
		assert_int_equal(topology_torus(&t, sizes[i], n), 0);
		check_alone(&t, &r);
		assert_int_equal(topology_mesh(&t, sizes[i], n), 0);
		check_alone(&t, &r);
	}
	assert_int_equal(topology_hypercube(&t, 6), 0);
	check_alone(&t, &r);
	assert_int_equal(topology_full(&t, 9), 0);
	check_alone(&t, &r);
}

static void zero_load_latency_follows_the_delays(void **state)
{
	struct router extoll = router_of("extoll"), atoll = router_of("atoll");
	struct topology t;
	(void)state;
	assert_int_equal(
		alone_takes(&extoll, 1, 1) - alone_takes(&extoll, 0, 1),
		extoll.route_delay + extoll.channel_delay + extoll.link_delay);
	assert_int_equal(
		alone_takes(&atoll, 5, 1) - alone_takes(&atoll, 4, 1), 30);
	torus_of(&t, 4, 3);
	check_alone(&t, &extoll);
	torus_of(&t, 6, 2);
	check_alone(&t, &atoll);
	torus_of(&t, 4, 3);
	extoll.switching = ROUTER_WORMHOLE;
	extoll.arbiter = ROUTER_FIRST_COME;
	extoll.ordered = true;
	check_alone(&t, &extoll);
}

/* ---- one virtual channel ---- */

/* Packets from one end of a line of four to the other; when they arrive. */
static void stream(const struct router *r, uint32_t length, unsigned count,
	uint64_t *arrived)
{
	const uint32_t size[1] = { 4 };
	struct topology t;
	struct network_delivery d;
	unsigned taken = 0;
	assert_int_equal(topology_mesh(&t, size, 1), 0);
	struct network *n = network_seeded(&t, r, 1);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(network_send(n, 0,
					 &(struct network_packet){ .cookie = i,
						 .to = 3,
						 .length = length }),
			0);
	assert_int_equal(network_run(n, 20000), 0);
	while (network_poll(n, &d)) {
		assert_true(taken < count);
		assert_int_equal(d.packet.cookie, taken);
		arrived[taken++] = d.arrived;
	}
	assert_int_equal(taken, count);
	assert_null(network_check(n));
	network_close(n);
	topology_free(&t);
}

/* A buffer of flits every seven cycles, or one flit per cycle. */
static void the_credit_loop_takes_seven_cycles(void **state)
{
	static const uint32_t lengths[] = { 1, 2, 6, 7, 8, 20, 700, 1000 };
	(void)state;
	for (unsigned buffer = 1; buffer <= 10; buffer++)
		for (unsigned i = 0; i < COUNT(lengths); i++) {
			struct router r = router_narrow("iq4", buffer);
			uint32_t lost = buffer < 7 ? 7 - buffer : 0;
			uint64_t arrived;
			stream(&r, lengths[i], 1, &arrived);
			assert_int_equal(arrived,
				alone_takes(&r, 3, lengths[i]) +
					(lengths[i] - 1) / buffer * lost);
		}
}

/* A packet is routed and gets a channel when the previous one has left. */
static void packets_of_a_channel_are_two_cycles_apart(void **state)
{
	static const uint32_t lengths[] = { 1, 2, 3, 5, 8 };
	(void)state;
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		struct router r = router_narrow("iq4", 16);
		uint64_t arrived[50];
		stream(&r, lengths[i], 50, arrived);
		assert_int_equal(arrived[0], alone_takes(&r, 3, lengths[i]));
		for (unsigned k = 1; k < 50; k++)
			assert_int_equal(
				arrived[k] - arrived[k - 1], lengths[i] + 2);
	}
}

/* ---- all of a torus ---- */

static void uniform_traffic_has_the_expected_distance(void **state)
{
	struct router r = router_of("iq4");
	struct load_sample s;
	struct topology t;
	(void)state;
	torus_of(&t, 8, 3);
	struct network *n = network_seeded(&t, &r, 5);
	load_uniform(n, &t, "1", 0.1);
	load_measure(n, true);
	assert_int_equal(network_run(n, 1500), 0);
	load_measure(n, false);
	assert_int_equal(network_run(n, 2000), 0);
	load_sample(n, &s);
	assert_true(near_to((double)s.created, 512 * 0.1 * 1500, 0.02));
	assert_int_equal(s.created, s.done);
	/* A quarter of each side. */
	assert_true(near_to((double)s.hops / (double)s.done, 6, 0.005));
	/* Little more than the zero-load latency. */
	assert_true(near_to((double)s.latency / (double)s.done, 43.5, 0.02));
	network_close(n);
	topology_free(&t);
}

/* Flits per cycle of the links that leave by a port. */
static double port_load(const struct network_link *links, uint64_t count,
	unsigned port, uint64_t cycles)
{
	uint64_t flits = 0, found = 0;
	for (uint64_t i = 0; i < count; i++)
		if (links[i].port == port) {
			flits += links[i].flits;
			found++;
		}
	return (double)flits / (double)(found * cycles);
}

static void check_channels(uint32_t side, unsigned dimensions, double load)
{
	struct router r = router_of("iq4");
	struct network_link links[512];
	struct topology t;
	torus_of(&t, side, dimensions);
	struct network *n = network_seeded(&t, &r, 3);
	load_uniform(n, &t, "1-4", load);
	assert_int_equal(network_run(n, 12000), 0);
	uint64_t count = network_links(n, links, COUNT(links));
	assert_int_equal(count, t.nodes * t.ports);
	/* In each direction an eighth of the side, for even ones. */
	for (unsigned p = 0; p < t.ports; p++)
		assert_true(near_to(port_load(links, count, p, 12000),
			load * side / 8, 0.03));
	for (uint64_t i = 0; i < count; i++)
		assert_true(near_to(
			(double)links[i].flits / 12000, load * side / 8, 0.25));
	network_close(n);
	topology_free(&t);
}

static void uniform_traffic_loads_all_channels_equally(void **state)
{
	(void)state;
	check_channels(8, 2, 0.3);
	check_channels(4, 3, 0.3);
	check_channels(16, 1, 0.1);
}

/* The accepted load when no source queue is ever empty. */
static double overloaded(
	struct topology *t, const struct router *r, uint64_t seed, double load)
{
	struct network *n = network_seeded(t, r, seed);
	struct load_sample before, after;
	load_uniform(n, t, "8", load);
	assert_int_equal(network_run(n, 1500), 0);
	load_sample(n, &before);
	assert_int_equal(network_run(n, 4000), 0);
	load_sample(n, &after);
	assert_true(after.queued > before.queued);
	assert_null(network_check(n));
	network_close(n);
	return (double)(after.flits_delivered - before.flits_delivered) /
	       (2500.0 * t->nodes);
}

/*
 * Half of all traffic crosses the middle: of a ring of k in 4 directions of
 * links, of a line in 2. So a node gets 8 / k at most, or 4 / k.
 */
static void the_bisection_bounds_throughput(void **state)
{
	const uint32_t size[2] = { 8, 8 };
	struct router ring = router_of("iq4"), mesh = router_narrow("iq4", 32);
	struct topology t;
	(void)state;
	ring.channels = mesh.channels = 16;
	ring.buffer = 32;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		torus_of(&t, 16, 1);
		double got = overloaded(&t, &ring, seed, 0.6);
		assert_true(got < 0.5 && got > 0.3);
		topology_free(&t);
		assert_int_equal(topology_mesh(&t, size, 2), 0);
		got = overloaded(&t, &mesh, seed, 0.6);
		assert_true(got < 0.5 && got > 0.4);
		topology_free(&t);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(iq4_takes_six_cycles_per_hop),
		cmocka_unit_test(zero_load_latency_follows_the_delays),
		cmocka_unit_test(the_credit_loop_takes_seven_cycles),
		cmocka_unit_test(packets_of_a_channel_are_two_cycles_apart),
		cmocka_unit_test(uniform_traffic_has_the_expected_distance),
		cmocka_unit_test(uniform_traffic_loads_all_channels_equally),
		cmocka_unit_test(the_bisection_bounds_throughput),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
