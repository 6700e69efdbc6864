/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers and packets on the same links: barriers do not depend on the load,
 * flits wait for them and are not lost, and the number of threads has no
 * effect.
 */
#include "hosts.h"
#include "network/traffic/load.h"

static void load_on(struct hosts *h, double load, const char *lengths)
{
	struct traffic traffic = { .pattern = TRAFFIC_UNIFORM,
		.topology = &h->net };
	struct length length;
	assert_int_equal(length_parse(lengths, &length), 0);
	assert_int_equal(load_start(h->n, &traffic, &length, load), 0);
}

/* Stops the load and runs until all packets have arrived. */
static void load_off(struct hosts *h)
{
	struct network_counters c;
	load_on(h, 0, "1");
	for (unsigned i = 0; i < 200 && network_busy(h->n); i++)
		hosts_run(h, network_now(h->n) + 500);
	assert_int_equal(network_busy(h->n), 0);
	network_count(h->n, &c);
	assert_true(c.packets_sent > 1000);
	assert_int_equal(c.packets_delivered, c.packets_sent);
	assert_int_equal(c.packets_reported, 0);
	assert_null(network_check(h->n));
}

/* ---- barriers under load ---- */

/* The same time as without load: messages have priority over flits. */
static void check_times(
	const struct hosts *h, uint64_t first, uint64_t begin, unsigned id)
{
	assert_int_equal(h->count - first, h->net.nodes);
	for (uint64_t i = first; i < h->count; i++) {
		uint32_t node = h->releases[i].node;
		uint64_t hops = hosts_depth(h) + h->depth[node];
		check_release(
			&h->releases[i], begin + hops * h->hop, node, id, 0);
	}
}

static void check_under_load(struct hosts *h, double load, const char *lengths)
{
	hosts_set_all(h, 0);
	load_on(h, load, lengths);
	hosts_run(h, 500);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t first = h->count, now = network_now(h->n);
		hosts_arrive(h, now, 0);
		hosts_run(h, now + 300);
		check_times(h, first, now, 0);
		assert_null(network_check(h->n));
	}
	load_off(h);
	assert_int_equal(barrier_strays(h->n->barriers), 0);
	hosts_close(h);
}

static void barriers_are_independent_of_the_load(void **state)
{
	struct hosts h;
	(void)state;
	hosts_torus(&h, 4, 4, 4, "iq4", 1);
	check_under_load(&h, 0.3, "1");
	hosts_torus(&h, 4, 4, 4, "iq4", 2);
	check_under_load(&h, 0.9, "4"); /* above saturation */
	hosts_torus(&h, 3, 3, 0, "extoll", 1);
	check_under_load(&h, 0.5, "16");
}

/* ---- flits that wait ---- */

#define FLITS 4

/* Cycles that head flits spend in the next router, and others do not. */
#define SLACK 2

/* A packet from 1 to 0 on a ring, whose link the barriers use, too. */
static void ring_open(struct network **n, struct topology *net)
{
	struct network_options o = { .seed = 1, .record = true };
	struct network_packet p = { .from = 1, .to = 0, .length = FLITS };
	const bool in[5] = { true, true, false, false, false };
	const uint32_t size = 5;
	const char *why;
	assert_int_equal(topology_torus(net, &size, 1), 0);
	assert_int_equal(router_preset("iq4", &o.router), 0);
	assert_int_equal(o.router.route_delay + o.router.channel_delay, SLACK);
	assert_int_equal(network_open(n, net, &o, &why), 0);
	for (unsigned id = 0; id < BARRIER_COUNT; id++)
		assert_int_equal(network_barrier_set(*n, id, in), 0);
	assert_int_equal(network_send(*n, 40, &p), 0);
}

/*
 * When the packet comes if node 1 arrives at some barriers at a time, one
 * message for each. `left`: when its head takes the link.
 */
static uint64_t packet_beside(unsigned messages, uint64_t time, uint64_t *left)
{
	struct network_delivery d;
	struct topology net;
	struct network *n;
	ring_open(&n, &net);
	for (unsigned id = 0; id < messages; id++)
		assert_int_equal(network_barrier_arrive(n, time, 1, id), 0);
	assert_int_equal(network_run(n, 200), 0);
	assert_true(network_poll(n, &d));
	assert_int_equal(d.path[0].node, 1);
	*left = d.path[0].time;
	uint64_t arrived = d.arrived;
	network_close(n);
	topology_free(&net);
	return arrived;
}

/* A message occupies its link for exactly one cycle. */
static void flits_wait_for_messages(void **state)
{
	uint64_t left, late_left, count = BARRIER_COUNT;
	uint64_t arrived = packet_beside(0, 40, &left);
	(void)state;
	assert_true(left > 40);
	for (uint64_t t = left - count - 3; t < left + FLITS + 3; t++) {
		uint64_t wait = 0;
		if (t <= left && t + count > left)
			wait = t + count - left;
		bool between = t > left && t < left + FLITS;
		assert_int_equal(packet_beside(BARRIER_COUNT, t, &late_left),
			arrived + wait + (between ? count - SLACK : 0));
		assert_int_equal(late_left, left + wait);
	}
}

/* ---- threads ---- */

/* Random arrivals and resets of all barriers, some of them invalid. */
static void act_at_random(struct hosts *h, struct random *r, unsigned count)
{
	uint64_t now = network_now(h->n);
	while (count--) {
		uint64_t when = now + random_below(r, 400);
		uint32_t node = random_below(r, h->net.nodes);
		unsigned id = random_below(r, BARRIER_COUNT);
		if (random_below(r, 100) == 0)
			host_resets(h, when, node, id);
		else
			host_arrives(h, when, node, id);
	}
}

static void set_at_random(struct hosts *h, struct random *r)
{
	for (unsigned id = 0; id < BARRIER_COUNT; id++) {
		for (uint32_t i = 0; i < h->net.nodes; i++)
			h->in[i] = random_below(r, BARRIER_COUNT) <= id;
		h->in[id] = true;
		assert_int_equal(network_barrier_set(h->n, id, h->in), 0);
	}
}

static void random_run(struct hosts *h, unsigned threads, double error_rate)
{
	const uint32_t size[3] = { 4, 3, 3 };
	struct random r = random_stream(9, 9);
	assert_int_equal(topology_torus(&h->net, size, 3), 0);
	hosts_open(h, "iq4", threads, error_rate);
	load_on(h, 0.2, "1-6");
	set_at_random(h, &r);
	for (unsigned i = 0; i < 8; i++) {
		act_at_random(h, &r, 400);
		hosts_run(h, network_now(h->n) + 500);
	}
	load_off(h);
	assert_int_equal(barrier_strays(h->n->barriers), 0);
}

static uint64_t error_count(const struct hosts *h, int error)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < h->count; i++)
		count += h->releases[i].error == error;
	return count;
}

/* All kinds of events occur, so that the comparison is meaningful. */
static void check_mixture(const struct hosts *h)
{
	struct network_counters c;
	network_count(h->n, &c);
	assert_true(error_count(h, 0) > 100);
	assert_true(error_count(h, -ECANCELED) > 100);
	assert_true(error_count(h, -EALREADY) > 100);
	assert_true(error_count(h, -ENOTCONN) > 100);
	assert_int_equal(c.barrier_releases, error_count(h, 0));
	assert_int_equal(c.barrier_errors, error_count(h, -ECANCELED));
}

static void check_same(const struct hosts *a, const struct hosts *b)
{
	struct network_counters x, y;
	assert_int_equal(a->count, b->count);
	for (uint64_t i = 0; i < a->count; i++) {
		const struct network_release *r = &b->releases[i];
		check_release(
			&a->releases[i], r->time, r->node, r->id, r->error);
	}
	network_count(a->n, &x);
	network_count(b->n, &y);
	assert_memory_equal(&x, &y, sizeof(x));
}

static void check_threads(double error_rate)
{
	struct hosts one, more;
	random_run(&one, 1, error_rate);
	check_mixture(&one);
	for (unsigned threads = 2; threads <= 3; threads++) {
		random_run(&more, threads, error_rate);
		check_same(&one, &more);
		hosts_close(&more);
	}
	hosts_close(&one);
}

static void threads_do_not_change_releases(void **state)
{
	(void)state;
	check_threads(0);
}

/* Links repeat messages like flits, and preserve the order. */
static void bit_errors_only_add_delay(void **state)
{
	(void)state;
	check_threads(0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(barriers_are_independent_of_the_load),
		cmocka_unit_test(flits_wait_for_messages),
		cmocka_unit_test(threads_do_not_change_releases),
		cmocka_unit_test(bit_errors_only_add_delay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
