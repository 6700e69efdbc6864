/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers when links and nodes fail: no participant waits forever. A round
 * that is in progress ends with an error for all living participants, and those
 * that the tree still reaches continue.
 */
#include "hosts.h"
#include "network/traffic/load.h"

#define BEFORE 30 /* something begins */
#define DEATH  40
#define AFTER  400 /* by then the network has new routes and barriers */

static void node_dies(struct hosts *h, uint64_t time, uint32_t node)
{
	assert_int_equal(
		network_fail(h->n, time, NETWORK_NODE_FAILS, node, 0), 0);
}

static void link_dies(
	struct hosts *h, uint64_t time, uint32_t node, unsigned port)
{
	assert_int_equal(
		network_fail(h->n, time, NETWORK_LINK_FAILS, node, port), 0);
}

/* A round without some nodes, which get -ENOTCONN. */
static void check_others(
	struct hosts *h, unsigned id, const uint32_t *out, unsigned outs)
{
	h->count = 0;
	hosts_arrive(h, network_now(h->n), id);
	hosts_run(h, network_now(h->n) + 500);
	assert_int_equal(h->count, h->net.nodes);
	for (uint32_t i = 0; i < h->net.nodes; i++) {
		bool is_out = false;
		for (unsigned k = 0; k < outs; k++)
			is_out |= out[k] == i;
		assert_int_equal(
			release_count(h, i, id, is_out ? -ENOTCONN : 0), 1);
	}
	assert_int_equal(barrier_strays(h->n->barriers), 0);
}

/* Every living host has got one error, and nothing else. */
static void check_error(const struct hosts *h, unsigned id, uint32_t dead)
{
	for (uint32_t i = 0; i < h->net.nodes; i++) {
		assert_int_equal(
			release_count(h, i, id, -ENETRESET), i == dead ? 0 : 1);
		assert_int_equal(release_count(h, i, id, 0), 0);
		assert_int_equal(release_count(h, i, id, -ECANCELED), 0);
	}
}

static void a_failure_ends_open_rounds(void **state)
{
	const uint32_t dead = 5;
	struct network_counters c;
	struct hosts h;
	(void)state;
	hosts_torus(&h, 4, 4, 0, "iq4", 2);
	hosts_set_all(&h, 0);
	hosts_set_all(&h, 1);
	for (uint32_t i = 0; i < 10; i++)
		host_arrives(&h, BEFORE, i, 0);
	node_dies(&h, DEATH, dead);
	hosts_run(&h, AFTER);
	check_error(&h, 0, dead);
	assert_int_equal(h.count, 15); /* and none of the other barrier */
	network_count(h.n, &c);
	assert_int_equal(c.barrier_errors, 15);
	check_others(&h, 0, &dead, 1);
	check_others(&h, 1, &dead, 1);
	hosts_close(&h);
}

/* All participants are dead: no host gets a release. */
static void dead_nodes_do_not_participate(void **state)
{
	const uint32_t dead = 3;
	struct hosts h;
	(void)state;
	hosts_torus(&h, 4, 2, 0, "iq4", 1);
	h.in[dead] = true;
	assert_int_equal(network_barrier_set(h.n, 2, h.in), 0);
	node_dies(&h, DEATH, dead);
	host_arrives(&h, DEATH, dead, 2);
	host_arrives(&h, DEATH + 1, dead, 2);
	hosts_run(&h, AFTER);
	assert_int_equal(h.count, 2);
	check_release(&h.releases[0], DEATH, dead, 2, -ENOTCONN);
	check_release(&h.releases[1], DEATH + 1, dead, 2, -ENOTCONN);
	assert_int_equal(network_barrier_set(h.n, 2, h.in), -EHOSTUNREACH);
	h.in[dead] = false;
	assert_int_equal(network_barrier_set(h.n, 2, h.in), -EINVAL);
	h.in[0] = h.in[7] = true;
	assert_int_equal(network_barrier_set(h.n, 2, h.in), 0);
	hosts_close(&h);
}

/* A packet elsewhere delays the drain. */
static void dead_nodes_get_no_release(void **state)
{
	const uint32_t size = 6, dead = 5;
	uint64_t before = 0;
	struct hosts h;
	(void)state;
	for (uint64_t when = BEFORE; when < BEFORE + 70; when++) {
		struct network_packet p = { .from = 0, .to = 1, .length = 99 };
		assert_int_equal(topology_mesh(&h.net, &size, 1), 0);
		hosts_open(&h, "iq4", 1, 0);
		hosts_set_all(&h, 0);
		hosts_arrive(&h, BEFORE, 0);
		assert_int_equal(network_send(h.n, BEFORE, &p), 0);
		node_dies(&h, when, dead);
		hosts_run(&h, AFTER);
		for (uint64_t i = 0; i < h.count; i++)
			assert_true(h.releases[i].node != dead ||
				    h.releases[i].time < when);
		before += release_count(&h, dead, 0, 0);
		check_others(&h, 0, &dead, 1);
		hosts_close(&h);
	}
	assert_in_range(before, 1, 69);
}

/* Only the dead node had arrived, or reset: the round was in progress. */
static void rounds_started_by_a_dead_node_end(void **state)
{
	struct hosts h;
	(void)state;
	for (unsigned resets = 0; resets < 2; resets++)
		for (uint64_t when = DEATH - 8; when <= DEATH; when++) {
			hosts_torus(&h, 6, 0, 0, "iq4", 1);
			hosts_set_all(&h, 0);
			if (resets)
				host_resets(&h, when, 3, 0);
			else
				host_arrives(&h, when, 3, 0);
			node_dies(&h, DEATH, 3);
			hosts_run(&h, AFTER);
			check_error(&h, 0, 3);
			check_others(&h, 0, &(uint32_t){ 3 }, 1);
			hosts_close(&h);
		}
}

/* ---- a network in two parts ---- */

/* A line that is cut after the node `last`. */
static void line_is_cut(struct hosts *h, uint32_t nodes, uint32_t last)
{
	uint32_t size = nodes;
	assert_int_equal(topology_mesh(&h->net, &size, 1), 0);
	hosts_open(h, "iq4", 1, 0);
	hosts_set_all(h, 0);
	link_dies(h, DEATH, last, 0);
}

static void disconnected_participants_get_an_error(void **state)
{
	const uint32_t out[2] = { 4, 5 };
	struct hosts h;
	(void)state;
	line_is_cut(&h, 6, 3);
	host_arrives(&h, BEFORE, 5, 0);
	hosts_run(&h, AFTER);
	check_error(&h, 0, UINT32_MAX);
	check_others(&h, 0, out, 2);
	hosts_close(&h);
}

/* A reset is in flight from the end of the line when the link fails. */
static void a_reset_survives_a_failure(void **state)
{
	const uint32_t out[2] = { 4, 5 };
	struct hosts h;
	(void)state;
	for (uint64_t when = BEFORE - 20; when <= DEATH; when++) {
		line_is_cut(&h, 6, 3);
		host_resets(&h, when, 5, 0);
		hosts_run(&h, AFTER);
		for (uint32_t i = 0; i < 6; i++) {
			uint64_t errors = release_count(&h, i, 0, -ECANCELED) +
					  release_count(&h, i, 0, -ENETRESET);
			assert_in_range(errors, 1, 2);
			assert_int_equal(release_count(&h, i, 0, 0), 0);
		}
		check_others(&h, 0, out, 2);
		hosts_close(&h);
	}
}

/* An intermediate node resets: the state is only in routers, not in hosts. */
static void a_reset_by_an_intermediate_node_survives_a_failure(void **state)
{
	const uint32_t size = 6;
	struct hosts h;
	(void)state;
	assert_int_equal(topology_mesh(&h.net, &size, 1), 0);
	hosts_open(&h, "iq4", 1, 0);
	h.in[1] = h.in[5] = true;
	assert_int_equal(network_barrier_set(h.n, 0, h.in), 0);
	host_resets(&h, DEATH - 2, 3, 0);
	link_dies(&h, DEATH, 4, 0);
	hosts_run(&h, AFTER);
	assert_int_equal(h.count, 2);
	check_release(&h.releases[0], DEATH, 1, 0, -ENETRESET);
	check_release(&h.releases[1], DEATH, 5, 0, -ENETRESET);
	hosts_close(&h);
}

/*
 * A failure at any time of a round: the round ends once or twice for each
 * participant, and in the same way for all of one connected part.
 */
static void a_failure_at_any_time_of_a_round(void **state)
{
	const uint32_t out[2] = { 4, 5 };
	unsigned released = 0, failed = 0;
	struct hosts h;
	(void)state;
	for (uint64_t back = 0; back < 70; back++) {
		line_is_cut(&h, 6, 3);
		hosts_arrive(&h, DEATH > back ? DEATH - back : 0, 0);
		hosts_run(&h, AFTER);
		for (uint32_t i = 0; i < 6; i++) {
			uint64_t well = release_count(&h, i, 0, 0);
			uint64_t badly = release_count(&h, i, 0, -ENETRESET);
			assert_in_range(well + badly, 1, 2);
			assert_true(well < 2 && badly < 2);
			assert_int_equal(
				badly, release_count(&h, 0, 0, -ENETRESET));
			released += well;
			failed += badly;
		}
		check_others(&h, 0, out, 2);
		hosts_close(&h);
	}
	assert_true(released && failed);
}

/* ---- at random ---- */

struct waits {
	bool waiting[256]; /* has arrived, and the round has not ended */
	uint64_t seen;
};

/* Each arrival gets the end of its round, unless it was refused or is dead. */
static void waits_look(const struct hosts *h, struct waits *w)
{
	for (; w->seen < h->count; w->seen++) {
		const struct network_release *r = &h->releases[w->seen];
		if (r->error != -EALREADY)
			w->waiting[r->node] = false;
	}
}

static void random_deaths(struct hosts *h, struct random *r, struct waits *w)
{
	for (unsigned i = 0; i < 60; i++) {
		uint64_t now = network_now(h->n);
		uint32_t node = random_below(r, h->net.nodes);
		if (random_below(r, 4) == 0)
			link_dies(h, now + 3, node,
				random_below(r, h->net.ports));
		if (random_below(r, 8) == 0)
			node_dies(h, now + 4, node);
		for (uint32_t k = 0; k < h->net.nodes; k++)
			if (!w->waiting[k] && random_below(r, 2)) {
				w->waiting[k] = true;
				host_arrives(h, now, k, 0);
			}
		if (random_below(r, 6) == 0)
			host_resets(h, now + 5, node, 0);
		hosts_run(h, now + 1 + random_below(r, 60));
		waits_look(h, w);
	}
}

/* With packets in flight it takes a while from a failure to new routes. */
static void load_on(struct hosts *h, double load)
{
	struct traffic traffic = { .pattern = TRAFFIC_UNIFORM,
		.topology = &h->net };
	struct length length;
	assert_int_equal(length_parse("3", &length), 0);
	assert_int_equal(load_start(h->n, &traffic, &length, load), 0);
}

/* The hosts that still wait are released when the others arrive. */
static void all_come(struct hosts *h, struct waits *w)
{
	hosts_run(h, network_now(h->n) + 1000);
	waits_look(h, w);
	for (uint32_t i = 0; i < h->net.nodes; i++)
		if (!w->waiting[i])
			host_arrives(h, network_now(h->n), i, 0);
	hosts_run(h, network_now(h->n) + 1000);
	waits_look(h, w);
	for (uint32_t i = 0; i < h->net.nodes; i++)
		assert_true(!w->waiting[i] || h->n->node[i].dead);
}

static void check_random_deaths(uint64_t seed, double load)
{
	const uint32_t size[2] = { 5, 4 };
	struct random r = random_stream(seed, 4);
	struct waits w = { .seen = 0 };
	struct hosts h;
	assert_int_equal(topology_torus(&h.net, size, 2), 0);
	hosts_open(&h, "iq4", 1 + seed % 2, 0);
	load_on(&h, load);
	hosts_set_all(&h, 0);
	random_deaths(&h, &r, &w);
	load_on(&h, 0);
	all_come(&h, &w);
	assert_int_equal(barrier_strays(h.n->barriers), 0);
	hosts_close(&h);
}

static void no_participant_waits_forever(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 30; seed++) {
		check_random_deaths(seed, 0);
		check_random_deaths(seed, 0.3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_ends_open_rounds),
		cmocka_unit_test(dead_nodes_do_not_participate),
		cmocka_unit_test(dead_nodes_get_no_release),
		cmocka_unit_test(rounds_started_by_a_dead_node_end),
		cmocka_unit_test(disconnected_participants_get_an_error),
		cmocka_unit_test(a_reset_survives_a_failure),
		cmocka_unit_test(
			a_reset_by_an_intermediate_node_survives_a_failure),
		cmocka_unit_test(a_failure_at_any_time_of_a_round),
		cmocka_unit_test(no_participant_waits_forever),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
