/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers at random: topologies, participants, delays, resets, several
 * barriers at once and stray messages. The toy network checks each release.
 */
#include <errno.h>

#include "barrier_toy.h"

#define STEPS_MAX 2000000

/* ---- parameters of a run ---- */

/* A tree, and some links more. */
static void random_graph(struct topology *t, struct random *r)
{
	struct topology_link link[40];
	uint32_t nodes = 1 + random_below(r, 24), count = 0;
	for (uint32_t node = 1; node < nodes; node++)
		link[count++] = (struct topology_link){ { node,
			random_below(r, node) } };
	for (uint32_t i = random_below(r, 8); i > 0 && nodes > 1; i--) {
		uint32_t a = random_below(r, nodes - 1);
		uint32_t b = a + 1 + random_below(r, nodes - 1 - a);
		link[count++] = (struct topology_link){ { a, b } };
	}
	assert_int_equal(topology_graph(t, nodes, link, count), 0);
}

static void random_topology(struct topology *t, struct random *r)
{
	uint32_t size[3];
	for (unsigned d = 0; d < 3; d++)
		size[d] = 2 + random_below(r, 3);
	switch (random_below(r, 6)) {
	case 0:
		assert_int_equal(topology_torus(t, size, 3), 0);
		return;
	case 1:
		assert_int_equal(topology_mesh(t, size, 2), 0);
		return;
	case 2:
		assert_int_equal(topology_hypercube(t, size[0]), 0);
		return;
	case 3:
		assert_int_equal(topology_full(t, 3 * size[0]), 0);
		return;
	default:
		random_graph(t, r);
	}
}

/* A few of the nodes, most of them, or all; at least one. */
static void random_members(struct toy *t, unsigned id)
{
	uint32_t density = 1 + random_below(&t->random, 8);
	bool in[NODES_MAX];
	for (uint32_t node = 0; node < t->net.nodes; node++)
		in[node] = random_below(&t->random, 8) < density;
	in[random_below(&t->random, t->net.nodes)] = true;
	toy_set(t, id, in);
}

struct run {
	unsigned barriers; /* 0 to barriers - 1 take part */
	uint32_t rounds;
	uint32_t resets;     /* of each */
	uint32_t reset_odds; /* one in so many steps of a host */
	bool strays;
	uint64_t strays_sent;
};

/* ---- steps ---- */

/* A reset at any node; the result is known except for intermediate nodes. */
static void step_reset(struct toy *t, uint32_t node, unsigned id)
{
	struct watch *w = &t->watch[id];
	if (w->in[node]) {
		toy_reset(t, node, id);
		return;
	}
	w->resets++;
	int e = barrier_reset(t->barriers, t, node, id);
	assert_true(e == 0 || e == -ENOTCONN);
	w->resets -= e != 0;
}

static void step_arrive(struct toy *t, uint32_t node, unsigned id, uint32_t max)
{
	struct watch *w = &t->watch[id];
	if (!w->in[node])
		assert_int_equal(
			barrier_arrive(t->barriers, t, node, id), -ENOTCONN);
	else if (w->arrived[node])
		assert_int_equal(
			barrier_arrive(t->barriers, t, node, id), -EALREADY);
	else if (w->round[node] < max)
		toy_arrive(t, node, id);
}

/* A stray message at any node. */
static void step_stray(struct toy *t, struct run *run)
{
	uint32_t node = random_below(&t->random, t->net.nodes);
	unsigned port = random_below(&t->random, TOPOLOGY_PORTS_MAX);
	struct barrier_message m = { (uint8_t)random_below(&t->random, 16),
		(uint8_t)random_below(&t->random, BARRIER_KINDS) };
	if (tree_ports(&t->tree, node) >> port & 1) {
		if (random_below(&t->random, 2))
			m.id += BARRIER_COUNT;
		else
			m.kind += BARRIER_KINDS;
	}
	run->strays_sent++;
	barrier_receive(t->barriers, t, node, port, m);
}

static void step_host(struct toy *t, struct run *run)
{
	unsigned id = random_below(&t->random, run->barriers);
	uint32_t node = random_below(&t->random, t->net.nodes);
	if (t->watch[id].resets < run->resets &&
		random_below(&t->random, run->reset_odds) == 0)
		step_reset(t, node, id);
	else
		step_arrive(t, node, id, run->rounds);
}

static void step(struct toy *t, struct run *run)
{
	if (run->strays && random_below(&t->random, 4) == 0)
		step_stray(t, run);
	if (t->waiting_count && random_below(&t->random, 3))
		toy_deliver_any(t);
	else
		step_host(t, run);
	if (t->waiting_count == 0)
		for (unsigned id = 0; id < run->barriers; id++)
			toy_check_idle(t, id);
}

/* ---- runs ---- */

static bool run_ended(const struct toy *t, const struct run *run)
{
	for (unsigned id = 0; id < run->barriers; id++)
		if (t->watch[id].ended < run->rounds)
			return false;
	return t->waiting_count == 0;
}

/* Each round can complete, so in the end all rounds are over. */
static void run_toy(struct toy *t, struct run *run)
{
	uint32_t steps = 0;
	while (!run_ended(t, run)) {
		assert_true(steps++ < STEPS_MAX);
		step(t, run);
	}
	toy_settle(t);
	assert_int_equal(barrier_strays(t->barriers), run->strays_sent);
}

/* No round is in progress, so the participants may change. */
static void next_members(struct toy *t, unsigned id)
{
	t->watch[id] = (struct watch){ 0 };
	random_members(t, id);
}

static void run_seed(uint64_t seed, struct run run)
{
	struct toy t = { 0 };
	struct random r = random_stream(seed, 0);
	random_topology(&t.net, &r);
	toy_open(&t, random_below(&r, t.net.nodes), seed);
	for (unsigned again = 0; again < 2; again++) {
		for (unsigned id = 0; id < run.barriers; id++)
			next_members(&t, id);
		run_toy(&t, &run);
	}
	toy_close(&t);
}

static void rounds_are_released(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++)
		run_seed(seed, (struct run){ .barriers = 1, .rounds = 12 });
}

/* From rare resets to more resets than arrivals. */
static void rounds_are_released_or_reset(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 900; seed++)
		run_seed(seed, (struct run){ .barriers = 1,
				       .rounds = 40,
				       .resets = 80,
				       .reset_odds = seed % 3 == 0   ? 2
						     : seed % 3 == 1 ? 10
								     : 100 });
}

static void stray_messages_have_no_effect(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++)
		run_seed(seed, (struct run){ .barriers = 3,
				       .rounds = 10,
				       .resets = 10,
				       .reset_odds = 20,
				       .strays = true });
}

static void sixteen_barriers_run_concurrently(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 40; seed++)
		run_seed(seed, (struct run){ .barriers = BARRIER_COUNT,
				       .rounds = 10,
				       .resets = 10,
				       .reset_odds = 30 });
}

/* Fifteen barriers that are reset all the time, and one that never is. */
static void barriers_are_independent(void **state)
{
	const uint32_t size[2] = { 4, 4 };
	struct run run = { .barriers = BARRIER_COUNT,
		.rounds = 20,
		.resets = 40,
		.reset_odds = 3 };
	struct toy t = { 0 };
	(void)state;
	assert_int_equal(topology_torus(&t.net, size, 2), 0);
	toy_open(&t, 5, 0);
	for (unsigned id = 0; id < BARRIER_COUNT; id++)
		random_members(&t, id);
	t.watch[7].resets = run.resets; /* has none left */
	t.watch[7].errors = run.resets;
	run_toy(&t, &run);
	assert_int_equal(t.watch[7].errors, run.resets);
	assert_int_equal(t.watch[7].ended, run.rounds);
	for (unsigned id = 0; id < BARRIER_COUNT; id++)
		assert_true(id == 7 || t.watch[id].errors > 0);
	toy_close(&t);
}

/* ---- arbitrary messages ---- */

static void ignore_send(
	void *context, uint32_t node, unsigned port, struct barrier_message m)
{
	const struct tree *t = context;
	assert_true(tree_ports(t, node) >> port & 1);
	assert_true(m.id < BARRIER_COUNT && m.kind < BARRIER_KINDS);
}

static void ignore_release(
	void *context, uint32_t node, unsigned id, bool error)
{
	const struct tree *t = context;
	(void)error;
	assert_true(node < t->topology->nodes && id < BARRIER_COUNT);
}

/* The result is meaningless, but safe. */
static void arbitrary_messages_are_safe(void **state)
{
	const struct barrier_calls calls = { ignore_send, ignore_release };
	const uint32_t size[2] = { 4, 3 };
	const bool in[12] = { true, false, true, true, [7] = true };
	struct random r = random_stream(1, 1);
	struct topology net;
	struct tree tree;
	struct barriers *b;
	(void)state;
	assert_int_equal(topology_torus(&net, size, 2), 0);
	assert_int_equal(tree_open(&tree, &net, 0), 0);
	assert_int_equal(barrier_open(&b, &tree, &calls), 0);
	for (unsigned id = 0; id < BARRIER_COUNT; id += 2)
		assert_int_equal(barrier_set(b, id, in), 0);
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t x = random_next(&r);
		uint32_t node = random_below(&r, net.nodes);
		struct barrier_message m = { x % 20, (x >> 8) % 7 };
		barrier_receive(b, &tree, node, (x >> 16) % 6, m);
		if (x >> 24 & 1)
			barrier_arrive(b, &tree, node, m.id);
	}
	assert_true(barrier_strays(b) > 100000);
	barrier_close(b);
	tree_free(&tree);
	topology_free(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_are_released),
		cmocka_unit_test(rounds_are_released_or_reset),
		cmocka_unit_test(stray_messages_have_no_effect),
		cmocka_unit_test(sixteen_barriers_run_concurrently),
		cmocka_unit_test(barriers_are_independent),
		cmocka_unit_test(arbitrary_messages_are_safe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
