/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers step by step, with chosen orders of messages that cross. The toy
 * network checks each release.
 */
#include <errno.h>

#include "barrier_toy.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- small trees; the root is node 0 ---- */

static void open_chain(struct toy *t, uint32_t nodes)
{
	*t = (struct toy){ 0 };
	assert_int_equal(topology_mesh(&t->net, &nodes, 1), 0);
	toy_open(t, 0, 0);
}

/* Node 0 with two leaves, all of which take part in barrier 0. */
static void open_fork(struct toy *t)
{
	const struct topology_link links[2] = { { { 0, 1 } }, { { 0, 2 } } };
	*t = (struct toy){ 0 };
	assert_int_equal(topology_graph(&t->net, 3, links, 2), 0);
	toy_open(t, 0, 0);
	toy_set(t, 0, (const bool[3]){ true, true, true });
}

/* How the rounds of barrier 0 have ended: '.' released, '!' with an error. */
static void expect_ends(struct toy *t, const char *ends)
{
	const struct watch *w = &t->watch[0];
	toy_settle(t);
	assert_int_equal(w->ended, strlen(ends));
	for (uint32_t i = 0; i < w->ended; i++)
		assert_int_equal(w->failed[i], ends[i] == '!');
	assert_int_equal(barrier_strays(t->barriers), 0);
}

/* All three nodes of a fork or a chain arrive. */
static void all_arrive(struct toy *t)
{
	for (uint32_t node = 0; node < 3; node++)
		toy_arrive(t, node, 0);
}

/* ---- rounds ---- */

static void the_last_arrival_releases_all(void **state)
{
	struct toy t;
	(void)state;
	for (uint32_t last = 0; last < 3; last++) {
		open_chain(&t, 3);
		toy_set(&t, 0, (const bool[3]){ true, true, true });
		for (uint32_t node = 0; node < 3; node++)
			if (node != last)
				toy_arrive(&t, node, 0);
		expect_ends(&t, "");
		toy_arrive(&t, last, 0);
		expect_ends(&t, ".");
		/* Once over each link, up and down. */
		assert_int_equal(t.sent, 4);
		toy_close(&t);
	}
}

static void one_arrival_per_node_and_round(void **state)
{
	struct toy t;
	(void)state;
	open_fork(&t);
	for (unsigned round = 0; round < 3; round++) {
		toy_arrive(&t, 1, 0);
		assert_int_equal(
			barrier_arrive(t.barriers, &t, 1, 0), -EALREADY);
		toy_arrive(&t, 0, 0);
		toy_arrive(&t, 2, 0);
		toy_settle(&t);
	}
	expect_ends(&t, "...");
	toy_close(&t);
}

static void a_single_node_is_released_at_once(void **state)
{
	struct toy t = { 0 };
	(void)state;
	assert_int_equal(topology_graph(&t.net, 1, NULL, 0), 0);
	toy_open(&t, 0, 0);
	toy_set(&t, 0, (const bool[1]){ true });
	toy_arrive(&t, 0, 0);
	toy_reset(&t, 0, 0);
	toy_arrive(&t, 0, 0);
	expect_ends(&t, ".!.");
	assert_int_equal(t.sent, 0);
	toy_close(&t);
}

/* The root, the middle, a leaf: no messages are sent. */
static void a_single_participant_is_released_at_once(void **state)
{
	struct toy t;
	(void)state;
	for (uint32_t member = 0; member < 3; member++) {
		bool in[3] = { false };
		open_chain(&t, 3);
		in[member] = true;
		toy_set(&t, 0, in);
		toy_arrive(&t, member, 0);
		toy_reset(&t, member, 0);
		toy_arrive(&t, member, 0);
		for (uint32_t node = 0; node < 3; node++)
			if (node != member)
				assert_int_equal(
					barrier_reset(t.barriers, &t, node, 0),
					-ENOTCONN);
		expect_ends(&t, ".!.");
		assert_int_equal(t.sent, 0);
		toy_close(&t);
	}
}

static void the_top_is_the_lowest_common_node(void **state)
{
	struct toy t;
	(void)state;
	open_chain(&t, 5);
	/* From 1 to 3; 0 and 4 get no message, 2 forwards. */
	toy_set(&t, 0, (const bool[5]){ false, true, false, true, false });
	toy_arrive(&t, 3, 0);
	toy_arrive(&t, 1, 0);
	expect_ends(&t, ".");
	assert_int_equal(t.sent, 4);
	assert_int_equal(barrier_reset(t.barriers, &t, 0, 0), -ENOTCONN);
	assert_int_equal(barrier_reset(t.barriers, &t, 4, 0), -ENOTCONN);
	assert_int_equal(barrier_arrive(t.barriers, &t, 2, 0), -ENOTCONN);
	toy_arrive(&t, 3, 0);
	toy_reset(&t, 2, 0);
	expect_ends(&t, ".!");
	toy_close(&t);
}

/*
 * Leaf 1 is in the next round while leaf 2 has not received the release: the UP
 * of leaf 1 counts for the next round and for no other.
 */
static void the_next_round_starts_before_all_are_released(void **state)
{
	struct toy t;
	(void)state;
	open_fork(&t);
	all_arrive(&t);
	toy_deliver(&t, 1, 0);
	toy_deliver(&t, 2, 0);
	toy_deliver(&t, 0, 1);
	toy_arrive(&t, 1, 0);
	toy_arrive(&t, 0, 0);
	toy_deliver(&t, 1, 0);
	assert_int_equal(t.watch[0].round[2], 0);
	assert_int_equal(barrier_arrive(t.barriers, &t, 2, 0), -EALREADY);
	expect_ends(&t, ".");
	toy_arrive(&t, 2, 0);
	expect_ends(&t, "..");
	toy_close(&t);
}

/* Each host starts the next round from within the release callback. */
static void hosts_may_arrive_when_released(void **state)
{
	struct toy t;
	(void)state;
	open_fork(&t);
	t.eager = 10;
	all_arrive(&t);
	expect_ends(&t, "..........");
	toy_close(&t);
}

/* A reset from the release callback must not overtake the release. */
static void hosts_may_reset_when_released(void **state)
{
	struct toy t;
	(void)state;
	open_fork(&t);
	t.eager = 4;
	t.touchy = true;
	all_arrive(&t);
	expect_ends(&t, ".!.!");
	toy_close(&t);
}

/* ---- resets ---- */

static void a_reset_ends_the_round_for_all(void **state)
{
	struct toy t;
	(void)state;
	for (uint32_t who = 0; who < 3; who++)
		for (unsigned arrived = 0; arrived < 8; arrived++) {
			open_fork(&t);
			for (uint32_t node = 0; node < 3; node++)
				if (arrived >> node & 1 && arrived != 7)
					toy_arrive(&t, node, 0);
			toy_settle(&t);
			toy_reset(&t, who, 0);
			expect_ends(&t, "!");
			all_arrive(&t);
			expect_ends(&t, "!.");
			toy_close(&t);
		}
}

/* An UP that crosses RESET_DOWN belongs to the round that has ended. */
static void an_arrival_that_crosses_a_reset_is_dropped(void **state)
{
	struct toy t;
	(void)state;
	open_fork(&t);
	toy_arrive(&t, 1, 0);
	toy_reset(&t, 0, 0);
	toy_arrive(&t, 0, 0);
	toy_deliver(&t, 1, 0);
	toy_deliver(&t, 0, 2);
	toy_arrive(&t, 2, 0);
	expect_ends(&t, "!");
	toy_arrive(&t, 1, 0);
	expect_ends(&t, "!.");
	toy_close(&t);
}

/* The same if other nodes have reset twice while it was in flight. */
static void an_arrival_that_crosses_two_resets_is_dropped(void **state)
{
	struct toy t;
	(void)state;
	open_fork(&t);
	toy_arrive(&t, 1, 0);
	toy_reset(&t, 2, 0);
	toy_deliver(&t, 2, 0);
	toy_deliver(&t, 0, 2);
	toy_reset(&t, 2, 0);
	toy_deliver(&t, 2, 0); /* RESET_DONE */
	toy_deliver(&t, 2, 0); /* the second reset */
	toy_reset(&t, 0, 0);
	/* These wait for RESET_DONE of leaf 1, and end the same round. */
	assert_int_equal(t.watch[0].ended, 1);
	toy_arrive(&t, 0, 0);
	expect_ends(&t, "!!");
	toy_arrive(&t, 0, 0);
	toy_arrive(&t, 2, 0);
	expect_ends(&t, "!!");
	toy_arrive(&t, 1, 0);
	expect_ends(&t, "!!.");
	toy_close(&t);
}

static void concurrent_resets_cause_one_error(void **state)
{
	struct toy t;
	(void)state;
	open_fork(&t);
	toy_reset(&t, 1, 0);
	toy_reset(&t, 1, 0);
	toy_reset(&t, 2, 0);
	toy_reset(&t, 0, 0);
	expect_ends(&t, "!");
	toy_reset(&t, 2, 0);
	expect_ends(&t, "!!");
	toy_close(&t);
}

/* The release is in flight when the leaf resets. */
static void a_reset_that_crosses_a_release_ends_the_next_round(void **state)
{
	struct toy t;
	(void)state;
	open_fork(&t);
	all_arrive(&t);
	toy_deliver(&t, 1, 0);
	toy_deliver(&t, 2, 0);
	toy_reset(&t, 2, 0);
	toy_deliver(&t, 0, 1);
	toy_arrive(&t, 1, 0);
	toy_arrive(&t, 0, 0);
	toy_deliver(&t, 0, 2);
	toy_arrive(&t, 2, 0);
	expect_ends(&t, ".!");
	all_arrive(&t);
	expect_ends(&t, ".!.");
	toy_close(&t);
}

/*
 * The middle node has received a reset, its leaf has not. A reset that the
 * middle node makes now is another one, and must not be lost.
 */
static void a_reset_waits_for_the_previous_one(void **state)
{
	struct toy t;
	(void)state;
	open_chain(&t, 3);
	toy_set(&t, 0, (const bool[3]){ true, true, true });
	toy_reset(&t, 0, 0);
	toy_deliver(&t, 0, 1);
	toy_reset(&t, 1, 0);
	toy_reset(&t, 2, 0);
	expect_ends(&t, "!!");
	toy_close(&t);
}

/* ---- errors ---- */

static void invalid_calls_are_refused(void **state)
{
	const bool none[3] = { false }, some[3] = { true, false, true };
	struct toy t;
	(void)state;
	open_fork(&t);
	assert_int_equal(barrier_set(t.barriers, 16, some), -EINVAL);
	assert_int_equal(barrier_set(t.barriers, 1, none), -EINVAL);
	assert_int_equal(barrier_arrive(t.barriers, &t, 0, 1), -ENOTCONN);
	assert_int_equal(barrier_reset(t.barriers, &t, 0, 1), -ENOTCONN);
	assert_int_equal(barrier_arrive(t.barriers, &t, 3, 0), -EINVAL);
	assert_int_equal(barrier_arrive(t.barriers, &t, 0, 16), -EINVAL);
	assert_int_equal(barrier_reset(t.barriers, &t, 3, 0), -EINVAL);
	assert_int_equal(barrier_reset(t.barriers, &t, 0, 16), -EINVAL);
	toy_set(&t, 0, some);
	assert_int_equal(barrier_arrive(t.barriers, &t, 1, 0), -ENOTCONN);
	assert_int_equal(barrier_reset(t.barriers, &t, 1, 0), -ENOTCONN);
	toy_arrive(&t, 0, 0);
	toy_arrive(&t, 2, 0);
	expect_ends(&t, ".");
	toy_close(&t);
	barrier_close(NULL);
}

/* After each message of a round, and of a reset, up to the last. */
static void participants_cannot_change_during_a_round(void **state)
{
	const bool all[3] = { true, true, true };
	struct toy t;
	(void)state;
	open_fork(&t);
	for (unsigned reset = 0; reset < 2; reset++) {
		assert_int_equal(barrier_set(t.barriers, 0, all), 0);
		if (reset)
			toy_reset(&t, 2, 0);
		else
			all_arrive(&t);
		while (t.waiting_count) {
			assert_int_equal(
				barrier_set(t.barriers, 0, all), -EBUSY);
			toy_deliver_any(&t);
		}
	}
	assert_int_equal(barrier_set(t.barriers, 0, all), 0);
	expect_ends(&t, ".!");
	toy_close(&t);
}

/* All have received the release, but a reset has crossed it. */
static void participants_cannot_change_during_a_reset(void **state)
{
	const bool all[3] = { true, true, true };
	struct toy t;
	(void)state;
	open_fork(&t);
	all_arrive(&t);
	toy_deliver(&t, 1, 0);
	toy_deliver(&t, 2, 0);
	toy_reset(&t, 2, 0);
	toy_deliver(&t, 0, 1);
	toy_deliver(&t, 0, 2);
	assert_int_equal(t.waiting_count, 1);
	assert_int_equal(barrier_set(t.barriers, 0, all), -EBUSY);
	expect_ends(&t, ".!");
	assert_int_equal(barrier_set(t.barriers, 0, all), 0);
	toy_close(&t);
}

static void disconnected_nodes_cannot_participate(void **state)
{
	const bool both[3] = { true, true }, far[3] = { true, false, true };
	const struct topology_link link = { { 0, 1 } };
	struct toy t = { 0 };
	(void)state;
	assert_int_equal(topology_graph(&t.net, 3, &link, 1), 0);
	toy_open(&t, 0, 0);
	assert_int_equal(barrier_set(t.barriers, 0, far), -EHOSTUNREACH);
	assert_int_equal(barrier_set(t.barriers, 0, both), 0);
	/* The link fails, and breaks the tree. */
	t.net.neighbour[0] = t.net.neighbour[1] = TOPOLOGY_NOWHERE;
	assert_int_equal(barrier_set(t.barriers, 0, both), -EHOSTUNREACH);
	toy_close(&t);
}

/* ---- stray messages ---- */

struct stray {
	uint32_t node;
	unsigned port;
	struct barrier_message message;
};

/* In the chain 0 to 3, of which 1 (the top) and 2 take part in barrier 0. */
static void stray_messages_are_ignored(void **state)
{
	const struct stray strays[] = {
		{ 1, 0, { 1, BARRIER_UP } },	/* no participants */
		{ 1, 0, { 16, BARRIER_UP } },	/* no such barrier */
		{ 1, 0, { 255, BARRIER_UP } },	/* the same */
		{ 1, 0, { 0, BARRIER_KINDS } }, /* no such kind */
		{ 1, 0, { 0, 255 } },		/* the same */
		{ 1, 0, { 0, BARRIER_DOWN } },	/* not from below */
		{ 1, 0, { 0, BARRIER_RESET_DOWN } },
		{ 1, 0, { 0, BARRIER_RESET_DONE } }, /* no reset before */
		{ 1, 1, { 0, BARRIER_DOWN } },	     /* the top has no parent */
		{ 1, 1, { 0, BARRIER_RESET_DOWN } },
		{ 1, 2, { 0, BARRIER_UP } }, /* no such port */
		{ 1, 32, { 0, BARRIER_UP } },
		{ 1, UINT32_MAX, { 0, BARRIER_RESET_UP } },
		{ 2, 1, { 0, BARRIER_UP } }, /* not from above */
		{ 2, 1, { 0, BARRIER_RESET_UP } },
		{ 2, 1, { 0, BARRIER_RESET_DONE } },
		{ 2, 1, { 0, BARRIER_DOWN } }, /* it has not arrived */
		{ 2, 0, { 0, BARRIER_UP } },   /* it has no children */
		{ 2, 0, { 0, BARRIER_RESET_UP } },
		{ 0, 0, { 0, BARRIER_UP } }, /* not part of the barrier */
		{ 0, 0, { 0, BARRIER_RESET_UP } },
		{ 3, 1, { 0, BARRIER_DOWN } },
		{ 3, 1, { 0, BARRIER_RESET_DOWN } },
	};
	struct toy t;
	(void)state;
	open_chain(&t, 4);
	toy_set(&t, 0, (const bool[4]){ false, true, true, false });
	for (size_t i = 0; i < COUNT(strays); i++) {
		barrier_receive(t.barriers, &t, strays[i].node, strays[i].port,
			strays[i].message);
		assert_int_equal(barrier_strays(t.barriers), i + 1);
		assert_int_equal(t.sent, 0);
	}
	toy_arrive(&t, 1, 0);
	toy_settle(&t);
	assert_int_equal(t.watch[0].ended, 0);
	toy_arrive(&t, 2, 0);
	toy_settle(&t);
	assert_int_equal(t.watch[0].ended, 1);
	assert_int_equal(barrier_strays(t.barriers), COUNT(strays));
	toy_close(&t);
}

/* A message that is valid once is a stray the second time. */
static void repeated_messages_are_ignored(void **state)
{
	const struct barrier_message up = { 0, BARRIER_UP };
	const struct barrier_message reset = { 0, BARRIER_RESET_DOWN };
	struct toy t;
	(void)state;
	open_chain(&t, 3);
	toy_set(&t, 0, (const bool[3]){ true, true, true });
	toy_arrive(&t, 2, 0);
	toy_settle(&t);
	barrier_receive(t.barriers, &t, 1, 0, up);
	assert_int_equal(barrier_strays(t.barriers), 1);
	toy_reset(&t, 0, 0);
	toy_deliver(&t, 0, 1);
	barrier_receive(t.barriers, &t, 1, 1, reset);
	assert_int_equal(barrier_strays(t.barriers), 2);
	/* DOWN while RESET_DONE is outstanding. */
	barrier_receive(t.barriers, &t, 1, 0, reset);
	assert_int_equal(barrier_strays(t.barriers), 3);
	toy_settle(&t);
	all_arrive(&t);
	toy_settle(&t);
	assert_int_equal(t.watch[0].ended, 2);
	assert_int_equal(barrier_strays(t.barriers), 3);
	toy_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_arrival_releases_all),
		cmocka_unit_test(one_arrival_per_node_and_round),
		cmocka_unit_test(a_single_node_is_released_at_once),
		cmocka_unit_test(a_single_participant_is_released_at_once),
		cmocka_unit_test(the_top_is_the_lowest_common_node),
		cmocka_unit_test(the_next_round_starts_before_all_are_released),
		cmocka_unit_test(hosts_may_arrive_when_released),
		cmocka_unit_test(hosts_may_reset_when_released),
		cmocka_unit_test(a_reset_ends_the_round_for_all),
		cmocka_unit_test(an_arrival_that_crosses_a_reset_is_dropped),
		cmocka_unit_test(an_arrival_that_crosses_two_resets_is_dropped),
		cmocka_unit_test(concurrent_resets_cause_one_error),
		cmocka_unit_test(
			a_reset_that_crosses_a_release_ends_the_next_round),
		cmocka_unit_test(a_reset_waits_for_the_previous_one),
		cmocka_unit_test(invalid_calls_are_refused),
		cmocka_unit_test(participants_cannot_change_during_a_round),
		cmocka_unit_test(participants_cannot_change_during_a_reset),
		cmocka_unit_test(disconnected_nodes_cannot_participate),
		cmocka_unit_test(stray_messages_are_ignored),
		cmocka_unit_test(repeated_messages_are_ignored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
