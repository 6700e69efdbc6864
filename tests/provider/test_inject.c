/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inject calls, remote CQ data, messages that are too long for their receive,
 * and messages to the own endpoint.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define LONG_BYTES 500000ul

/* ---- inject ---- */

static const uint64_t words[] = { 0, 1, 0xffffff, 0x1000000, 1ull << 32,
	~0ull };

/* The four inject calls; two of them with remote CQ data. */
static ssize_t inject_one(struct stack *s, unsigned variant, const void *buffer,
	size_t length, uint64_t word)
{
	switch (variant) {
	case 0:
		return fi_inject(s->ep, buffer, length, s->peers[1]);
	case 1:
		return fi_injectdata(s->ep, buffer, length, word, s->peers[1]);
	case 2:
		return fi_tinject(s->ep, buffer, length, s->peers[1], variant);
	default:
		return fi_tinjectdata(
			s->ep, buffer, length, word, s->peers[1], variant);
	}
}

static void recv_variant(
	struct stack *s, unsigned variant, void *buffer, size_t length)
{
	if (variant < 2)
		MUST(s, fi_recv(s->ep, buffer, length, NULL, FI_ADDR_UNSPEC,
				buffer));
	else
		MUST(s, fi_trecv(s->ep, buffer, length, NULL, FI_ADDR_UNSPEC,
				variant, 0, buffer));
}

static void check_word(
	const struct fi_cq_tagged_entry *e, bool has, uint64_t word)
{
	assert_int_equal((e->flags & FI_REMOTE_CQ_DATA) != 0, has);
	if (has)
		assert_int_equal(e->data, word);
}

static size_t inject_length(struct stack *s, unsigned i)
{
	size_t limit = s->info->tx_attr->inject_size;
	const size_t lengths[] = { 0, 1, 8, 32, 33, 40, 41, 100, limit };
	assert_true(limit >= 64);
	return lengths[i % COUNT(lengths)];
}

static void inject_send(struct stack *s, unsigned variant, unsigned i)
{
	static unsigned char buffer[65536];
	size_t length = inject_length(s, i);
	content_fill(buffer, length, i);
	MUST(s, inject_one(
			s, variant, buffer, length, words[i % COUNT(words)]));
	memset(buffer, 0, length);
}

static void inject_receive(struct stack *s, unsigned variant, unsigned i)
{
	static unsigned char buffer[65536];
	struct fi_cq_tagged_entry e;
	recv_variant(s, variant, buffer, sizeof(buffer));
	assert_int_equal(cq_next_from(s->rxcq, &e), s->peers[0]);
	assert_int_equal(e.len, inject_length(s, i));
	assert_true(content_fits(buffer, e.len, i));
	check_word(&e, variant % 2, words[i % COUNT(words)]);
}

static void inject_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned variant = 0; variant < 4; variant++)
		for (unsigned i = 0; i < 300; i++)
			if (me->rank == 0)
				inject_send(&s, variant, i);
			else
				inject_receive(&s, variant, i);
	process_barrier(me, &s);
	cq_expect_none(s.txcq);
	stack_leave(&s, me);
}

static void injected_buffers_are_free_at_once(void **state)
{
	(void)state;
	group_run(2, inject_body, NULL);
}

static void inject_too_much_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	size_t length = s.info->tx_attr->inject_size + 1;
	void *buffer = calloc(1, length);
	ssize_t r = fi_inject(s.ep, buffer, length, s.peers[0]);
	assert_true(r < 0 && r != -FI_EAGAIN);
	r = fi_tinject(s.ep, buffer, length, s.peers[0], 1);
	assert_true(r < 0 && r != -FI_EAGAIN);
	cq_expect_none(s.rxcq);
	stack_leave(&s, me);
	free(buffer);
}

static void long_messages_are_not_injected(void **state)
{
	(void)state;
	group_run(1, inject_too_much_body, NULL);
}

/* ---- data with every length ---- */

static void data_send(struct stack *s, bool tagged, void *buffer, size_t length,
	uint64_t word)
{
	struct fi_cq_tagged_entry e;
	if (tagged)
		MUST(s, fi_tsenddata(s->ep, buffer, length, NULL, word,
				s->peers[1], 3, s));
	else
		MUST(s, fi_senddata(s->ep, buffer, length, NULL, word,
				s->peers[1], s));
	cq_next(s->txcq, &e);
	assert_true(e.op_context == s);
}

static void data_receive(struct stack *s, bool tagged, void *buffer,
	size_t length, uint64_t word)
{
	struct fi_cq_tagged_entry e;
	recv_variant(s, tagged ? 3 : 0, buffer, LONG_BYTES);
	cq_next(s->rxcq, &e);
	assert_int_equal(e.len, length);
	check_word(&e, true, word);
	assert_true(content_fits(buffer, length, 4));
}

static void data_body(struct process *me, void *argument)
{
	static const size_t lengths[] = { 0, 8, 32, 40, 4096, 8128, 8192,
		LONG_BYTES };
	struct stack s;
	unsigned char *buffer = malloc(LONG_BYTES);
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	assert_int_equal(s.info->domain_attr->cq_data_size, 8);
	content_fill(buffer, LONG_BYTES, 4);
	for (unsigned i = 0; i < 2 * COUNT(lengths) * COUNT(words); i++) {
		size_t length = lengths[i / 2 % COUNT(lengths)];
		uint64_t word = words[i / 2 / COUNT(lengths)];
		if (me->rank == 0)
			data_send(&s, i % 2, buffer, length, word);
		else
			data_receive(&s, i % 2, buffer, length, word);
	}
	stack_leave(&s, me);
	free(buffer);
}

static void every_length_carries_data(void **state)
{
	(void)state;
	group_run(2, data_body, NULL);
}

/* ---- too long for the receive ---- */

struct cut {
	size_t sent, received;
	bool unexpected;
};

static void cut_receive(
	struct stack *s, struct process *me, const struct cut *c)
{
	unsigned char buffer[4097];
	struct fi_cq_err_entry e;
	struct fi_cq_tagged_entry next;
	memset(buffer, 0xee, sizeof(buffer));
	if (c->unexpected)
		process_barrier(me, s);
	recv_variant(s, 2, buffer, c->received);
	if (!c->unexpected)
		process_barrier(me, s);
	assert_int_equal(cq_next_error(s->rxcq, &e), FI_ETRUNC);
	assert_true(e.op_context == buffer);
	assert_int_equal(e.olen, c->sent - c->received);
	assert_int_equal(e.tag, 2);
	assert_int_equal(buffer[c->received], 0xee);
	/* The next message is not affected. */
	recv_variant(s, 2, buffer, 100);
	cq_next(s->rxcq, &next);
	assert_int_equal(next.len, 9);
	assert_true(content_fits(buffer, 9, 6));
}

static void cut_send(struct stack *s, struct process *me, const struct cut *c)
{
	unsigned char *buffer = malloc(c->sent);
	struct fi_cq_tagged_entry e;
	content_fill(buffer, c->sent, 6);
	if (!c->unexpected)
		process_barrier(me, s);
	MUST(s, fi_tsend(s->ep, buffer, c->sent, NULL, s->peers[1], 2, s));
	MUST(s, fi_tinject(s->ep, buffer, 9, s->peers[1], 2));
	if (c->unexpected)
		process_barrier(me, s);
	/* The send may complete with or without an error. */
	uint64_t deadline = soon();
	ssize_t r;
	while ((r = fi_cq_read(s->txcq, &e, 1)) == -FI_EAGAIN)
		assert_true(now_ns() < deadline);
	if (r == -FI_EAVAIL) {
		struct fi_cq_err_entry error;
		assert_int_equal(cq_next_error(s->txcq, &error), FI_ETRUNC);
	}
	free(buffer);
}

static void cut_body(struct process *me, void *argument)
{
	static const struct cut cuts[] = {
		{ 41, 40, false },
		{ 41, 0, true },
		{ 4096, 1000, false },
		{ 4096, 1000, true },
		{ LONG_BYTES, 4096, false },
		{ LONG_BYTES, 4096, true },
		{ LONG_BYTES, 0, true },
	};
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned i = 0; i < COUNT(cuts); i++)
		if (me->rank == 0)
			cut_send(&s, me, &cuts[i]);
		else
			cut_receive(&s, me, &cuts[i]);
	stack_leave(&s, me);
}

static void truncation_is_an_error(void **state)
{
	(void)state;
	group_run(2, cut_body, NULL);
}

/* ---- to the own endpoint ---- */

static void self_round(struct stack *s, unsigned char *to, unsigned char *from,
	size_t length, bool posted)
{
	struct fi_cq_tagged_entry e;
	content_fill(from, length, length);
	memset(to, 0, length);
	if (posted)
		MUST(s, fi_trecv(s->ep, to, length, NULL, s->peers[0], 6, 0,
				to));
	MUST(s, fi_tsend(s->ep, from, length, NULL, s->peers[0], 6, from));
	if (!posted)
		MUST(s, fi_trecv(s->ep, to, length, NULL, s->peers[0], 6, 0,
				to));
	assert_int_equal(cq_next_from(s->rxcq, &e), s->peers[0]);
	assert_true(e.op_context == to);
	assert_int_equal(e.len, length);
	assert_true(content_fits(to, length, length));
	cq_expect(s->txcq, from);
}

static void self_body(struct process *me, void *argument)
{
	static const size_t lengths[] = { 0, 8, 4096, 10000, LONG_BYTES };
	struct stack s;
	unsigned char *to = malloc(LONG_BYTES), *from = malloc(LONG_BYTES);
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (unsigned i = 0; i < 2 * COUNT(lengths); i++)
		self_round(&s, to, from, lengths[i / 2], i % 2);
	stack_leave(&s, me);
	free(to);
	free(from);
}

static void an_endpoint_can_send_to_itself(void **state)
{
	(void)state;
	group_run(1, self_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(injected_buffers_are_free_at_once),
		TEST(long_messages_are_not_injected),
		TEST(every_length_carries_data),
		TEST(truncation_is_an_error),
		TEST(an_endpoint_can_send_to_itself),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
