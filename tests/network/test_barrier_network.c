/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers on the links of an otherwise idle network: their times have closed
 * forms, and errors are reported to hosts.
 */
#include "hosts.h"

#define T 10 /* when something begins */

/* ---- all nodes ---- */

/*
 * All arrive at once: the UP of the deepest leaf arrives last, and so does its
 * release. Each host gets one release, and nothing else.
 */
static void check_round(struct hosts *h, uint64_t begin, unsigned id)
{
	uint64_t first = h->count, top = begin + hosts_depth(h) * h->hop;
	hosts_arrive(h, begin, id);
	hosts_run(h, top + hosts_depth(h) * h->hop);
	assert_true(h->net.nodes == 1 || h->count - first < h->net.nodes);
	hosts_run(h, network_now(h->n) + 1000);
	assert_int_equal(h->count - first, h->net.nodes);
	for (uint32_t node = 0; node < h->net.nodes; node++)
		assert_int_equal(release_count(h, node, id, 0), 1);
	for (uint64_t i = first; i < h->count; i++) {
		uint32_t node = h->releases[i].node;
		check_release(&h->releases[i], top + h->depth[node] * h->hop,
			node, id, 0);
	}
}

static void check_counters(const struct hosts *h)
{
	struct network_counters c;
	network_count(h->n, &c);
	assert_int_equal(c.barrier_messages, 2 * (h->net.nodes - 1));
	assert_int_equal(c.barrier_releases, h->net.nodes);
	assert_int_equal(c.barrier_errors, 0);
	assert_int_equal(c.flit_hops, 0);
	assert_int_equal(barrier_strays(h->n->barriers), 0);
	assert_null(network_check(h->n));
}

static void check_all_arrive(struct hosts *h, uint32_t depth)
{
	assert_int_equal(hosts_depth(h), depth);
	hosts_set_all(h, 7);
	check_round(h, T, 7);
	check_counters(h);
	hosts_close(h);
}

static void a_round_takes_twice_the_depth(void **state)
{
	const uint32_t size[2] = { 5, 3 };
	const struct topology_link pair = { { 0, 1 } };
	struct hosts h;
	(void)state;
	hosts_torus(&h, 8, 8, 8, "iq4", 1);
	check_all_arrive(&h, 12);
	hosts_torus(&h, 8, 8, 8, "extoll", 2);
	check_all_arrive(&h, 12);
	hosts_torus(&h, 7, 0, 0, "atoll", 1);
	check_all_arrive(&h, 3);
	assert_int_equal(topology_mesh(&h.net, size, 2), 0);
	hosts_open(&h, "extoll", 1, 0);
	check_all_arrive(&h, 6);
	assert_int_equal(topology_full(&h.net, 33), 0);
	hosts_open(&h, "iq4", 1, 0);
	check_all_arrive(&h, 1);
	assert_int_equal(topology_graph(&h.net, 2, &pair, 1), 0);
	hosts_open(&h, "iq4", 1, 0);
	check_all_arrive(&h, 1);
	assert_int_equal(topology_graph(&h.net, 1, NULL, 0), 0);
	hosts_open(&h, "iq4", 1, 0);
	check_all_arrive(&h, 0);
}

/* The busy times of links have only 32 bits. */
static void a_round_works_after_a_long_idle_time(void **state)
{
	struct hosts h;
	(void)state;
	hosts_torus(&h, 4, 4, 0, "iq4", 1);
	hosts_set_all(&h, 1);
	hosts_run(&h, (1ull << 31) + 100);
	check_round(&h, network_now(h.n) + T, 1);
	hosts_set_all(&h, 2);
	hosts_run(&h, (1ull << 32) + (1ull << 30));
	check_round(&h, network_now(h.n), 2);
	hosts_close(&h);
}

/* ---- some nodes, some times ---- */

static bool is_below(const struct hosts *h, uint32_t node, uint32_t above)
{
	const struct tree *t = &h->n->tree;
	while (node != above && node != t->root)
		node = topology_next(&h->net, node, t->up[node]);
	return node == above;
}

static bool is_above_all(const struct hosts *h, uint32_t above)
{
	for (uint32_t i = 0; i < h->net.nodes; i++)
		if (h->in[i] && !is_below(h, i, above))
			return false;
	return true;
}

/* The lowest node whose subtree contains all participants. */
static uint32_t hosts_top(const struct hosts *h)
{
	uint32_t top = h->n->tree.root;
	for (uint32_t i = 0; i < h->net.nodes; i++)
		if (h->depth[i] > h->depth[top] && is_above_all(h, i))
			top = i;
	return top;
}

/* When the last UP reaches the top. */
static uint64_t arrive_at_random(
	struct hosts *h, struct random *r, uint64_t begin, uint32_t top)
{
	uint64_t last = 0;
	for (uint32_t i = 0; i < h->net.nodes; i++) {
		uint64_t when = begin + random_below(r, 50);
		uint64_t up = (h->depth[i] - h->depth[top]) * h->hop;
		if (!h->in[i])
			continue;
		host_arrives(h, when, i, 3);
		last = when + up > last ? when + up : last;
	}
	return last;
}

static uint32_t members_at_random(struct hosts *h, struct random *r)
{
	uint32_t chance = 1 + random_below(r, 4), count = 1;
	uint32_t one = random_below(r, h->net.nodes);
	for (uint32_t i = 0; i < h->net.nodes; i++) {
		h->in[i] = i == one || random_below(r, 4) < chance;
		count += h->in[i] && i != one;
	}
	return count;
}

static void check_members(struct hosts *h, struct random *r)
{
	uint32_t count = members_at_random(h, r), top = hosts_top(h);
	uint64_t first = h->count;
	assert_int_equal(network_barrier_set(h->n, 3, h->in), 0);
	uint64_t last = arrive_at_random(h, r, network_now(h->n), top);
	hosts_run(h, network_now(h->n) + 1000);
	assert_int_equal(h->count - first, count);
	for (uint64_t i = first; i < h->count; i++) {
		uint32_t node = h->releases[i].node;
		uint64_t down = (h->depth[node] - h->depth[top]) * h->hop;
		assert_true(h->in[node]);
		check_release(&h->releases[i], last + down, node, 3, 0);
	}
}

static void the_last_participant_determines_the_time(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct random r = random_stream(seed, 0);
		struct hosts h;
		random_graph(&h.net, &r);
		hosts_open(&h, "iq4", 1 + seed % 3, 0);
		for (unsigned i = 0; i < 4; i++)
			check_members(&h, &r);
		assert_int_equal(barrier_strays(h.n->barriers), 0);
		hosts_close(&h);
	}
}

/* ---- errors ---- */

static void invalid_calls_are_refused(void **state)
{
	struct hosts h;
	(void)state;
	hosts_torus(&h, 4, 2, 0, "iq4", 1);
	assert_int_equal(network_barrier_set(h.n, 0, h.in), -EINVAL);
	h.in[5] = true;
	assert_int_equal(network_barrier_set(h.n, 16, h.in), -EINVAL);
	hosts_run(&h, 5);
	assert_int_equal(network_barrier_arrive(h.n, 4, 0, 0), -EINVAL);
	assert_int_equal(network_barrier_arrive(h.n, 5, 8, 0), -EINVAL);
	assert_int_equal(network_barrier_arrive(h.n, 5, 0, 16), -EINVAL);
	assert_int_equal(network_barrier_reset(h.n, 4, 0, 0), -EINVAL);
	assert_int_equal(network_barrier_reset(h.n, 5, 8, 0), -EINVAL);
	assert_int_equal(network_barrier_reset(h.n, 5, 0, 16), -EINVAL);
	hosts_set_all(&h, 0);
	host_arrives(&h, 5, 0, 0);
	hosts_run(&h, 50);
	assert_int_equal(network_barrier_set(h.n, 0, h.in), -EBUSY);
	assert_int_equal(h.count, 0);
	hosts_close(&h);
}

static void disconnected_nodes_cannot_participate(void **state)
{
	const struct topology_link two[2] = { { { 0, 1 } }, { { 2, 3 } } };
	struct hosts h;
	(void)state;
	assert_int_equal(topology_graph(&h.net, 4, two, 2), 0);
	hosts_open(&h, "iq4", 1, 0);
	h.in[0] = h.in[1] = true;
	assert_int_equal(network_barrier_set(h.n, 0, h.in), 0);
	h.in[3] = true;
	assert_int_equal(network_barrier_set(h.n, 1, h.in), -EHOSTUNREACH);
	hosts_close(&h);
}

/* An invalid arrival is reported at its time; the round continues. */
static void late_errors_are_reported_to_the_host(void **state)
{
	struct hosts h;
	(void)state;
	hosts_torus(&h, 5, 0, 0, "iq4", 1);
	h.in[1] = h.in[2] = true;
	host_arrives(&h, T, 1, 4); /* no participants yet */
	hosts_run(&h, T + 1);
	assert_int_equal(network_barrier_set(h.n, 4, h.in), 0);
	host_arrives(&h, T + 10, 1, 4);
	host_arrives(&h, T + 11, 1, 4);
	host_resets(&h, T + 12, 3, 4);
	host_arrives(&h, T + 13, 0, 4);
	hosts_run(&h, 200);
	assert_int_equal(h.count, 4);
	check_release(&h.releases[0], T, 1, 4, -ENOTCONN);
	check_release(&h.releases[1], T + 11, 1, 4, -EALREADY);
	check_release(&h.releases[2], T + 12, 3, 4, -ENOTCONN);
	check_release(&h.releases[3], T + 13, 0, 4, -ENOTCONN);
	host_arrives(&h, 200, 2, 4);
	hosts_run(&h, 300);
	assert_int_equal(h.count, 6);
	assert_int_equal(release_count(&h, 1, 4, 0), 1);
	assert_int_equal(release_count(&h, 2, 4, 0), 1);
	hosts_close(&h);
}

/* ---- resets ---- */

static uint32_t deepest(const struct hosts *h)
{
	return h->n->tree.order[h->net.nodes - 1];
}

static void a_reset_ends_the_round_for_all(void **state)
{
	struct hosts h;
	struct network_counters c;
	(void)state;
	hosts_torus(&h, 4, 4, 2, "iq4", 1);
	hosts_set_all(&h, 0);
	for (uint32_t i = 0; i < 20; i++)
		host_arrives(&h, T, i, 0);
	host_resets(&h, 100, deepest(&h), 0);
	hosts_run(&h, 300);
	assert_int_equal(h.count, 32);
	for (uint64_t i = 0; i < h.count; i++) {
		uint32_t node = h.releases[i].node;
		uint64_t hops = hosts_depth(&h) + h.depth[node];
		check_release(&h.releases[i], 100 + hops * h.hop, node, 0,
			-ECANCELED);
	}
	check_round(&h, 300, 0);
	network_count(h.n, &c);
	assert_int_equal(c.barrier_errors, 32);
	assert_int_equal(c.barrier_releases, 32);
	assert_int_equal(barrier_strays(h.n->barriers), 0);
	hosts_close(&h);
}

/* The top has released the round before it received the reset. */
static void a_reset_that_crosses_a_release_ends_the_next_round(void **state)
{
	struct hosts h;
	(void)state;
	hosts_torus(&h, 8, 0, 0, "iq4", 1);
	hosts_set_all(&h, 0);
	hosts_arrive(&h, T, 0);
	uint64_t top = T + hosts_depth(&h) * h.hop;
	host_resets(&h, top + 1, deepest(&h), 0);
	hosts_run(&h, 300);
	assert_int_equal(h.count, 16);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(release_count(&h, i, 0, 0), 1);
		assert_int_equal(release_count(&h, i, 0, -ECANCELED), 1);
	}
	for (uint64_t i = 0; i < h.count; i++)
		if (h.releases[i].error == 0)
			assert_true(h.releases[i].time < top + 1 + 8 * h.hop);
	hosts_close(&h);
}

/* Releases of one cycle are in the order in which they happened. */
static void two_releases_in_one_cycle_stay_in_order(void **state)
{
	struct hosts h;
	(void)state;
	hosts_torus(&h, 4, 0, 0, "iq4", 1);
	h.in[2] = true;
	assert_int_equal(network_barrier_set(h.n, 0, h.in), 0);
	for (unsigned i = 0; i < 20; i++) {
		host_resets(&h, T, 2, 0);
		host_arrives(&h, T, 2, 0);
		host_arrives(&h, T, 2, 0);
	}
	hosts_run(&h, 100);
	assert_int_equal(h.count, 60);
	for (unsigned i = 0; i < 60; i++)
		check_release(&h.releases[i], T, 2, 0, i % 3 ? 0 : -ECANCELED);
	hosts_close(&h);
}

/* ---- many ---- */

/* A link transfers one message per cycle, so they follow each other. */
static void sixteen_barriers_share_a_link_in_turn(void **state)
{
	struct hosts h;
	(void)state;
	hosts_torus(&h, 6, 6, 6, "iq4", 2);
	for (unsigned id = 0; id < 16; id++)
		hosts_set_all(&h, id);
	for (unsigned id = 0; id < 16; id++)
		hosts_arrive(&h, T, id);
	hosts_run(&h, 500);
	assert_int_equal(h.count, 16 * 216);
	for (uint64_t i = 0; i < h.count; i++) {
		const struct network_release *r = &h.releases[i];
		uint64_t hops = hosts_depth(&h) + h.depth[r->node];
		check_release(r, T + r->id + hops * h.hop, r->node, r->id, 0);
	}
	assert_int_equal(barrier_strays(h.n->barriers), 0);
	hosts_close(&h);
}

/*
 * Two messages reach node 1 in one cycle, from 2 and from 3, and both make it
 * send one to node 0: in the order of its ports, independent of arrival order
 * and threads.
 */
static void messages_of_a_cycle_are_handled_in_port_order(void **state)
{
	const struct topology_link star[3] = { { { 0, 1 } }, { { 1, 2 } },
		{ { 1, 3 } } };
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct hosts h;
		assert_int_equal(topology_graph(&h.net, 4, star, 3), 0);
		hosts_open(&h, "iq4", threads, 0);
		for (unsigned id = 0; id < 2; id++) {
			h.in[0] = h.in[2 + id] = true;
			assert_int_equal(network_barrier_set(h.n, id, h.in), 0);
			h.in[2 + id] = false;
			host_arrives(&h, 0, 0, id);
		}
		host_arrives(&h, T, 3, 1);
		host_arrives(&h, T, 2, 0);
		hosts_run(&h, 100);
		assert_int_equal(h.count, 4);
		check_release(&h.releases[0], T + 2 * h.hop, 0, 0, 0);
		check_release(&h.releases[1], T + 2 * h.hop + 1, 0, 1, 0);
		hosts_close(&h);
	}
}

/* Some hosts arrive again as soon as they are released, others later. */
static void rounds_follow_each_other(void **state)
{
	uint64_t done = 0, seen = 0;
	struct hosts h;
	(void)state;
	hosts_torus(&h, 4, 3, 2, "extoll", 1);
	hosts_set_all(&h, 15);
	hosts_arrive(&h, 0, 15);
	while (done < 24 * 20) {
		hosts_run(&h, network_now(h.n) + 1);
		for (; seen < h.count; seen++) {
			const struct network_release *r = &h.releases[seen];
			uint64_t late = r->node % 5;
			/* No host is a round ahead of another. */
			done++;
			assert_int_equal(release_count(&h, r->node, 15, 0),
				1 + (done - 1) / 24);
			host_arrives(&h, network_now(h.n) + late, r->node, 15);
		}
		assert_true(network_now(h.n) < 20000);
	}
	assert_int_equal(barrier_strays(h.n->barriers), 0);
	hosts_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_takes_twice_the_depth),
		cmocka_unit_test(a_round_works_after_a_long_idle_time),
		cmocka_unit_test(the_last_participant_determines_the_time),
		cmocka_unit_test(invalid_calls_are_refused),
		cmocka_unit_test(disconnected_nodes_cannot_participate),
		cmocka_unit_test(late_errors_are_reported_to_the_host),
		cmocka_unit_test(a_reset_ends_the_round_for_all),
		cmocka_unit_test(
			a_reset_that_crosses_a_release_ends_the_next_round),
		cmocka_unit_test(two_releases_in_one_cycle_stay_in_order),
		cmocka_unit_test(sixteen_barriers_share_a_link_in_turn),
		cmocka_unit_test(messages_of_a_cycle_are_handled_in_port_order),
		cmocka_unit_test(rounds_follow_each_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
