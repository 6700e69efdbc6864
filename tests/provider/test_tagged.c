/* SPDX-License-Identifier: BSD-2-Clause */
/* Matching by tag. Rank 0 sends, rank 1 receives. */
#include <stdlib.h>

#include "harness.h"

#define LONG_BYTES 200000ul

static void send_word(struct stack *s, uint64_t tag, uint64_t word)
{
	MUST(s, fi_tinject(s->ep, &word, sizeof(word), s->peers[1], tag));
}

static void recv_word(
	struct stack *s, uint64_t *to, uint64_t tag, uint64_t ignore)
{
	MUST(s, fi_trecv(s->ep, to, sizeof(*to), NULL, FI_ADDR_UNSPEC, tag,
			ignore, to));
}

static void expect_word(
	struct stack *s, uint64_t *to, uint64_t tag, uint64_t word)
{
	struct fi_cq_tagged_entry e;
	cq_next(s->rxcq, &e);
	assert_true(e.op_context == to);
	assert_int_equal(e.len, sizeof(*to));
	assert_int_equal(e.tag, tag);
	assert_int_equal(*to, word);
}

static void take_word(struct stack *s, uint64_t tag, uint64_t ignore,
	uint64_t expected_tag, uint64_t expected)
{
	uint64_t to = 0;
	recv_word(s, &to, tag, ignore);
	expect_word(s, &to, expected_tag, expected);
}

/* Both sides of a test; the sender goes first unless receives are posted. */
struct sides {
	void (*send)(struct stack *);
	void (*receive)(struct stack *, struct process *);
};

static void sides_body(struct process *me, void *argument)
{
	const struct sides *sides = argument;
	struct stack s;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 1) {
		sides->receive(&s, me);
	} else {
		sides->send(&s);
		process_barrier(me, &s);
	}
	cq_expect_none(s.rxcq);
	stack_leave(&s, me);
}

/* ---- unexpected messages, by tag and by mask ---- */

static uint64_t mixed_tag(uint64_t i)
{
	return i % 4 | i << 56;
}

static void mixed_send(struct stack *s)
{
	for (uint64_t i = 0; i < 12; i++)
		send_word(s, mixed_tag(i), i);
}

static void mixed_receive(struct stack *s, struct process *me)
{
	process_barrier(me, s);
	/* By the exact tag, by a part of it, by any; and the rest, in order. */
	take_word(s, mixed_tag(7), 0, mixed_tag(7), 7);
	take_word(s, 2, 0xffull << 56, mixed_tag(2), 2);
	take_word(s, 2, 0xffull << 56, mixed_tag(6), 6);
	take_word(s, 99, ~0ull, mixed_tag(0), 0);
	take_word(s, 11ull << 56, 0xf, mixed_tag(11), 11);
	static const uint64_t left[] = { 1, 3, 4, 5, 8, 9, 10 };
	for (unsigned i = 0; i < COUNT(left); i++)
		take_word(s, 0, ~0ull, mixed_tag(left[i]), left[i]);
}

static void receives_match_by_tag_and_mask(void **state)
{
	(void)state;
	group_run(2, sides_body, &(struct sides){ mixed_send, mixed_receive });
}

/* ---- posted receives, by tag and by mask ---- */

static void posted_body(struct process *me, void *argument)
{
	struct stack s;
	uint64_t to[5] = { 0 };
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		process_barrier(me, &s);
		for (uint64_t i = 0; i < 5; i++)
			send_word(&s, (uint64_t[]){ 5, 4, 6, 5, 70 }[i], i);
	} else {
		recv_word(&s, &to[0], 6, 0);
		recv_word(&s, &to[1], 4, 1);
		recv_word(&s, &to[2], 5, 0);
		recv_word(&s, &to[3], 0, 15);
		recv_word(&s, &to[4], 0, ~0ull);
		process_barrier(me, &s);
		expect_word(&s, &to[1], 5, 0);
		expect_word(&s, &to[3], 4, 1);
		expect_word(&s, &to[0], 6, 2);
		expect_word(&s, &to[2], 5, 3);
		expect_word(&s, &to[4], 70, 4);
	}
	cq_expect_none(s.rxcq);
	stack_leave(&s, me);
}

static void messages_match_the_oldest_receive(void **state)
{
	(void)state;
	group_run(2, posted_body, NULL);
}

/* ---- tagged and untagged messages ---- */

static void kinds_send(struct stack *s)
{
	uint64_t word = 1;
	MUST(s, fi_inject(s->ep, &word, sizeof(word), s->peers[1]));
	send_word(s, 0, 2);
}

static void kinds_receive(struct stack *s, struct process *me)
{
	struct fi_cq_tagged_entry e;
	uint64_t to = 0;
	process_barrier(me, s);
	take_word(s, 0, ~0ull, 0, 2);
	MUST(s, fi_recv(s->ep, &to, sizeof(to), NULL, FI_ADDR_UNSPEC, s));
	cq_next(s->rxcq, &e);
	assert_true(e.flags & FI_MSG);
	assert_int_equal(to, 1);
}

static void tagged_and_untagged_do_not_match(void **state)
{
	(void)state;
	group_run(2, sides_body, &(struct sides){ kinds_send, kinds_receive });
}

/* ---- order of many with few tags ---- */

enum {
	MANY = 20000,
	TAGS = 7,
};

static void many_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0)
		for (uint64_t i = 0; i < MANY; i++)
			send_word(&s, i % TAGS, i);
	else
		/* Tag after tag: most are unexpected by then. */
		for (uint64_t tag = 0; tag < TAGS; tag++)
			for (uint64_t i = tag; i < MANY; i += TAGS)
				take_word(&s, tag, 0, tag, i);
	stack_leave(&s, me);
}

static void each_tag_stays_in_order(void **state)
{
	(void)state;
	group_run(2, many_body, NULL);
}

/* ---- many receives, answered backwards ---- */

enum {
	POSTED = 20000
};

static void backwards_body(struct process *me, void *argument)
{
	struct stack s;
	uint64_t *to = calloc(POSTED, sizeof(*to));
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 1)
		for (uint64_t i = 0; i < POSTED; i++)
			recv_word(&s, &to[i], i, 0);
	process_barrier(me, &s);
	for (uint64_t i = POSTED; i-- > 0;)
		if (me->rank == 0)
			send_word(&s, i, ~i);
		else
			expect_word(&s, &to[i], i, ~i);
	stack_leave(&s, me);
	free(to);
}

static void many_receives_may_be_posted(void **state)
{
	(void)state;
	group_run(2, backwards_body, NULL);
}

/* ---- rendezvous messages in flight, received backwards ---- */

enum {
	LONGS = 150
};

static void longs_send(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	for (uint64_t i = 0; i < LONGS; i++)
		MUST(s, fi_tsend(s->ep, buffer + i, LONG_BYTES, NULL,
				s->peers[1 - me->rank], i, s));
}

static void longs_receive(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	unsigned char *to = malloc(LONG_BYTES);
	for (uint64_t i = LONGS; i-- > 0;) {
		MUST(s, fi_trecv(s->ep, to, LONG_BYTES, NULL,
				s->peers[1 - me->rank], i, 0, to));
		cq_expect(s->rxcq, to);
		for (size_t at = 0; at < LONG_BYTES; at += 997)
			assert_int_equal(to[at], buffer[i + at]);
	}
	free(to);
}

/* In both directions at once. */
static void longs_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *buffer = malloc(LONG_BYTES + LONGS);
	(void)argument;
	content_fill(buffer, LONG_BYTES + LONGS, 3);
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	longs_send(&s, me, buffer);
	longs_receive(&s, me, buffer);
	for (unsigned i = 0; i < LONGS; i++)
		cq_expect(s.txcq, &s);
	cq_expect_none(s.txcq);
	stack_leave(&s, me);
	free(buffer);
}

static void many_rendezvous_do_not_deadlock(void **state)
{
	(void)state;
	group_run(2, longs_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(receives_match_by_tag_and_mask),
		TEST(messages_match_the_oldest_receive),
		TEST(tagged_and_untagged_do_not_match),
		TEST(each_tag_stays_in_order),
		TEST(many_receives_may_be_posted),
		TEST(many_rendezvous_do_not_deadlock),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
