/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rendezvous messages with co-copy: a sender that makes no progress does not
 * delay the receiver, the death of one end ends all operations of the other,
 * and a completed buffer is not written any more.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#if HARNESS_ADDRESS
#include <sanitizer/lsan_interface.h>
#endif

#define MIB (1ul << 20)

enum {
	MANY = 150, /* more than a receiver has claim words */
	MANY_BYTES = 300000,
	CLOSING = 40, /* as many as fit without progress */
	DYING = 6,
};

static unsigned char *buffer_new(size_t bytes)
{
	unsigned char *memory = malloc(bytes);
	assert_true(memory != NULL);
	return memory;
}

/* ---- one message into various buffers ---- */

struct shape {
	size_t sent, received; /* bytes */
	unsigned from, into;   /* segments */
	bool unexpected;
};

static const struct shape shapes[] = {
	{ 256 * 1024 - 1, 256 * 1024 - 1, 1, 1, false },
	{ 256 * 1024, 256 * 1024, 1, 1, false },
	{ 256 * 1024 + 1, 256 * 1024 + 1, 1, 1, true },
	{ MIB + 3, 2 * MIB, 1, 1, false },
	{ 9 * MIB + 5, 9 * MIB + 5, 1, 1, true },
	{ 2 * MIB, MIB + 77, 1, 1, false },
	{ 2 * MIB, MIB + 77, 1, 1, true },
	{ 2 * MIB, 0, 1, 1, false },
	{ 2 * MIB + 1, 2 * MIB + 1, 1, 5, false },
	{ 2 * MIB + 1, 2 * MIB + 1, 3, 1, true },
	{ 2 * MIB + 1, MIB + 1, 4, 3, false },
};

/* In segments, the last of which is the longest. */
static unsigned cut(
	void *memory, size_t bytes, unsigned pieces, struct iovec *iov)
{
	size_t each = bytes / (2 * pieces), at = 0;
	for (unsigned i = 0; i < pieces; i++) {
		size_t here = i + 1 < pieces ? each : bytes - at;
		iov[i] = (struct iovec){ (char *)memory + at, here };
		at += here;
	}
	return pieces;
}

static void shape_send(
	struct stack *s, struct process *me, const struct shape *h)
{
	unsigned char *from = buffer_new(h->sent);
	struct iovec iov[8];
	content_fill(from, h->sent, h->sent);
	cut(from, h->sent, h->from, iov);
	if (!h->unexpected)
		process_barrier(me, s);
	MUST(s, fi_tsendv(s->ep, iov, NULL, h->from, s->peers[1], 1, from));
	if (h->unexpected)
		process_barrier(me, s);
	cq_expect(s->txcq, from);
	free(from);
}

static void shape_check(struct stack *s, const struct shape *h, void *to)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry error;
	if (h->sent <= h->received) {
		cq_next(s->rxcq, &e);
		assert_true(e.op_context == to);
		assert_int_equal(e.len, h->sent);
		return;
	}
	assert_int_equal(cq_next_error(s->rxcq, &error), FI_ETRUNC);
	assert_true(error.op_context == to);
	assert_int_equal(error.len, h->received);
	assert_int_equal(error.olen, h->sent - h->received);
}

static void shape_receive(
	struct stack *s, struct process *me, const struct shape *h)
{
	static const unsigned char behind[64] = "nothing is written here";
	unsigned char *to = buffer_new(h->received + sizeof(behind));
	unsigned char *expected = buffer_new(h->sent);
	size_t bytes = h->sent < h->received ? h->sent : h->received;
	struct iovec iov[8];
	memcpy(to + h->received, behind, sizeof(behind));
	content_fill(expected, h->sent, h->sent);
	cut(to, h->received, h->into, iov);
	if (h->unexpected)
		process_barrier(me, s);
	MUST(s, fi_trecvv(s->ep, iov, NULL, h->into, s->peers[0], 1, 0, to));
	if (!h->unexpected)
		process_barrier(me, s);
	shape_check(s, h, to);
	assert_int_equal(memcmp(to, expected, bytes), 0);
	assert_int_equal(memcmp(to + h->received, behind, sizeof(behind)), 0);
	free(expected);
	free(to);
}

static void shapes_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned i = 0; i < COUNT(shapes); i++)
		if (me->rank == 0)
			shape_send(&s, me, &shapes[i]);
		else
			shape_receive(&s, me, &shapes[i]);
	cq_expect_none(s.txcq);
	cq_expect_none(s.rxcq);
	stack_leave(&s, me);
}

static void all_buffer_shapes_work(void **state)
{
	(void)state;
	group_run(2, shapes_body, NULL);
}

/* ---- to the own endpoint ---- */

static void self_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *from = buffer_new(3 * MIB), *to = buffer_new(3 * MIB);
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	content_fill(from, 3 * MIB, 4);
	MUST(&s, fi_tsend(s.ep, from, 3 * MIB, NULL, s.peers[0], 1, from));
	MUST(&s, fi_trecv(s.ep, to, 3 * MIB, NULL, s.peers[0], 1, 0, to));
	cq_expect(s.rxcq, to);
	cq_expect(s.txcq, from);
	assert_true(content_fits(to, 3 * MIB, 4));
	stack_close(&s);
	free(from);
	free(to);
}

static void an_endpoint_can_send_to_itself(void **state)
{
	(void)state;
	group_run(1, self_body, NULL);
}

/* ---- a sender that makes no progress ---- */

static void away_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *buffer = buffer_new(4 * MIB);
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		content_fill(buffer, 4 * MIB, 8);
		MUST(&s, fi_tsend(s.ep, buffer, 4 * MIB, NULL, s.peers[1], 1,
				 buffer));
		process_barrier(me, NULL);
		cq_expect(s.txcq, buffer);
	} else {
		MUST(&s, fi_trecv(s.ep, buffer, 4 * MIB, NULL, s.peers[0], 1, 0,
				 buffer));
		cq_expect(s.rxcq, buffer);
		assert_true(content_fits(buffer, 4 * MIB, 8));
		process_barrier(me, &s);
	}
	stack_leave(&s, me);
	free(buffer);
}

static void the_receiver_can_copy_alone(void **state)
{
	(void)state;
	group_run(2, away_body, NULL);
}

/* ---- many, in both directions ---- */

struct exchange {
	struct stack *s;
	unsigned peer;
	unsigned char *from, *to;
};

static void many_send(const struct exchange *x, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned char *from = x->from + i * MANY_BYTES;
		MUST(x->s, fi_tsend(x->s->ep, from, MANY_BYTES, NULL,
				   x->s->peers[x->peer], i, from));
	}
}

static void many_receive(const struct exchange *x, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned char *to = x->to + i * MANY_BYTES;
		MUST(x->s, fi_trecv(x->s->ep, to, MANY_BYTES, NULL,
				   x->s->peers[x->peer], i, 0, to));
	}
}

static void many_check(const struct exchange *x)
{
	struct fi_cq_tagged_entry e;
	for (unsigned i = 0; i < MANY; i++) {
		cq_next(x->s->rxcq, &e);
		assert_int_equal(e.len, MANY_BYTES);
		assert_true(e.op_context == x->to + e.tag * MANY_BYTES);
		assert_true(content_fits(e.op_context, MANY_BYTES,
			e.tag * PROCESSES_MAX + x->peer));
	}
	for (unsigned i = 0; i < MANY; i++)
		cq_next(x->s->txcq, &e);
	cq_expect_none(x->s->txcq);
	cq_expect_none(x->s->rxcq);
}

static void exchange_open(
	struct exchange *x, struct stack *s, struct process *me)
{
	*x = (struct exchange){ .s = s,
		.peer = 1 - me->rank,
		.from = buffer_new(MANY * MANY_BYTES),
		.to = buffer_new(MANY * MANY_BYTES) };
	for (unsigned i = 0; i < MANY; i++)
		content_fill(x->from + i * MANY_BYTES, MANY_BYTES,
			i * PROCESSES_MAX + me->rank);
	stack_open(s, &(struct options){ 0 });
	stack_join(s, me);
}

static void exchange_free(struct exchange *x)
{
	free(x->from);
	free(x->to);
}

static void many_body(struct process *me, void *argument)
{
	struct stack s;
	struct exchange x;
	bool early = *(bool *)argument;
	exchange_open(&x, &s, me);
	if (early)
		many_receive(&x, MANY);
	many_send(&x, MANY);
	if (!early)
		many_receive(&x, MANY);
	many_check(&x);
	stack_leave(&s, me);
	exchange_free(&x);
}

static void many_cross(void **state)
{
	(void)state;
	group_run(2, many_body, &(bool){ true });
	group_run(2, many_body, &(bool){ false });
}

/* ---- death, of either end, in the middle ---- */

static void *dying_place(unsigned char *buffer, unsigned i)
{
	return buffer + i * 2 * MIB;
}

static void dying_post(struct stack *s, struct process *me,
	unsigned char *buffer, bool receives)
{
	unsigned peer = 1 - me->rank;
	for (unsigned i = 0; i < DYING; i++)
		if (receives)
			MUST(s, fi_trecv(s->ep, dying_place(buffer, i), 2 * MIB,
					NULL, s->peers[peer], i, 0,
					dying_place(buffer, i)));
		else
			MUST(s, fi_tsend(s->ep, dying_place(buffer, i), 2 * MIB,
					NULL, s->peers[peer], i,
					dying_place(buffer, i)));
}

/* Each ends once: with all data, or with an error; then the buffer is free. */
static void dying_reap(
	struct fid_cq *cq, unsigned char *buffer, bool ended[DYING])
{
	struct fi_cq_tagged_entry e = { 0 };
	struct fi_cq_err_entry error = { 0 };
	ssize_t r = fi_cq_read(cq, &e, 1);
	if (r == -FI_EAGAIN)
		return;
	if (r == -FI_EAVAIL)
		assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	unsigned char *at = r == 1 ? e.op_context : error.op_context;
	size_t i = (size_t)(at - buffer) / (2 * MIB);
	assert_true(i < DYING && !ended[i]);
	ended[i] = true;
	if (r == 1)
		assert_true(content_fits(at, 2 * MIB, i));
	else
		content_fill(at, 2 * MIB, i);
}

static bool dying_over(const bool ended[DYING])
{
	for (unsigned i = 0; i < DYING; i++)
		if (!ended[i])
			return false;
	return true;
}

/* Rank 0 survives. */
static void dying_body(struct process *me, void *argument)
{
	struct stack s;
	bool receives = *(bool *)argument == (me->rank == 0);
	bool ended[DYING] = { false };
	unsigned char *buffer = buffer_new(DYING * 2 * MIB);
	memset(buffer, 0, DYING * 2 * MIB);
	for (unsigned i = 0; i < DYING && !receives; i++)
		content_fill(dying_place(buffer, i), 2 * MIB, i);
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	dying_post(&s, me, buffer, receives);
	child_send(me->parent, 1);
	uint64_t deadline = soon();
	while (me->rank == 1 || !dying_over(ended)) {
		dying_reap(receives ? s.rxcq : s.txcq, buffer, ended);
		assert_true(now_ns() < deadline);
	}
	cq_expect_none(s.rxcq);
	for (unsigned i = 0; i < DYING; i++)
		assert_true(content_fits(dying_place(buffer, i), 2 * MIB, i));
	stack_close(&s);
	free(buffer);
}

static void dying_run(bool receives)
{
	struct random r = { 41 };
	for (uint64_t i = 0; i < scaled(15); i++) {
		struct group c;
		group_start(&c, 2, dying_body, &receives);
		for (unsigned rank = 0; rank < 2; rank++)
			child_receive(&c.children[rank]);
		nap_ns(random_below(&r, 4 * NS_PER_MS));
		group_kill(&c, 1);
		group_join(&c);
	}
}

static void senders_may_die(void **state)
{
	(void)state;
	dying_run(true);
}

static void receivers_may_die(void **state)
{
	(void)state;
	dying_run(false);
}

/* ---- closing with messages in flight ---- */

static void check_no_leaks(void)
{
#if HARNESS_ADDRESS
	assert_int_equal(__lsan_do_recoverable_leak_check(), 0);
#endif
}

static void closing_body(struct process *me, void *argument)
{
	struct stack s;
	struct exchange x;
	(void)argument;
	exchange_open(&x, &s, me);
	many_receive(&x, CLOSING);
	many_send(&x, CLOSING);
	process_barrier(me, NULL);
	for (unsigned i = 0; i < 2; i++)
		stack_progress(&s);
	stack_close(&s);
	/* The buffer belongs to the application again. */
	memset(x.to, 2, CLOSING * MANY_BYTES);
	process_barrier(me, NULL);
	for (size_t i = 0; i < CLOSING * MANY_BYTES; i++)
		assert_int_equal(x.to[i], 2);
	exchange_free(&x);
	check_no_leaks();
}

static void all_may_be_closed_in_the_middle(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++)
		group_run(2, closing_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(all_buffer_shapes_work),
		TEST(an_endpoint_can_send_to_itself),
		TEST(the_receiver_can_copy_alone),
		TEST(many_cross),
		TEST(senders_may_die),
		TEST(receivers_may_die),
		TEST(all_may_be_closed_in_the_middle),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
