/* SPDX-License-Identifier: BSD-2-Clause */
/* FI_MULTI_RECV buffers. Rank 0 sends, rank 1 receives. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define CAPS (FI_MSG | FI_TAGGED | FI_MULTI_RECV | FI_SOURCE)

enum {
	BUFFER_BYTES = 64 * 1024,
	MIN_BYTES = 4096,
	LONG_BYTES = 30000,
	MESSAGES = 2000,
};

static ssize_t post_multi(struct stack *s, void *buffer, size_t length)
{
	struct iovec iov = { buffer, length };
	struct fi_msg m = { &iov, NULL, 1, FI_ADDR_UNSPEC, buffer, 0 };
	return fi_recvmsg(s->ep, &m, FI_MULTI_RECV);
}

static void set_min(struct stack *s, size_t bytes)
{
	size_t read = 0, length = sizeof(read);
	assert_int_equal(fi_setopt(&s->ep->fid, FI_OPT_ENDPOINT,
				 FI_OPT_MIN_MULTI_RECV, &bytes, sizeof(bytes)),
		0);
	assert_int_equal(fi_getopt(&s->ep->fid, FI_OPT_ENDPOINT,
				 FI_OPT_MIN_MULTI_RECV, &read, &length),
		0);
	assert_int_equal(length, sizeof(read));
	assert_int_equal(read, bytes);
}

static size_t length_of(unsigned i, bool longs)
{
	static const size_t lengths[] = { 8, 100, 3000, 0, 41, 4096 };
	if (longs && i % 50 == 0)
		return LONG_BYTES;
	return lengths[i % COUNT(lengths)];
}

static void open_multi(
	struct stack *s, struct process *me, const struct options *o)
{
	stack_open(s, o);
	assert_true(s->info->caps & FI_MULTI_RECV);
	set_min(s, MIN_BYTES);
	stack_join(s, me);
}

/* ---- two buffers in turn ---- */

struct plan {
	bool longs;
	bool unexpected;
};

static void multi_send(struct stack *s, const struct plan *p)
{
	static unsigned char buffers[MESSAGES][LONG_BYTES];
	for (unsigned i = 0; i < MESSAGES; i++) {
		size_t length = length_of(i, p->longs);
		content_fill(buffers[i], length, i);
		MUST(s, fi_send(s->ep, buffers[i], length, NULL, s->peers[1],
				s));
	}
	for (unsigned i = 0; i < MESSAGES; i++)
		cq_expect(s->txcq, s);
}

/* Messages are in the buffer, one behind the other. */
static void multi_check(const struct fi_cq_tagged_entry *e, unsigned i,
	size_t length, unsigned char (*buffers)[BUFFER_BYTES])
{
	unsigned char *buffer = e->op_context, *at = e->buf;
	assert_true(buffer == buffers[0] || buffer == buffers[1]);
	assert_true(at >= buffer && at + e->len <= buffer + BUFFER_BYTES);
	assert_int_equal(e->len, length);
	assert_true(content_fits(at, length, i));
}

/* A rendezvous message may complete after an eager one behind it. */
static unsigned multi_which(
	const struct fi_cq_tagged_entry *e, bool *seen, const struct plan *p)
{
	for (unsigned i = 0; i < MESSAGES; i++)
		if (!seen[i] && e->len == length_of(i, p->longs) &&
			content_fits(e->buf, e->len, i)) {
			seen[i] = true;
			return i;
		}
	fail_msg("a message that was sent");
	return 0;
}

static void multi_receive(struct stack *s, const struct plan *p)
{
	static unsigned char buffers[2][BUFFER_BYTES];
	static bool seen[MESSAGES];
	struct fi_cq_tagged_entry e;
	unsigned released = 0, messages = 0;
	for (unsigned i = 0; i < 2; i++)
		MUST(s, post_multi(s, buffers[i], BUFFER_BYTES));
	while (messages < MESSAGES) {
		cq_next(s->rxcq, &e);
		if (e.flags & FI_RECV && !(e.flags & FI_MULTI_RECV && !e.buf)) {
			unsigned i = p->longs ? multi_which(&e, seen, p)
					      : messages;
			multi_check(&e, i, length_of(i, p->longs), buffers);
			messages++;
		}
		if (e.flags & FI_MULTI_RECV) {
			released++;
			MUST(s, post_multi(s, e.op_context, BUFFER_BYTES));
		}
	}
	assert_true(released > 10);
}

static void multi_body(struct process *me, void *argument)
{
	const struct plan *p = argument;
	struct stack s;
	open_multi(&s, me, &(struct options){ .caps = CAPS });
	/* A buffer is released when the next message might not fit. */
	if (p->longs)
		set_min(&s, LONG_BYTES);
	if (me->rank == 0) {
		multi_send(&s, p);
	} else {
		if (p->unexpected)
			nap_ns(20 * NS_PER_MS);
		multi_receive(&s, p);
		/* A posted buffer is released by cancel or close. */
		cq_expect_none(s.rxcq);
	}
	stack_leave(&s, me);
}

static void buffers_receive_many_messages(void **state)
{
	(void)state;
	group_run(2, multi_body, &(struct plan){ false, false });
	group_run(2, multi_body, &(struct plan){ false, true });
}

static void buffers_receive_rendezvous_messages(void **state)
{
	(void)state;
	group_run(2, multi_body, &(struct plan){ true, false });
	group_run(2, multi_body, &(struct plan){ true, true });
}

/* ---- FI_MULTI_RECV in the last completion ---- */

static void last_receive(struct stack *s, struct process *me)
{
	static unsigned char buffer[3 * MIN_BYTES];
	struct fi_cq_tagged_entry e;
	MUST(s, post_multi(s, buffer, sizeof(buffer)));
	process_barrier(me, s);
	for (unsigned i = 0; i < 3; i++) {
		cq_next(s->rxcq, &e);
		assert_true(e.op_context == buffer);
		assert_int_equal(e.len, 3000);
		assert_int_equal((e.flags & FI_MULTI_RECV) != 0, i == 2);
	}
	/* The fourth message did not fit. */
	cq_expect_none(s->rxcq);
	MUST(s, fi_recv(s->ep, buffer, sizeof(buffer), NULL, FI_ADDR_UNSPEC,
			s));
	cq_expect(s->rxcq, s);
}

static void last_body(struct process *me, void *argument)
{
	static unsigned char from[3000];
	struct stack s;
	open_multi(&s, me, argument);
	if (me->rank == 1) {
		last_receive(&s, me);
	} else {
		process_barrier(me, &s);
		for (unsigned i = 0; i < 4; i++)
			MUST(&s, fi_inject(
					 s.ep, from, sizeof(from), s.peers[1]));
	}
	stack_leave(&s, me);
}

static void the_last_completion_has_the_flag(void **state)
{
	(void)state;
	group_run(2, last_body, &(struct options){ .caps = CAPS });
}

/* With FI_MULTI_RECV in op_flags it applies to plain receives. */
static void implied_body(struct process *me, void *argument)
{
	static unsigned char buffer[3 * MIN_BYTES];
	struct stack s;
	(void)argument;
	open_multi(&s, me,
		&(struct options){ .caps = CAPS, .rx_flags = FI_MULTI_RECV });
	if (me->rank == 1)
		MUST(&s, fi_recv(s.ep, buffer, sizeof(buffer), NULL,
				 FI_ADDR_UNSPEC, buffer));
	process_barrier(me, &s);
	for (unsigned i = 0; i < 3; i++)
		if (me->rank == 1)
			cq_expect(s.rxcq, buffer);
		else
			MUST(&s, fi_inject(s.ep, buffer, 3000, s.peers[1]));
	stack_leave(&s, me);
}

static void the_flag_can_be_implied(void **state)
{
	(void)state;
	group_run(2, implied_body, NULL);
}

/* ---- truncation and cancel ---- */

static void cut_receive(struct stack *s, struct process *me)
{
	static unsigned char buffer[MIN_BYTES + 100];
	struct fi_cq_err_entry e;
	MUST(s, post_multi(s, buffer, sizeof(buffer)));
	process_barrier(me, s);
	/* The buffer has the minimum left, but not enough for this message. */
	assert_int_equal(cq_next_error(s->rxcq, &e), FI_ETRUNC);
	assert_true(e.op_context == buffer);
	assert_int_equal(e.olen, 8000 - sizeof(buffer));
	MUST(s, post_multi(s, buffer, sizeof(buffer)));
	assert_int_equal(fi_cancel(&s->ep->fid, buffer), 0);
	assert_int_equal(cq_next_error(s->rxcq, &e), FI_ECANCELED);
	assert_true(e.op_context == buffer);
	cq_expect_none(s->rxcq);
}

static void cut_body(struct process *me, void *argument)
{
	static unsigned char from[8000];
	struct stack s;
	(void)argument;
	open_multi(&s, me, &(struct options){ .caps = CAPS });
	if (me->rank == 1) {
		cut_receive(&s, me);
	} else {
		process_barrier(me, &s);
		MUST(&s, fi_send(s.ep, from, sizeof(from), NULL, s.peers[1],
				 from));
	}
	stack_leave(&s, me);
}

static void long_messages_are_truncated(void **state)
{
	(void)state;
	group_run(2, cut_body, NULL);
}

/* ---- the option changes while a rendezvous message is in flight ---- */

#define SLOW_BYTES (32ul << 20)

/* A posted buffer keeps the value with which it was posted. */
static void option_receive(struct stack *s, struct process *me, size_t later)
{
	unsigned char *buffer = malloc(SLOW_BYTES + 3 * MIN_BYTES);
	struct fi_cq_tagged_entry e;
	assert_true(buffer != NULL);
	MUST(s, post_multi(s, buffer, SLOW_BYTES + 3 * MIN_BYTES));
	process_barrier(me, s);
	process_barrier(me, NULL);
	stack_progress(s);
	set_min(s, later);
	cq_next(s->rxcq, &e);
	assert_int_equal(e.len, SLOW_BYTES);
	assert_true(!(e.flags & FI_MULTI_RECV));
	process_barrier(me, s);
	cq_next(s->rxcq, &e);
	assert_int_equal(e.len, 3000);
	assert_true(!(e.flags & FI_MULTI_RECV));
	cq_next(s->rxcq, &e);
	assert_int_equal(e.len, 6000);
	assert_true(e.flags & FI_MULTI_RECV);
	cq_expect_none(s->rxcq);
	free(buffer);
}

static void option_send(struct stack *s, struct process *me)
{
	unsigned char *from = calloc(1, SLOW_BYTES);
	assert_true(from != NULL);
	process_barrier(me, s);
	MUST(s, fi_send(s->ep, from, SLOW_BYTES, NULL, s->peers[1], from));
	process_barrier(me, NULL);
	cq_expect(s->txcq, from);
	process_barrier(me, s);
	MUST(s, fi_inject(s->ep, from, 3000, s->peers[1]));
	MUST(s, fi_send(s->ep, from, 6000, NULL, s->peers[1], from));
	cq_expect(s->txcq, from);
	free(from);
}

static void option_body(struct process *me, void *argument)
{
	struct stack s;
	open_multi(&s, me, &(struct options){ .caps = CAPS });
	if (me->rank == 1)
		option_receive(&s, me, *(size_t *)argument);
	else
		option_send(&s, me);
	stack_leave(&s, me);
}

static void the_option_is_for_later_receives(void **state)
{
	(void)state;
	group_run(2, option_body, &(size_t){ 4 * MIN_BYTES });
	group_run(2, option_body, &(size_t){ 1 });
}

/* ---- from a peer that is gone ---- */

/* It receives the held messages and is then released without one. */
static void legacy_receive(struct stack *s)
{
	static unsigned char buffer[8 * MIN_BYTES];
	struct iovec iov = { buffer, sizeof(buffer) };
	struct fi_msg m = { &iov, NULL, 1, s->peers[0], buffer, 0 };
	struct fi_cq_tagged_entry e;
	MUST(s, fi_recvmsg(s->ep, &m, FI_MULTI_RECV));
	for (unsigned i = 0; i < 2; i++) {
		cq_next(s->rxcq, &e);
		assert_int_equal(e.len, 100);
		assert_true(e.flags & FI_RECV && !(e.flags & FI_MULTI_RECV));
	}
	cq_next(s->rxcq, &e);
	assert_true(e.op_context == buffer);
	assert_int_equal(e.flags, FI_MULTI_RECV);
	cq_expect_none(s->rxcq);
}

static void legacy_body(struct process *me, void *argument)
{
	static unsigned char from[100];
	struct stack s;
	(void)argument;
	open_multi(
		&s, me, &(struct options){ .caps = CAPS | FI_DIRECTED_RECV });
	if (me->rank == 0) {
		for (unsigned i = 0; i < 2; i++)
			MUST(&s, fi_inject(
					 s.ep, from, sizeof(from), s.peers[1]));
		stack_close(&s);
		process_barrier(me, NULL);
	} else {
		process_barrier(me, &s);
		cq_expect_none(s.rxcq);
		legacy_receive(&s);
		stack_close(&s);
	}
}

static void buffers_from_the_dead_are_released(void **state)
{
	(void)state;
	group_run(2, legacy_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(buffers_receive_many_messages),
		TEST(buffers_receive_rendezvous_messages),
		TEST(the_last_completion_has_the_flag),
		TEST(the_flag_can_be_implied),
		TEST(long_messages_are_truncated),
		TEST(the_option_is_for_later_receives),
		TEST(buffers_from_the_dead_are_released),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
