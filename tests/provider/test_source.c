/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources of messages: directed receives, the source of a completion, and peers
 * that are not in the address vector.
 */
#include <string.h>

#include "harness.h"

/* Rank r sends its rank to rank 0. */
static void send_rank(struct stack *s, unsigned rank, uint64_t tag)
{
	MUST(s, fi_tinject(s->ep, &rank, sizeof(rank), s->peers[0], tag));
}

static void post_rank(struct stack *s, unsigned *to, fi_addr_t from)
{
	MUST(s, fi_trecv(s->ep, to, sizeof(*to), NULL, from, 1, 0, to));
}

static void expect_rank(struct stack *s, unsigned *to, unsigned rank)
{
	struct fi_cq_tagged_entry e;
	assert_int_equal(cq_next_from(s->rxcq, &e), s->peers[rank]);
	assert_true(e.op_context == to);
	assert_int_equal(*to, rank);
}

/* ---- directed receives ---- */

/* Rank 2 sends before rank 1, and the receive from any source is the last. */
static void directed_root(struct stack *s, struct process *me, bool early)
{
	unsigned one = 0, two = 0, any = 0;
	if (!early)
		process_barrier(me, s);
	process_barrier(me, s);
	process_barrier(me, s);
	post_rank(s, &one, s->peers[1]);
	if (early)
		process_barrier(me, s);
	expect_rank(s, &one, 1);
	post_rank(s, &two, s->peers[2]);
	expect_rank(s, &two, 2);
	post_rank(s, &any, FI_ADDR_UNSPEC);
	expect_rank(s, &any, 2);
	cq_expect_none(s->rxcq);
}

static void directed_body(struct process *me, void *argument)
{
	bool early = *(bool *)argument;
	struct stack s;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		directed_root(&s, me, early);
	} else {
		for (unsigned turn = 0; turn < 3; turn++) {
			if (turn == (early ? 2 : 1) && me->rank == 1)
				send_rank(&s, 1, 1);
			if (turn == 0 && me->rank == 2) {
				send_rank(&s, 2, 1);
				send_rank(&s, 2, 1);
			}
			process_barrier(me, &s);
		}
	}
	stack_leave(&s, me);
}

static void directed_receives_wait_for_their_peer(void **state)
{
	(void)state;
	group_run(3, directed_body, &(bool){ false });
	group_run(3, directed_body, &(bool){ true });
}

/* The oldest matching receive gets it, directed or not. */
static void oldest_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned to[4] = { 0 };
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		post_rank(&s, &to[0], FI_ADDR_UNSPEC);
		post_rank(&s, &to[1], s.peers[1]);
		post_rank(&s, &to[2], FI_ADDR_UNSPEC);
		process_barrier(me, &s);
		expect_rank(&s, &to[0], 1);
		expect_rank(&s, &to[1], 1);
		expect_rank(&s, &to[2], 1);
	} else {
		process_barrier(me, &s);
		for (unsigned i = 0; i < 3; i++)
			send_rank(&s, 1, 1);
	}
	stack_leave(&s, me);
}

static void the_oldest_receive_matches(void **state)
{
	(void)state;
	group_run(2, oldest_body, NULL);
}

/* Untagged receives are directed too. */
static void untagged_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned to[2] = { 0 };
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		for (unsigned i = 0; i < 2; i++)
			MUST(&s, fi_recv(s.ep, &to[i], sizeof(to[i]), NULL,
					 s.peers[2 - i], &to[i]));
		process_barrier(me, &s);
		expect_rank(&s, &to[1], 1);
		process_barrier(me, &s);
		expect_rank(&s, &to[0], 2);
	} else {
		for (unsigned turn = 1; turn < 3; turn++) {
			process_barrier(me, &s);
			if (me->rank == turn)
				MUST(&s, fi_inject(s.ep, &me->rank,
						 sizeof(me->rank), s.peers[0]));
		}
	}
	stack_leave(&s, me);
}

static void untagged_receives_are_directed_too(void **state)
{
	(void)state;
	group_run(3, untagged_body, NULL);
}

/* ---- without FI_DIRECTED_RECV the source is ignored ---- */

static void undirected_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned to = 0;
	(void)argument;
	stack_open(&s,
		&(struct options){ .caps = FI_MSG | FI_TAGGED | FI_SOURCE });
	assert_true(!(s.info->caps & FI_DIRECTED_RECV));
	stack_join(&s, me);
	if (me->rank == 0) {
		post_rank(&s, &to, s.peers[0]);
		expect_rank(&s, &to, 1);
		MUST(&s, fi_recv(s.ep, &to, sizeof(to), NULL, s.peers[0], &to));
		expect_rank(&s, &to, 1);
	} else {
		send_rank(&s, 1, 1);
		MUST(&s, fi_inject(s.ep, &me->rank, sizeof(me->rank),
				 s.peers[0]));
	}
	stack_leave(&s, me);
}

static void without_the_capability_any_source_matches(void **state)
{
	(void)state;
	group_run(2, undirected_body, NULL);
}

/* ---- unlisted ---- */

static void unlisted_root(struct stack *s, struct process *me)
{
	struct fi_cq_tagged_entry e;
	unsigned any = 0, held = 0;
	post_rank(s, &any, FI_ADDR_UNSPEC);
	assert_int_equal(cq_next_from(s->rxcq, &e), FI_ADDR_NOTAVAIL);
	assert_true(e.op_context == &any);
	assert_int_equal(any, 1);
	/* A message is held here when its source is inserted. */
	process_barrier(me, s);
	process_barrier(me, s);
	cq_expect_none(s->rxcq);
	s->peers[1] = stack_insert(s, me, 1);
	post_rank(s, &held, s->peers[1]);
	expect_rank(s, &held, 1);
	/* A reply is possible. */
	process_barrier(me, s);
	MUST(s, fi_tinject(s->ep, NULL, 0, s->peers[1], 2));
}

static void unlisted_peer(struct stack *s, struct process *me)
{
	struct fi_cq_tagged_entry e;
	s->peers[0] = stack_insert(s, me, 0);
	send_rank(s, 1, 1);
	process_barrier(me, s);
	send_rank(s, 1, 1);
	process_barrier(me, s);
	process_barrier(me, s);
	MUST(s, fi_trecv(s->ep, NULL, 0, NULL, s->peers[0], 2, 0, s));
	assert_int_equal(cq_next_from(s->rxcq, &e), s->peers[0]);
}

static void unlisted_body(struct process *me, void *argument)
{
	struct stack s;
	stack_open(&s, argument);
	stack_publish(&s, me);
	process_barrier(me, &s);
	if (me->rank == 0)
		unlisted_root(&s, me);
	else
		unlisted_peer(&s, me);
	stack_leave(&s, me);
}

static void unlisted_peers_have_no_address(void **state)
{
	(void)state;
	group_run(2, unlisted_body, &(struct options){ 0 });
	group_run(2, unlisted_body, &(struct options){ .av_type = FI_AV_MAP });
}

/* A removed peer has no address until it is inserted again. */
static void removed_root(struct stack *s, struct process *me)
{
	struct fi_cq_tagged_entry e;
	unsigned to = 0;
	post_rank(s, &to, FI_ADDR_UNSPEC);
	expect_rank(s, &to, 1);
	assert_int_equal(fi_av_remove(s->av, &s->peers[1], 1, 0), 0);
	process_barrier(me, s);
	post_rank(s, &to, FI_ADDR_UNSPEC);
	assert_int_equal(cq_next_from(s->rxcq, &e), FI_ADDR_NOTAVAIL);
	s->peers[1] = stack_insert(s, me, 1);
	process_barrier(me, s);
	post_rank(s, &to, s->peers[1]);
	expect_rank(s, &to, 1);
}

static void removed_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		removed_root(&s, me);
	} else {
		send_rank(&s, 1, 1);
		process_barrier(me, &s);
		send_rank(&s, 1, 1);
		process_barrier(me, &s);
		send_rank(&s, 1, 1);
	}
	stack_leave(&s, me);
}

static void removed_peers_are_unlisted(void **state)
{
	(void)state;
	group_run(2, removed_body, NULL);
}

/* ---- an index that is reused ---- */

/* Rank 1 is removed with all its entries, and rank 2 gets its index. */
static void replace(
	struct stack *s, struct process *me, fi_addr_t *gone, unsigned count)
{
	assert_int_equal(fi_av_remove(s->av, &s->peers[2], 1, 0), 0);
	assert_int_equal(fi_av_remove(s->av, gone, count, 0), 0);
	s->peers[2] = stack_insert(s, me, 2);
	assert_int_equal(s->peers[2], s->peers[1]);
}

/* Messages of rank 1, before and after that, are not attributed to rank 2. */
static void replaced_root(struct stack *s, struct process *me, bool twice)
{
	fi_addr_t entries[2] = { s->peers[1], FI_ADDR_NOTAVAIL };
	struct fi_cq_tagged_entry e;
	unsigned to = 0, other = 0;
	if (twice) {
		entries[1] = stack_insert(s, me, 1);
		MUST(s, fi_tinject(s->ep, "", 0, entries[1], 2));
	}
	process_barrier(me, s);
	cq_expect_none(s->rxcq);
	replace(s, me, entries, twice ? 2 : 1);
	process_barrier(me, s);
	cq_expect_none(s->rxcq);
	post_rank(s, &to, s->peers[2]);
	cq_expect_none(s->rxcq);
	process_barrier(me, s);
	expect_rank(s, &to, 2);
	for (unsigned i = 0; i < 2; i++) {
		post_rank(s, &other, FI_ADDR_UNSPEC);
		assert_int_equal(cq_next_from(s->rxcq, &e), FI_ADDR_NOTAVAIL);
		assert_int_equal(other, 1);
	}
}

static void replaced_body(struct process *me, void *argument)
{
	struct stack s;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		replaced_root(&s, me, *(bool *)argument);
	} else {
		for (unsigned turn = 0; turn < 3; turn++) {
			if (me->rank == 1 && turn < 2)
				send_rank(&s, 1, 1);
			process_barrier(me, &s);
		}
		if (me->rank == 2)
			send_rank(&s, 2, 1);
	}
	stack_leave(&s, me);
}

static void messages_keep_their_source(void **state)
{
	(void)state;
	group_run(3, replaced_body, &(bool){ false });
	group_run(3, replaced_body, &(bool){ true });
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(directed_receives_wait_for_their_peer),
		TEST(the_oldest_receive_matches),
		TEST(untagged_receives_are_directed_too),
		TEST(without_the_capability_any_source_matches),
		TEST(unlisted_peers_have_no_address),
		TEST(removed_peers_are_unlisted),
		TEST(messages_keep_their_source),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
