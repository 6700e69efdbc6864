/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Death by SIGKILL: rank 0 survives rank 1. Its operations to and from the dead
 * peer end with an error within a bounded time; communication with rank 2
 * continues.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define LONG_BYTES 400000ul

enum {
	SEVERAL = 8
};

/* ---- common part: the parent kills when the survivor is ready ---- */

typedef void survivor(struct stack *, struct process *, unsigned char *);

struct plan {
	survivor *before, *after; /* the death */
	survivor *dying;	  /* NULL: does nothing */
};

static void survivor_ready(struct stack *s, struct process *me)
{
	child_send(me->parent, 1);
	/* No step depends on a peer that polls. */
	child_receive(me->parent);
	stack_progress(s);
}

static void run_survivor(
	struct stack *s, struct process *me, const struct plan *p)
{
	unsigned char *buffer = calloc(SEVERAL, LONG_BYTES);
	assert_true(buffer != NULL);
	p->before(s, me, buffer);
	survivor_ready(s, me);
	p->after(s, me, buffer);
	/* The other peer is still reachable. */
	MUST(s, fi_tinject(s->ep, "go", 2, s->peers[2], 99));
	MUST(s, fi_trecv(s->ep, buffer, 2, NULL, s->peers[2], 99, 0, s));
	cq_expect(s->rxcq, s);
	cq_expect_none(s->rxcq);
	cq_expect_none(s->txcq);
	free(buffer);
}

static void run_dying(struct stack *s, struct process *me, const struct plan *p)
{
	unsigned char *buffer = calloc(SEVERAL, LONG_BYTES);
	if (p->dying)
		p->dying(s, me, buffer);
	child_send(me->parent, 1);
	for (;;)
		nap_ns(NS_PER_S);
}

static void run_other(struct stack *s)
{
	char word[2];
	MUST(s, fi_trecv(s->ep, word, 2, NULL, s->peers[0], 99, 0, word));
	cq_expect(s->rxcq, word);
	MUST(s, fi_tinject(s->ep, word, 2, s->peers[0], 99));
	/* It leaves after the survivor has received its message. */
	MUST(s, fi_trecv(s->ep, word, 0, NULL, s->peers[0], 100, 0, word));
	cq_expect(s->rxcq, word);
}

static void death_body(struct process *me, void *argument)
{
	struct stack s;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		run_survivor(&s, me, argument);
		MUST(&s, fi_tinject(s.ep, NULL, 0, s.peers[2], 100));
	} else if (me->rank == 1) {
		run_dying(&s, me, argument);
	} else {
		run_other(&s);
	}
	stack_close(&s);
}

static void death_run(survivor *before, survivor *after, survivor *dying)
{
	struct plan p = { before, after, dying };
	struct group c;
	group_start(&c, 3, death_body, &p);
	child_receive(&c.children[1]);
	child_receive(&c.children[0]);
	group_kill(&c, 1);
	child_send(&c.children[0], 1);
	group_join(&c);
}

/* Expects `count` errors, each of a different operation on the buffer. */
static void expect_errors(
	struct fid_cq *cq, unsigned char *buffer, unsigned count)
{
	bool seen[SEVERAL] = { false };
	struct fi_cq_err_entry e;
	for (unsigned i = 0; i < count; i++) {
		cq_next_error(cq, &e);
		size_t at = (size_t)((unsigned char *)e.op_context - buffer) /
			    LONG_BYTES;
		assert_true(at < count && !seen[at]);
		seen[at] = true;
	}
}

/* An operation to the dead peer fails at once, or within a bounded time. */
static void check_dead(struct stack *s)
{
	struct fi_cq_err_entry e;
	uint64_t deadline = soon();
	ssize_t r;
	while ((r = fi_tsend(s->ep, "x", 1, NULL, s->peers[1], 1, s)) ==
		-FI_EAGAIN) {
		stack_progress(s);
		assert_true(now_ns() < deadline);
	}
	if (r == 0)
		cq_next_error(s->txcq, &e);
	else
		assert_int_equal(r, -FI_EHOSTUNREACH);
}

/* ---- sends to the dead ---- */

static void send_longs(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	for (unsigned i = 0; i < SEVERAL; i++)
		MUST(s, fi_tsend(s->ep, buffer + i * LONG_BYTES, LONG_BYTES,
				NULL, s->peers[1], i, buffer + i * LONG_BYTES));
	cq_expect_none(s->txcq);
}

static void sends_fail(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	expect_errors(s->txcq, buffer, SEVERAL);
	check_dead(s);
	check_dead(s);
}

static void rendezvous_to_the_dead_fails(void **state)
{
	(void)state;
	death_run(send_longs, sends_fail, NULL);
}

static void send_deliveries(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	for (unsigned i = 0; i < SEVERAL; i++) {
		unsigned char *from = buffer + i * LONG_BYTES;
		struct iovec iov = { from, 100 };
		struct fi_msg m = { &iov, NULL, 1, s->peers[1], from, 0 };
		MUST(s, fi_sendmsg(s->ep, &m, FI_DELIVERY_COMPLETE));
	}
	cq_expect_none(s->txcq);
}

static void undelivered_sends_fail(void **state)
{
	(void)state;
	death_run(send_deliveries, sends_fail, NULL);
}

/* ---- receives from the dead ---- */

static void post_receives(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	for (unsigned i = 0; i < SEVERAL; i++) {
		unsigned char *to = buffer + i * LONG_BYTES;
		if (i % 2)
			MUST(s, fi_trecv(s->ep, to, LONG_BYTES, NULL,
					s->peers[1], i, 0, to));
		else
			MUST(s, fi_recv(s->ep, to, LONG_BYTES, NULL,
					s->peers[1], to));
	}
	cq_expect_none(s->rxcq);
}

static void send_hello(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	(void)buffer;
	MUST(s, fi_tinject(s->ep, "hello", 5, s->peers[0], 7777));
}

static void receives_fail(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	expect_errors(s->rxcq, buffer, SEVERAL);
	check_dead(s);
}

static void receives_from_the_dead_fail(void **state)
{
	(void)state;
	death_run(post_receives, receives_fail, send_hello);
}

/* Receives from any source wait for other peers. */
static void post_any(struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	MUST(s, fi_trecv(s->ep, buffer, 2, NULL, FI_ADDR_UNSPEC, 5, 0, buffer));
}

static void any_stays(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	cq_expect_none(s->rxcq);
	check_dead(s);
	MUST(s, fi_tinject(s->ep, "me", 2, s->peers[0], 5));
	cq_expect(s->rxcq, buffer);
}

static void receives_from_any_source_stay(void **state)
{
	(void)state;
	death_run(post_any, any_stays, send_hello);
}

/* ---- messages that the dead peer had sent ---- */

static void leave_messages(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	content_fill(buffer, LONG_BYTES, 1);
	MUST(s, fi_tinject(s->ep, buffer, 1000, s->peers[0], 1));
	MUST(s, fi_tsend(s->ep, buffer, LONG_BYTES, NULL, s->peers[0], 2, s));
	MUST(s, fi_tinject(s->ep, buffer, 8, s->peers[0], 3));
}

static void nothing_yet(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	(void)me;
	(void)buffer;
	cq_expect_none(s->rxcq);
}

/* Eager messages have arrived; the memory of a rendezvous message is gone. */
static void receive_remaining(
	struct stack *s, struct process *me, unsigned char *buffer)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry error;
	(void)me;
	for (uint64_t tag = 1; tag < 4; tag += 2) {
		MUST(s, fi_trecv(s->ep, buffer, LONG_BYTES, NULL,
				FI_ADDR_UNSPEC, tag, 0, buffer));
		cq_next(s->rxcq, &e);
		assert_int_equal(e.len, tag == 1 ? 1000 : 8);
		assert_true(content_fits(buffer, e.len, 1));
	}
	ssize_t r = fi_trecv(
		s->ep, buffer, LONG_BYTES, NULL, s->peers[1], 2, 0, buffer);
	if (r == 0)
		cq_next_error(s->rxcq, &error);
	else
		assert_true(r != -FI_EAGAIN);
}

static void eager_messages_of_the_dead_arrive(void **state)
{
	(void)state;
	death_run(nothing_yet, receive_remaining, leave_messages);
}

/* ---- at any time ---- */

enum {
	IN_FLIGHT = 16
};

/* Keeps sends and receives posted until one fails. */
struct chat {
	struct stack *s;
	unsigned char *to, *from;
	unsigned peer;
	unsigned sends, receives;
	bool over;
};

static void chat_post(struct chat *c, uint64_t i)
{
	static const size_t lengths[] = { 8, 4000, 30000, LONG_BYTES };
	size_t length = lengths[i % COUNT(lengths)];
	struct stack *s = c->s;
	ssize_t r = -FI_EAGAIN;
	if (c->receives < IN_FLIGHT)
		r = fi_trecv(s->ep, c->to, LONG_BYTES, NULL, s->peers[c->peer],
			1, 0, c);
	c->receives += r == 0;
	c->over |= r != 0 && r != -FI_EAGAIN;
	r = -FI_EAGAIN;
	if (c->sends < IN_FLIGHT)
		r = fi_tsend(
			s->ep, c->from, length, NULL, s->peers[c->peer], 1, c);
	c->sends += r == 0;
	c->over |= r != 0 && r != -FI_EAGAIN;
}

static unsigned chat_reap(struct chat *c, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry error = { 0 };
	ssize_t r = fi_cq_read(cq, &e, 1);
	if (r == -FI_EAGAIN)
		return 0;
	if (r == -FI_EAVAIL) {
		assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
		c->over = true;
	}
	return 1;
}

static void chat_step(struct chat *c, uint64_t i)
{
	if (!c->over)
		chat_post(c, i);
	c->sends -= chat_reap(c, c->s->txcq);
	c->receives -= chat_reap(c, c->s->rxcq);
}

/* The survivor ends when all its operations have ended. */
static void chat_body(struct process *me, void *argument)
{
	struct stack s;
	struct chat c = { .s = &s,
		.to = calloc(1, LONG_BYTES),
		.from = calloc(1, LONG_BYTES),
		.peer = 1 - me->rank };
	uint64_t deadline = soon();
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	/*
	 * The parent kills a process only after a send: a peer that dies before
	 * it is resolved cannot be distinguished from one that is not up yet.
	 */
	bool sent = false;
	for (uint64_t i = 0; !c.over || c.sends || c.receives; i++) {
		chat_step(&c, i);
		if (!sent && c.sends) {
			sent = true;
			child_send(me->parent, 1);
		}
		assert_true(now_ns() < deadline);
	}
	check_dead(&s);
	stack_close(&s);
	free(c.to);
	free(c.from);
}

static void death_at_any_time(void **state)
{
	struct random r = { 23 };
	(void)state;
	for (uint64_t i = 0; i < scaled(30); i++) {
		struct group c;
		group_start(&c, 2, chat_body, NULL);
		child_receive(&c.children[0]);
		child_receive(&c.children[1]);
		nap_ns(random_below(&r, 10 * NS_PER_MS));
		group_kill(&c, 1);
		group_join(&c);
	}
}

/* ---- a peer that is gone before it is resolved ---- */

/* Two receives wait for a peer that sends one message and exits. */
static void brief_root(struct stack *s, struct process *me)
{
	struct fi_cq_err_entry error;
	char to[2];
	s->peers[1] = stack_insert(s, me, 1);
	for (unsigned i = 0; i < 2; i++)
		MUST(s, fi_trecv(s->ep, to + i, 1, NULL, s->peers[1], 1, 0,
				to + i));
	process_barrier(me, s);
	process_barrier(me, NULL);
	cq_expect(s->rxcq, to);
	assert_int_equal(to[0], 'x');
	assert_int_equal(cq_next_error(s->rxcq, &error), FI_EHOSTUNREACH);
	assert_true(error.op_context == to + 1);
}

static void brief_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ .disabled = me->rank == 1 });
	stack_publish(&s, me);
	process_barrier(me, NULL);
	if (me->rank == 0) {
		brief_root(&s, me);
		stack_close(&s);
		return;
	}
	process_barrier(me, NULL);
	assert_int_equal(fi_enable(s.ep), 0);
	s.peers[0] = stack_insert(&s, me, 0);
	MUST(&s, fi_tinject(s.ep, "x", 1, s.peers[0], 1));
	stack_close(&s);
	process_barrier(me, NULL);
}

static void death_before_resolution_is_reported(void **state)
{
	(void)state;
	group_run(2, brief_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(rendezvous_to_the_dead_fails),
		TEST(undelivered_sends_fail),
		TEST(receives_from_the_dead_fail),
		TEST(receives_from_any_source_stay),
		TEST(eager_messages_of_the_dead_arrive),
		TEST(death_at_any_time),
		TEST(death_before_resolution_is_reported),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
