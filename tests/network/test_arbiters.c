/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VC allocation: the effect of smart arbitration, host tags that two nodes
 * share (which cost only throughput), and ordered delivery.
 */
#include "networks.h"

#define SIDE	 6
#define SEEDS	 2
#define BUFFER	 16
#define MEASURED 4000 /* cycles, at least */

static struct router router_with(enum router_arbiter arbiter, uint32_t length)
{
	struct router r = router_of("extoll");
	r.network_ports = 1;
	r.buffer = BUFFER;
	r.arbiter = arbiter;
	r.switching = length > BUFFER ? ROUTER_WORMHOLE : ROUTER_CUT_THROUGH;
	return r;
}

/* ---- an overloaded node ---- */

static uint32_t other_node(struct random *r, uint32_t nodes, uint32_t than)
{
	uint32_t node = random_below(r, nodes - 1);
	return node + (node >= than);
}

/*
 * Every other node sends to the hot spot as fast as it can; the rest send to
 * each other. The load is so high that no source queue is ever empty.
 */
static void send_to_spot(struct network *n, const struct topology *t,
	uint64_t seed, uint32_t length, uint64_t cycles)
{
	struct random r = random_stream(seed, length);
	uint32_t spot = t->nodes / 2 + SIDE / 2;
	for (uint32_t from = 0; from < t->nodes; from++)
		for (uint64_t k = 0; k * length < cycles; k++) {
			uint32_t to = other_node(&r, t->nodes, spot);
			struct network_packet p = { .from = from,
				.to = from % 2 == 0 ? spot : to,
				.length = length };
			assert_int_equal(
				network_send(n, random_below(&r, length), &p),
				0);
		}
}

/* Accepted load in flits per node and cycle. */
static double spot_throughput(
	enum router_arbiter arbiter, uint32_t length, uint64_t seed)
{
	struct router r = router_with(arbiter, length);
	uint64_t cycles = length * 64 > MEASURED ? length * 64 : MEASURED;
	struct network_counters before, after;
	struct topology t;
	torus_of(&t, SIDE, 2);
	struct network *n = network_seeded(&t, &r, seed);
	send_to_spot(n, &t, seed, length, cycles);
	assert_int_equal(network_run(n, cycles / 3), 0);
	network_count(n, &before);
	assert_int_equal(network_run(n, cycles), 0);
	network_count(n, &after);
	assert_null(network_check(n));
	network_close(n);
	topology_free(&t);
	return (double)(after.flits_delivered - before.flits_delivered) /
	       (double)(cycles - cycles / 3) / (SIDE * SIDE);
}

/* Gain over first come, first served; the least and the mean. */
struct gain {
	double least, mean;
};

static void gain_add(struct gain *g, double more)
{
	g->mean += more / SEEDS;
	g->least = g->least == 0 || more < g->least ? more : g->least;
}

static void gains_of(uint32_t length, struct gain *smart, struct gain *simple)
{
	*smart = *simple = (struct gain){ 0 };
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		double base = spot_throughput(ROUTER_FIRST_COME, length, seed);
		gain_add(smart,
			spot_throughput(ROUTER_SMART, length, seed) / base);
		gain_add(simple,
			spot_throughput(ROUTER_SMART_SIMPLE, length, seed) /
				base);
	}
	print_message("%u flits: smart %.2f, simple %.2f\n", length,
		smart->mean, simple->mean);
}

/* A blocked packet fits a buffer, and holds no other channel. */
static void smart_does_not_help_packets_that_fit_a_buffer(void **state)
{
	static const uint32_t lengths[] = { BUFFER / 2, BUFFER };
	(void)state;
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		struct gain smart, simple;
		gains_of(lengths[i], &smart, &simple);
		assert_true(smart.mean > 0.9 && smart.mean < 1.1);
		assert_true(simple.mean > 0.9 && simple.mean < 1.1);
	}
}

/*
 * A packet that does not fit holds a channel of each link between its head and
 * its tail. With first come, first served, packets that wait for the hot spot
 * soon hold all channels towards it. (Packets that are longer than their path
 * hold all of it in any case, and the gain becomes smaller again.)
 */
static void smart_helps_long_packets(void **state)
{
	static const struct {
		uint32_t length;
		double least;
	} wanted[] = { { 2 * BUFFER, 2 }, { 4 * BUFFER, 1.5 },
		{ 8 * BUFFER, 1.02 } };
	(void)state;
	for (unsigned i = 0; i < COUNT(wanted); i++) {
		struct gain smart, simple;
		gains_of(wanted[i].length, &smart, &simple);
		assert_true(smart.least > wanted[i].least);
		assert_true(simple.least > wanted[i].least);
	}
}

/* ---- host tags ---- */

/* Accepted load of uniform traffic; in the end all packets arrive. */
static double tag_throughput(unsigned tag_bits, uint64_t seed)
{
	struct router r = router_with(ROUTER_SMART, 2 * BUFFER);
	struct network_counters busy, all;
	struct topology t;
	r.tag_bits = tag_bits;
	torus_of(&t, SIDE, 2);
	struct network *n = network_seeded(&t, &r, seed);
	load_uniform(n, &t, "32", 1);
	assert_int_equal(network_run(n, MEASURED), 0);
	network_count(n, &busy);
	assert_null(network_check(n));
	load_uniform(n, &t, "32", 0);
	assert_int_equal(network_run(n, 20 * MEASURED), 0);
	network_count(n, &all);
	assert_int_equal(network_busy(n), 0);
	assert_int_equal(all.packets_delivered, all.packets_sent);
	assert_int_equal(all.packets_reported, 0);
	assert_null(network_check(n));
	network_close(n);
	topology_free(&t);
	return (double)busy.flits_delivered / MEASURED / (SIDE * SIDE);
}

static void shared_host_tags_cost_only_throughput(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		double own = tag_throughput(16, seed);
		double some = tag_throughput(2, seed);
		double none = tag_throughput(0, seed);
		print_message("own tags %.3f, four %.3f, one %.3f\n", own, some,
			none);
		assert_true(some < 0.97 * own);
		assert_true(none < 0.9 * some);
		assert_true(none > 0.1 * own);
	}
}

/* ---- order ---- */

/* Packets between a few pairs, of all lengths, among others. */
static void send_pairs(struct network *n, uint32_t longest)
{
	struct random r = { 4 };
	for (uint64_t i = 0; i < 800; i++) {
		uint32_t from = random_below(&r, 4);
		struct network_packet p = { .cookie = i,
			.from = from,
			.to = 10 + random_below(&r, 3),
			.length = 1 + random_below(&r, longest) };
		assert_int_equal(network_send(n, i, &p), 0);
	}
}

/* The number of packets that arrive after one that was sent later. */
static unsigned overtaken(struct network *n)
{
	uint64_t last[16][16] = { 0 };
	struct network_delivery d;
	unsigned count = 0, all = 0;
	for (; network_poll(n, &d); all++) {
		uint64_t *before = &last[d.packet.from][d.packet.to];
		assert_int_equal(d.fate, NETWORK_DELIVERED);
		if (d.packet.cookie < *before)
			count++;
		else
			*before = d.packet.cookie;
	}
	assert_int_equal(all, 800);
	return count;
}

static unsigned overtaken_by(const struct router *r)
{
	struct topology t;
	torus_of(&t, 4, 2);
	struct network *n = network_seeded(&t, r, 1);
	send_pairs(n, r->buffer < 64 ? r->buffer : 64);
	load_uniform(n, &t, "8", 0.3);
	assert_int_equal(network_run(n, 1500), 0);
	load_uniform(n, &t, "8", 0);
	assert_int_equal(network_run(n, 100000), 0);
	unsigned count = overtaken(n);
	assert_null(network_check(n));
	network_close(n);
	topology_free(&t);
	return count;
}

static void ordered_packets_stay_in_order(void **state)
{
	unsigned free = 0;
	(void)state;
	for (enum router_arbiter a = 0; a <= ROUTER_SMART_SIMPLE; a++)
		for (unsigned worm = 0; worm < 2; worm++) {
			struct router r = router_of("extoll");
			r.arbiter = a;
			r.switching = worm ? ROUTER_WORMHOLE
					   : ROUTER_CUT_THROUGH;
			free += overtaken_by(&r) > 0;
			r.ordered = true;
			assert_int_equal(overtaken_by(&r), 0);
			r.network_ports = 1;
			r.buffer = 8;
			assert_int_equal(overtaken_by(&r), 0);
		}
	/* Without ordered delivery, some do. */
	assert_int_equal(free, 8);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(smart_does_not_help_packets_that_fit_a_buffer),
		cmocka_unit_test(smart_helps_long_packets),
		cmocka_unit_test(shared_host_tags_cost_only_throughput),
		cmocka_unit_test(ordered_packets_stay_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
