/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of every size, by every call, with and without a tag, before and
 * after their receive is posted; rank 0 sends, rank 1 receives.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define MIB (1ul << 20)

static const size_t sizes[] = { 0, 1, 8, 32, 33, 40, 41, 4096, 8128, 8129,
	65536, MIB + 3, 64 * MIB };

struct kind {
	bool tagged;
	bool unexpected; /* sent before the receive is posted */
};

static const struct kind kinds[] = {
	{ false, false },
	{ false, true },
	{ true, false },
	{ true, true },
};

static void group_run_kinds(process_body *body)
{
	for (unsigned i = 0; i < COUNT(kinds); i++)
		group_run(2, body, (void *)&kinds[i]);
}

static ssize_t send_one(struct stack *s, bool tagged, const void *buffer,
	size_t length, uint64_t tag, void *context)
{
	if (tagged)
		return fi_tsend(
			s->ep, buffer, length, NULL, s->peers[1], tag, context);
	return fi_send(s->ep, buffer, length, NULL, s->peers[1], context);
}

static ssize_t recv_one(struct stack *s, bool tagged, void *buffer,
	size_t length, uint64_t tag, void *context)
{
	if (tagged)
		return fi_trecv(s->ep, buffer, length, NULL, s->peers[0], tag,
			0, context);
	return fi_recv(s->ep, buffer, length, NULL, s->peers[0], context);
}

static uint64_t kind_flags(bool tagged)
{
	return tagged ? FI_TAGGED : FI_MSG;
}

static void check_sent(struct stack *s, bool tagged, void *context)
{
	struct fi_cq_tagged_entry e;
	cq_next(s->txcq, &e);
	assert_true(e.op_context == context);
	assert_int_equal(e.flags & (FI_SEND | FI_RECV | FI_MSG | FI_TAGGED),
		FI_SEND | kind_flags(tagged));
}

static void check_received(struct stack *s, bool tagged, size_t length,
	uint64_t tag, void *context)
{
	struct fi_cq_tagged_entry e;
	assert_int_equal(cq_next_from(s->rxcq, &e), s->peers[0]);
	assert_true(e.op_context == context);
	assert_int_equal(e.flags & (FI_SEND | FI_RECV | FI_MSG | FI_TAGGED |
					   FI_REMOTE_CQ_DATA | FI_MULTI_RECV),
		FI_RECV | kind_flags(tagged));
	assert_int_equal(e.len, length);
	if (tagged)
		assert_int_equal(e.tag, tag);
}

/* ---- sizes ---- */

static void size_send(struct stack *s, struct process *me, const struct kind *k,
	unsigned char *buffer, unsigned i)
{
	content_fill(buffer, sizes[i], i);
	if (!k->unexpected)
		process_barrier(me, s);
	MUST(s, send_one(s, k->tagged, buffer, sizes[i], i, buffer + i));
	if (k->unexpected)
		process_barrier(me, s);
	check_sent(s, k->tagged, buffer + i);
}

static void size_receive(struct stack *s, struct process *me,
	const struct kind *k, unsigned char *buffer, unsigned i)
{
	memset(buffer, 0xee, sizes[i] + 1);
	if (k->unexpected)
		process_barrier(me, s);
	MUST(s, recv_one(s, k->tagged, buffer, sizes[i], i, buffer + i));
	if (!k->unexpected)
		process_barrier(me, s);
	check_received(s, k->tagged, sizes[i], i, buffer + i);
	assert_true(content_fits(buffer, sizes[i], i));
	assert_int_equal(buffer[sizes[i]], 0xee);
}

static void sizes_body(struct process *me, void *argument)
{
	struct stack s;
	unsigned char *buffer = malloc(64 * MIB + 64);
	assert_true(buffer != NULL);
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		if (me->rank == 0)
			size_send(&s, me, argument, buffer, i);
		else
			size_receive(&s, me, argument, buffer, i);
		process_barrier(me, &s);
	}
	cq_expect_none(s.txcq);
	cq_expect_none(s.rxcq);
	stack_leave(&s, me);
	free(buffer);
}

static void every_size_arrives(void **state)
{
	(void)state;
	group_run_kinds(sizes_body);
}

/* ---- several in flight, in order ---- */

enum {
	SEVERAL = 200
};

static size_t several_length(unsigned i)
{
	static const size_t lengths[] = { 8, 100, 5000, 20000, 0, 300000 };
	return lengths[i % COUNT(lengths)];
}

static void several_send(
	struct stack *s, const struct kind *k, unsigned char (*buffers)[300000])
{
	for (unsigned i = 0; i < SEVERAL; i++) {
		content_fill(buffers[i], several_length(i), i);
		MUST(s, send_one(s, k->tagged, buffers[i], several_length(i), 5,
				buffers[i]));
	}
}

static void several_receive(struct stack *s, struct process *me,
	const struct kind *k, unsigned char (*buffers)[300000])
{
	for (unsigned i = 0; i < SEVERAL; i++)
		MUST(s, recv_one(s, k->tagged, buffers[i], 300000, 5,
				buffers[i]));
	if (!k->unexpected)
		process_barrier(me, s);
	for (unsigned i = 0; i < SEVERAL; i++) {
		struct fi_cq_tagged_entry e;
		cq_next(s->rxcq, &e);
		size_t at = (size_t)((unsigned char(*)[300000])e.op_context -
				     buffers);
		assert_true(at < SEVERAL);
		assert_int_equal(e.len, several_length((unsigned)at));
		assert_true(content_fits(buffers[at], e.len, at));
	}
}

/* The first message matches the first receive, whatever the sizes. */
static void several_body(struct process *me, void *argument)
{
	const struct kind *k = argument;
	struct stack s;
	unsigned char(*buffers)[300000] = malloc(SEVERAL * sizeof(*buffers));
	assert_true(buffers != NULL);
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		if (!k->unexpected)
			process_barrier(me, &s);
		several_send(&s, k, buffers);
		if (k->unexpected)
			process_barrier(me, &s);
		for (unsigned i = 0; i < SEVERAL; i++) {
			struct fi_cq_tagged_entry e;
			cq_next(s.txcq, &e);
		}
	} else {
		if (k->unexpected)
			process_barrier(me, &s);
		several_receive(&s, me, k, buffers);
	}
	stack_leave(&s, me);
	free(buffers);
}

static void messages_stay_in_order(void **state)
{
	(void)state;
	group_run_kinds(several_body);
}

/* ---- segments ---- */

/* Splits a buffer into uneven segments. */
static size_t cut(
	struct iovec *iov, size_t count, unsigned char *buffer, size_t length)
{
	for (size_t i = 0; i < count; i++) {
		size_t part = i + 1 == count ? length : length / (i + 2);
		iov[i] = (struct iovec){ buffer, part };
		/* Gaps between the segments must stay unchanged. */
		buffer += part + 1;
		length -= part;
	}
	return count;
}

static void pieces_fill(const struct iovec *iov, size_t count, uint64_t seed)
{
	unsigned char whole[65536], *at = whole;
	content_fill(whole, sizeof(whole), seed);
	for (size_t i = 0; i < count; at += iov[i++].iov_len)
		memcpy(iov[i].iov_base, at, iov[i].iov_len);
}

static void pieces_check(
	const struct iovec *iov, size_t count, size_t length, uint64_t seed)
{
	unsigned char whole[65536], *at = whole;
	for (size_t i = 0; i < count; at += iov[i++].iov_len)
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
	assert_true(content_fits(whole, length, seed));
}

static ssize_t pieces_send(struct stack *s, bool tagged,
	const struct iovec *iov, size_t count, uint64_t tag)
{
	if (tagged)
		return fi_tsendv(s->ep, iov, NULL, count, s->peers[1], tag, s);
	return fi_sendv(s->ep, iov, NULL, count, s->peers[1], s);
}

static ssize_t pieces_recv(struct stack *s, bool tagged,
	const struct iovec *iov, size_t count, uint64_t tag)
{
	if (tagged)
		return fi_trecvv(
			s->ep, iov, NULL, count, s->peers[0], tag, 0, s);
	return fi_recvv(s->ep, iov, NULL, count, s->peers[0], s);
}

static void pieces_round(struct stack *s, struct process *me,
	const struct kind *k, size_t length, unsigned round)
{
	static unsigned char buffer[65536 + 64];
	size_t limit = me->rank == 0 ? s->info->tx_attr->iov_limit
				     : s->info->rx_attr->iov_limit;
	struct iovec iov[16];
	assert_true(limit >= 2);
	size_t count = 1 + (round + me->rank) % (limit < 16 ? limit : 16);
	cut(iov, count, buffer, length);
	if (me->rank == 0) {
		pieces_fill(iov, count, round);
		MUST(s, pieces_send(s, k->tagged, iov, count, round));
		check_sent(s, k->tagged, s);
		return;
	}
	MUST(s, pieces_recv(s, k->tagged, iov, count, round));
	check_received(s, k->tagged, length, round, s);
	pieces_check(iov, count, length, round);
}

static void pieces_body(struct process *me, void *argument)
{
	static const size_t lengths[] = { 0, 7, 40, 300, 9000, 65536 };
	struct stack s;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned i = 0; i < 8 * COUNT(lengths); i++)
		pieces_round(&s, me, argument, lengths[i % COUNT(lengths)], i);
	stack_leave(&s, me);
}

static void segments_are_gathered_and_scattered(void **state)
{
	(void)state;
	group_run_kinds(pieces_body);
}

/* ---- sendmsg and recvmsg ---- */

static ssize_t msg_send(struct stack *s, bool tagged, struct iovec *iov,
	size_t count, uint64_t data, uint64_t flags)
{
	struct fi_msg m = { iov, NULL, count, s->peers[1], s, data };
	struct fi_msg_tagged t = { iov, NULL, count, s->peers[1], 9, 0, s,
		data };
	return tagged ? fi_tsendmsg(s->ep, &t, flags)
		      : fi_sendmsg(s->ep, &m, flags);
}

static ssize_t msg_recv(struct stack *s, bool tagged, struct iovec *iov,
	size_t count, uint64_t flags)
{
	struct fi_msg m = { iov, NULL, count, s->peers[0], s, 0 };
	struct fi_msg_tagged t = { iov, NULL, count, s->peers[0], 8, 1, s, 0 };
	return tagged ? fi_trecvmsg(s->ep, &t, flags)
		      : fi_recvmsg(s->ep, &m, flags);
}

/* Flags and data that only message structures have. */
static const struct {
	uint64_t data, flags;
	size_t length;
} msgs[] = {
	{ 0, 0, 100 },
	{ 0xffffff, FI_REMOTE_CQ_DATA, 100 },
	{ 0x1000000, FI_REMOTE_CQ_DATA, 30 },
	{ ~0ull, FI_REMOTE_CQ_DATA, 8192 },
	{ 1, FI_REMOTE_CQ_DATA, 50000 },
	{ ~1ull, FI_REMOTE_CQ_DATA, 60000 },
	{ 0, FI_INJECT, 64 },
	{ 7, FI_INJECT | FI_REMOTE_CQ_DATA, 64 },
	{ 0, FI_COMPLETION | FI_TRANSMIT_COMPLETE, 60000 },
	{ ~2ull, FI_DELIVERY_COMPLETE | FI_REMOTE_CQ_DATA, 3 },
	{ 0, FI_DELIVERY_COMPLETE, 60000 },
	{ 0, FI_MORE, 10 },
	{ 0, FI_FENCE, 10 },
};

static void msg_check(struct stack *s, unsigned i, bool tagged)
{
	struct fi_cq_tagged_entry e;
	bool data = msgs[i].flags & FI_REMOTE_CQ_DATA;
	assert_int_equal(cq_next_from(s->rxcq, &e), s->peers[0]);
	assert_true(e.op_context == s);
	assert_int_equal(e.len, msgs[i].length);
	assert_int_equal((e.flags & FI_REMOTE_CQ_DATA) != 0, data);
	if (data)
		assert_int_equal(e.data, msgs[i].data);
	if (tagged)
		assert_int_equal(e.tag, 9);
}

static void msg_round(
	struct stack *s, struct process *me, const struct kind *k, unsigned i)
{
	static unsigned char buffer[65536 + 64];
	struct iovec iov[2];
	cut(iov, 2, buffer, msgs[i].length);
	if (me->rank == 0) {
		pieces_fill(iov, 2, i);
		MUST(s, msg_send(s, k->tagged, iov, 2, msgs[i].data,
				msgs[i].flags));
		if (msgs[i].flags & FI_INJECT)
			memset(buffer, 0, sizeof(buffer));
		check_sent(s, k->tagged, s);
		return;
	}
	MUST(s, msg_recv(s, k->tagged, iov, 2, 0));
	msg_check(s, i, k->tagged);
	pieces_check(iov, 2, msgs[i].length, i);
}

static void msg_body(struct process *me, void *argument)
{
	struct stack s;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned i = 0; i < COUNT(msgs); i++) {
		if (me->rank == 1 &&
			((const struct kind *)argument)->unexpected)
			nap_ns(NS_PER_MS);
		msg_round(&s, me, argument, i);
	}
	stack_leave(&s, me);
}

static void message_structures_have_flags_and_data(void **state)
{
	(void)state;
	group_run_kinds(msg_body);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_size_arrives),
		TEST(messages_stay_in_order),
		TEST(segments_are_gathered_and_scattered),
		TEST(message_structures_have_flags_and_data),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
