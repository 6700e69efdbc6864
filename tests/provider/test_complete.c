/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When operations complete, and which are reported: selective completion,
 * completion levels, cancelled receives. Rank 0 sends.
 */
#include <stdlib.h>

#include "harness.h"

#define LONG_BYTES 500000ul

static ssize_t send_flags(
	struct stack *s, const void *buffer, size_t length, uint64_t flags)
{
	struct iovec iov = { (void *)buffer, length };
	struct fi_msg m = { &iov, NULL, 1, s->peers[1], (void *)buffer, 0 };
	return fi_sendmsg(s->ep, &m, flags);
}

static ssize_t tsend_flags(
	struct stack *s, const void *buffer, size_t length, uint64_t flags)
{
	struct iovec iov = { (void *)buffer, length };
	struct fi_msg_tagged m = { &iov, NULL, 1, s->peers[1], 1, 0,
		(void *)buffer, 0 };
	return fi_tsendmsg(s->ep, &m, flags);
}

static ssize_t recv_flags(
	struct stack *s, void *buffer, size_t length, uint64_t flags)
{
	struct iovec iov = { buffer, length };
	struct fi_msg m = { &iov, NULL, 1, FI_ADDR_UNSPEC, buffer, 0 };
	return fi_recvmsg(s->ep, &m, flags);
}

/* ---- selective completion of sends ---- */

static const size_t lengths[] = { 8, 4096, LONG_BYTES };

static void selective_send(struct stack *s, unsigned char *buffer)
{
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		MUST(s, fi_send(s->ep, buffer, lengths[i], NULL, s->peers[1],
				buffer));
		MUST(s, send_flags(s, buffer, lengths[i], 0));
		MUST(s, send_flags(s, buffer + 1, lengths[i], FI_COMPLETION));
		cq_expect(s->txcq, buffer + 1);
	}
	cq_expect_none(s->txcq);
}

static void plain_receive(struct stack *s, unsigned char *buffer)
{
	for (unsigned i = 0; i < 3 * COUNT(lengths); i++) {
		MUST(s, fi_recv(s->ep, buffer, LONG_BYTES, NULL, FI_ADDR_UNSPEC,
				buffer));
		cq_expect(s->rxcq, buffer);
	}
}

static void selective_tx_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *buffer = calloc(1, LONG_BYTES + 1);
	stack_open(&s, argument);
	stack_join(&s, me);
	if (me->rank == 0)
		selective_send(&s, buffer);
	else
		plain_receive(&s, buffer);
	stack_leave(&s, me);
	free(buffer);
}

static void selective_sends_complete_on_request(void **state)
{
	(void)state;
	group_run(2, selective_tx_body,
		&(struct options){ .tx_bind = FI_SELECTIVE_COMPLETION });
}

/* Bound selectively, FI_COMPLETION in op_flags makes plain calls complete. */
static void implied_body(struct process *me, void *argument)
{
	struct stack s;
	char buffer[8] = { 0 };
	stack_open(&s, argument);
	stack_join(&s, me);
	if (me->rank == 0) {
		MUST(&s, fi_send(s.ep, buffer, 8, NULL, s.peers[1], buffer));
		cq_expect(s.txcq, buffer);
		MUST(&s, send_flags(&s, buffer, 8, 0));
		MUST(&s, fi_inject(s.ep, buffer, 8, s.peers[1]));
		cq_expect_none(s.txcq);
	} else {
		for (unsigned i = 0; i < 3; i++) {
			MUST(&s, fi_recv(s.ep, buffer, 8, NULL, FI_ADDR_UNSPEC,
					 buffer));
			cq_expect(s.rxcq, buffer);
		}
	}
	stack_leave(&s, me);
}

static void endpoint_flags_are_implied(void **state)
{
	(void)state;
	group_run(2, implied_body,
		&(struct options){ .tx_bind = FI_SELECTIVE_COMPLETION,
			.tx_flags = FI_COMPLETION });
}

/* ---- selective completion of receives ---- */

static void selective_receive(struct stack *s, struct process *me)
{
	struct fi_cq_err_entry error;
	unsigned char to[4][16];
	MUST(s, fi_recv(s->ep, to[0], 16, NULL, FI_ADDR_UNSPEC, to[0]));
	MUST(s, recv_flags(s, to[1], 16, 0));
	MUST(s, recv_flags(s, to[2], 16, FI_COMPLETION));
	/* Errors are always reported. */
	MUST(s, recv_flags(s, to[3], 3, 0));
	process_barrier(me, s);
	cq_expect(s->rxcq, to[2]);
	assert_int_equal(cq_next_error(s->rxcq, &error), FI_ETRUNC);
	assert_true(error.op_context == to[3]);
	cq_expect_none(s->rxcq);
	for (unsigned i = 0; i < 3; i++)
		assert_true(content_fits(to[i], 16, i));
}

static void selective_rx_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ .rx_bind = FI_SELECTIVE_COMPLETION });
	stack_join(&s, me);
	if (me->rank == 1) {
		selective_receive(&s, me);
	} else {
		process_barrier(me, &s);
		for (unsigned i = 0; i < 4; i++) {
			unsigned char buffer[16];
			content_fill(buffer, 16, i);
			MUST(&s, fi_inject(s.ep, buffer, 16, s.peers[1]));
		}
	}
	stack_leave(&s, me);
}

static void selective_receives_complete_on_request(void **state)
{
	(void)state;
	group_run(2, selective_rx_body, NULL);
}

/* ---- levels ---- */

struct level {
	uint64_t flags;
	bool waits; /* for the receive */
	bool tagged;
};

static void level_send(struct stack *s, struct process *me,
	const struct level *l, unsigned char *buffer, size_t length)
{
	ssize_t (*send)(struct stack *, const void *, size_t, uint64_t) =
		l->tagged ? tsend_flags : send_flags;
	MUST(s, send(s, buffer, length, l->flags));
	if (l->waits)
		cq_expect_none(s->txcq);
	else if (length < LONG_BYTES)
		cq_expect(s->txcq, buffer);
	process_barrier(me, s);
	if (l->waits || length == LONG_BYTES)
		cq_expect(s->txcq, buffer);
}

static void level_receive(struct stack *s, struct process *me,
	const struct level *l, unsigned char *buffer)
{
	process_barrier(me, s);
	if (l->tagged)
		MUST(s, fi_trecv(s->ep, buffer, LONG_BYTES, NULL,
				FI_ADDR_UNSPEC, 1, 0, buffer));
	else
		MUST(s, fi_recv(s->ep, buffer, LONG_BYTES, NULL, FI_ADDR_UNSPEC,
				buffer));
	cq_expect(s->rxcq, buffer);
}

static void level_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *buffer = calloc(1, LONG_BYTES);
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned i = 0; i < COUNT(lengths); i++)
		if (me->rank == 0)
			level_send(&s, me, argument, buffer, lengths[i]);
		else
			level_receive(&s, me, argument, buffer);
	stack_leave(&s, me);
	free(buffer);
}

/* Delivery completes only after the message was received. */
static void completion_levels_are_honoured(void **state)
{
	static const struct level levels[] = {
		{ FI_INJECT_COMPLETE, false, false },
		{ FI_TRANSMIT_COMPLETE, false, true },
		{ FI_DELIVERY_COMPLETE, true, false },
		{ FI_DELIVERY_COMPLETE, true, true },
	};
	(void)state;
	for (unsigned i = 0; i < COUNT(levels); i++)
		group_run(2, level_body, (void *)&levels[i]);
}

/* As a default of the endpoint. */
static void delivery_body(struct process *me, void *argument)
{
	struct stack s;
	char buffer[8] = { 0 };
	(void)argument;
	stack_open(&s, &(struct options){ .tx_flags = FI_DELIVERY_COMPLETE });
	assert_true(s.info->tx_attr->op_flags & FI_DELIVERY_COMPLETE);
	stack_join(&s, me);
	if (me->rank == 0) {
		MUST(&s, fi_send(s.ep, buffer, 8, NULL, s.peers[1], buffer));
		cq_expect_none(s.txcq);
		process_barrier(me, &s);
		cq_expect(s.txcq, buffer);
	} else {
		process_barrier(me, &s);
		MUST(&s,
			fi_recv(s.ep, buffer, 8, NULL, FI_ADDR_UNSPEC, buffer));
		cq_expect(s.rxcq, buffer);
	}
	stack_leave(&s, me);
}

static void delivery_can_be_implied(void **state)
{
	(void)state;
	group_run(2, delivery_body, NULL);
}

/* ---- cancel ---- */

static void expect_cancelled(struct stack *s, void *context)
{
	struct fi_cq_err_entry e;
	assert_int_equal(cq_next_error(s->rxcq, &e), FI_ECANCELED);
	assert_true(e.op_context == context);
}

static void cancel_receive(struct stack *s, struct process *me)
{
	char to[4][8];
	for (unsigned i = 0; i < 4; i++)
		MUST(s, fi_trecv(s->ep, to[i], 8, NULL, FI_ADDR_UNSPEC, 4, 0,
				to[i]));
	MUST(s, fi_recv(s->ep, to, 8, NULL, FI_ADDR_UNSPEC, s));
	assert_int_equal(fi_cancel(&s->ep->fid, to[0]), 0);
	expect_cancelled(s, to[0]);
	assert_int_equal(fi_cancel(&s->ep->fid, to[2]), 0);
	expect_cancelled(s, to[2]);
	assert_int_equal(fi_cancel(&s->ep->fid, s), 0);
	expect_cancelled(s, s);
	ssize_t r = fi_cancel(&s->ep->fid, to[2]);
	assert_true(r == 0 || r == -FI_ENOENT);
	process_barrier(me, s);
	cq_expect(s->rxcq, to[1]);
	cq_expect(s->rxcq, to[3]);
	r = fi_cancel(&s->ep->fid, to[1]);
	assert_true(r == 0 || r == -FI_ENOENT);
	cq_expect_none(s->rxcq);
}

static void cancel_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 1) {
		cancel_receive(&s, me);
	} else {
		process_barrier(me, &s);
		MUST(&s, fi_tinject(s.ep, &s, 8, s.peers[1], 4));
		MUST(&s, fi_tinject(s.ep, &s, 8, s.peers[1], 4));
	}
	stack_leave(&s, me);
}

static void cancelled_receives_match_nothing(void **state)
{
	(void)state;
	group_run(2, cancel_body, NULL);
}

/* ---- fences ---- */

static void fence_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *buffer = calloc(1, LONG_BYTES + 1);
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		MUST(&s, tsend_flags(&s, buffer, LONG_BYTES, FI_COMPLETION));
		/* It is not received yet. */
		assert_int_equal(
			tsend_flags(&s, buffer + 1, 8, FI_FENCE), -FI_EAGAIN);
		process_barrier(me, &s);
		MUST(&s, tsend_flags(
				 &s, buffer + 1, 8, FI_FENCE | FI_COMPLETION));
		cq_expect(s.txcq, buffer);
		cq_expect(s.txcq, buffer + 1);
	} else {
		process_barrier(me, &s);
		for (unsigned i = 0; i < 2; i++) {
			MUST(&s, fi_trecv(s.ep, buffer, LONG_BYTES, NULL,
					 s.peers[0], 1, 0, buffer));
			cq_expect(s.rxcq, buffer);
		}
	}
	stack_leave(&s, me);
	free(buffer);
}

static void fenced_sends_wait(void **state)
{
	(void)state;
	group_run(2, fence_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(selective_sends_complete_on_request),
		TEST(endpoint_flags_are_implied),
		TEST(selective_receives_complete_on_request),
		TEST(completion_levels_are_honoured),
		TEST(delivery_can_be_implied),
		TEST(cancelled_receives_match_nothing),
		TEST(fenced_sends_wait),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
