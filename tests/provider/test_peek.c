/* SPDX-License-Identifier: BSD-2-Clause */
/* FI_PEEK, FI_CLAIM and FI_DISCARD. Rank 0 sends, rank 1 receives. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define LONG_BYTES 300000ul

/* With the context that FI_CLAIM needs. */
static ssize_t peek(struct stack *s, uint64_t tag, uint64_t flags,
	struct fi_context *context)
{
	struct fi_msg_tagged m = {
		.addr = s->peers[0], .tag = tag, .context = context
	};
	return fi_trecvmsg(s->ep, &m, flags);
}

static void expect_nothing(struct stack *s, uint64_t tag, uint64_t flags)
{
	struct fi_context context;
	struct fi_cq_err_entry e;
	MUST(s, peek(s, tag, FI_PEEK | flags, &context));
	assert_int_equal(cq_next_error(s->rxcq, &e), FI_ENOMSG);
	assert_true(e.op_context == &context);
}

/* Peeks until the message is there. */
static void find(struct stack *s, uint64_t tag, uint64_t flags,
	struct fi_context *context, struct fi_cq_tagged_entry *e)
{
	uint64_t deadline = soon();
	for (;;) {
		struct fi_cq_err_entry error;
		ssize_t r;
		MUST(s, peek(s, tag, FI_PEEK | flags, context));
		while ((r = fi_cq_read(s->rxcq, e, 1)) == -FI_EAGAIN)
			assert_true(now_ns() < deadline);
		if (r == 1)
			break;
		assert_int_equal(r, -FI_EAVAIL);
		assert_int_equal(fi_cq_readerr(s->rxcq, &error, 0), 1);
		assert_int_equal(error.err, FI_ENOMSG);
		assert_true(now_ns() < deadline);
	}
	assert_true(e->op_context == context);
}

/* Three eager messages and a rendezvous, with data, tags 1, 1, 2 and 3. */
static size_t length_of(unsigned i)
{
	return (size_t[]){ 10, 20, 0, LONG_BYTES }[i];
}

static uint64_t tag_of(unsigned i)
{
	return (uint64_t[]){ 1, 1, 2, 3 }[i];
}

static void send_four(struct stack *s, unsigned char *buffer)
{
	for (unsigned i = 0; i < 4; i++)
		MUST(s, fi_tsenddata(s->ep, buffer, length_of(i), NULL, 100 + i,
				s->peers[1], tag_of(i), s));
}

static void sent_four(struct stack *s)
{
	for (unsigned i = 0; i < 4; i++)
		cq_expect(s->txcq, s);
}

static void check_found(const struct fi_cq_tagged_entry *e, unsigned i)
{
	assert_int_equal(e->len, length_of(i));
	assert_int_equal(e->tag, tag_of(i));
	assert_true(e->flags & FI_TAGGED);
	assert_true(e->flags & FI_RECV);
	assert_true(e->flags & FI_REMOTE_CQ_DATA);
	assert_int_equal(e->data, 100 + i);
}

static void find_four(
	struct stack *s, unsigned i, uint64_t flags, struct fi_context *context)
{
	struct fi_cq_tagged_entry e;
	find(s, tag_of(i), flags, context, &e);
	check_found(&e, i);
}

static void receive_four(struct stack *s, unsigned i, unsigned char *buffer)
{
	struct fi_cq_tagged_entry e;
	memset(buffer, 0, LONG_BYTES);
	MUST(s, fi_trecv(s->ep, buffer, LONG_BYTES, NULL, s->peers[0],
			tag_of(i), 0, s));
	cq_next(s->rxcq, &e);
	assert_true(e.op_context == s);
	check_found(&e, i);
	assert_true(content_fits(buffer, length_of(i), 1));
}

/* ---- variants of the receiver ---- */

static void peeks(struct stack *s, unsigned char *buffer)
{
	struct fi_context context;
	expect_nothing(s, 77, 0);
	for (unsigned round = 0; round < 3; round++) {
		find_four(s, 0, 0, &context);
		find_four(s, 2, 0, &context);
		find_four(s, 3, 0, &context);
	}
	for (unsigned i = 0; i < 4; i++)
		receive_four(s, i, buffer);
	expect_nothing(s, 1, 0);
}

static void claim_now(struct stack *s, unsigned i, unsigned char *buffer,
	struct fi_context *context)
{
	struct iovec iov = { buffer, LONG_BYTES };
	struct fi_msg_tagged m = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = s->peers[0],
		.tag = tag_of(i),
		.context = context };
	struct fi_cq_tagged_entry e;
	memset(buffer, 0, LONG_BYTES);
	MUST(s, fi_trecvmsg(s->ep, &m, FI_CLAIM));
	cq_next(s->rxcq, &e);
	assert_true(e.op_context == context);
	check_found(&e, i);
	assert_true(content_fits(buffer, length_of(i), 1));
}

/* A claimed message matches no other receive. */
static void claims(struct stack *s, unsigned char *buffer)
{
	struct fi_context context[4];
	find_four(s, 3, FI_CLAIM, &context[3]);
	find_four(s, 0, FI_CLAIM, &context[0]);
	expect_nothing(s, 3, 0);
	receive_four(s, 1, buffer);
	expect_nothing(s, 1, FI_CLAIM);
	find_four(s, 2, FI_CLAIM, &context[2]);
	claim_now(s, 0, buffer, &context[0]);
	claim_now(s, 2, buffer, &context[2]);
	claim_now(s, 3, buffer, &context[3]);
}

static void claims_and_discards(struct stack *s, unsigned char *buffer)
{
	struct fi_context context[4];
	for (unsigned i = 0; i < 4; i++)
		find_four(s, i, FI_CLAIM, &context[i]);
	for (unsigned i = 0; i < 4; i++) {
		struct fi_cq_tagged_entry e;
		MUST(s, peek(s, tag_of(i), FI_CLAIM | FI_DISCARD, &context[i]));
		cq_next(s->rxcq, &e);
		assert_true(e.op_context == &context[i]);
	}
	(void)buffer;
	for (unsigned i = 0; i < 4; i++)
		expect_nothing(s, tag_of(i), 0);
}

static void discards(struct stack *s, unsigned char *buffer)
{
	struct fi_context context;
	find_four(s, 3, FI_DISCARD, &context);
	find_four(s, 0, FI_DISCARD, &context);
	expect_nothing(s, 3, FI_DISCARD);
	receive_four(s, 1, buffer);
	receive_four(s, 2, buffer);
}

/* ---- common part ---- */

typedef void receiver(struct stack *, unsigned char *);

struct plan {
	receiver *receive;
};

/* The send completes in each case, also if the message is discarded. */
static void peek_body(struct process *me, void *argument)
{
	const struct plan *plan = argument;
	struct stack s;
	unsigned char *buffer = malloc(LONG_BYTES);
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		content_fill(buffer, LONG_BYTES, 1);
		send_four(&s, buffer);
		sent_four(&s);
	} else {
		plan->receive(&s, buffer);
		cq_expect_none(s.rxcq);
	}
	stack_leave(&s, me);
	free(buffer);
}

static void peeking_receives_nothing(void **state)
{
	(void)state;
	group_run(2, peek_body, &(struct plan){ peeks });
}

static void claimed_messages_can_be_received(void **state)
{
	(void)state;
	group_run(2, peek_body, &(struct plan){ claims });
}

static void claimed_messages_can_be_discarded(void **state)
{
	(void)state;
	group_run(2, peek_body, &(struct plan){ claims_and_discards });
}

static void found_messages_can_be_discarded(void **state)
{
	(void)state;
	group_run(2, peek_body, &(struct plan){ discards });
}

/* A posted receive takes precedence over a peek; a wrong claim is an error. */
static void wrong_body(struct process *me, void *argument)
{
	struct stack s;
	struct fi_context never = { { NULL } };
	uint64_t to = 0;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	MUST(&s, fi_trecv(s.ep, &to, sizeof(to), NULL, s.peers[0], 1, 0, &to));
	MUST(&s, fi_tinject(s.ep, "12345678", 8, s.peers[0], 1));
	cq_expect(s.rxcq, &to);
	expect_nothing(&s, 1, 0);
	ssize_t r = peek(&s, 1, FI_CLAIM, &never);
	if (r == 0) {
		struct fi_cq_err_entry e;
		cq_next_error(s.rxcq, &e);
	} else {
		assert_true(r != -FI_EAGAIN);
	}
	r = peek(&s, 1, FI_DISCARD, &never);
	assert_true(r < 0 && r != -FI_EAGAIN);
	cq_expect_none(s.rxcq);
	stack_leave(&s, me);
}

static void wrong_claims_are_refused(void **state)
{
	(void)state;
	group_run(1, wrong_body, NULL);
}

/* Claimed and not received: both ends can be closed. */
static void forgotten_body(struct process *me, void *argument)
{
	struct stack s;
	struct fi_context context[4];
	unsigned char *buffer = calloc(1, LONG_BYTES);
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0)
		send_four(&s, buffer);
	else
		for (unsigned i = 0; i < 4; i++)
			find_four(&s, i, i % 3 ? 0 : FI_CLAIM, &context[i]);
	stack_leave(&s, me);
	free(buffer);
}

static void claimed_messages_do_not_prevent_a_close(void **state)
{
	(void)state;
	group_run(2, forgotten_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(peeking_receives_nothing),
		TEST(claimed_messages_can_be_received),
		TEST(claimed_messages_can_be_discarded),
		TEST(found_messages_can_be_discarded),
		TEST(wrong_claims_are_refused),
		TEST(claimed_messages_do_not_prevent_a_close),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
