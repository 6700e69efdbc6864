/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: formats, order, errors, growth, and invalid calls. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define MANY 3000

static int try_open(struct stack *s, struct fi_cq_attr attr)
{
	struct fid_cq *cq = NULL;
	int r = fi_cq_open(s->domain, &attr, &cq, NULL);
	if (r == 0)
		assert_int_equal(fi_close(&cq->fid), 0);
	else
		assert_true(cq == NULL);
	return r;
}

/* ---- invalid calls ---- */

static void refuse_attributes(struct stack *s)
{
	struct fid_cq *cq;
	assert_int_equal(
		try_open(s, (struct fi_cq_attr){ .format = 77 }), -FI_EINVAL);
	assert_int_equal(
		try_open(s, (struct fi_cq_attr){ .flags = 1ull << 60 }),
		-FI_EINVAL);
	assert_int_equal(
		try_open(s, (struct fi_cq_attr){ .wait_obj = 77 }), -FI_EINVAL);
	assert_int_equal(
		try_open(s, (struct fi_cq_attr){ .wait_obj = FI_WAIT_SET }),
		-FI_ENOSYS);
	assert_int_equal(
		try_open(s, (struct fi_cq_attr){ .wait_obj = FI_WAIT_FD,
				    .wait_cond = 77 }),
		-FI_EINVAL);
	assert_int_equal(fi_cq_open(s->domain, NULL, &cq, NULL), 0);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void refuse_calls(struct stack *s)
{
	char entry[64];
	int fd;
	enum fi_wait_obj object = FI_WAIT_FD;
	struct fid *fid = &s->rxcq->fid;
	assert_int_equal(fi_cq_read(s->rxcq, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_cq_read(s->rxcq, entry, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(s->rxcq, NULL, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_readerr(s->rxcq, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_cq_sread(s->rxcq, entry, 1, NULL, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_signal(s->rxcq), -FI_ENOSYS);
	assert_int_equal(fi_control(fid, FI_GETWAIT, &fd), -FI_ENODATA);
	assert_int_equal(fi_control(fid, FI_GETWAIT, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(fid, FI_GETWAITOBJ, &object), 0);
	assert_int_equal(object, FI_WAIT_NONE);
	assert_int_equal(fi_control(fid, 12345, &fd), -FI_ENOSYS);
	assert_int_equal(fi_close(fid), -FI_EBUSY);
}

static void refuse_body(struct process *me, void *argument)
{
	struct stack s;
	(void)me;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	refuse_attributes(&s);
	refuse_calls(&s);
	stack_close(&s);
}

static void refuses_invalid_calls(void **state)
{
	(void)state;
	group_run(1, refuse_body, NULL);
}

static void sizes_body(struct process *me, void *argument)
{
	struct stack s;
	(void)me;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	for (size_t size = 1; size; size <<= 1)
		assert_int_equal(
			try_open(&s, (struct fi_cq_attr){ .size = size }), 0);
	assert_int_equal(
		try_open(&s, (struct fi_cq_attr){ .size = SIZE_MAX }), 0);
	stack_close(&s);
}

static void opens_of_any_size(void **state)
{
	(void)state;
	group_run(1, sizes_body, NULL);
}

/* ---- formats ---- */

static void format_send(struct stack *s)
{
	uint64_t word = 0x1234;
	MUST(s, fi_tinjectdata(s->ep, &word, sizeof(word), 0xda7a, s->peers[1],
			0x7a9));
}

/* An entry of this format is written, and no byte more. */
static void format_receive(struct stack *s, size_t bytes)
{
	unsigned char entry[2 * sizeof(struct fi_cq_tagged_entry)];
	struct fi_cq_tagged_entry e;
	uint64_t word = 0, deadline = soon();
	MUST(s, fi_trecv(s->ep, &word, sizeof(word), NULL, s->peers[0], 0x7a9,
			0, &word));
	memset(entry, 0xee, sizeof(entry));
	while (fi_cq_read(s->rxcq, entry, 1) == -FI_EAGAIN)
		assert_true(now_ns() < deadline);
	for (size_t i = bytes; i < sizeof(entry); i++)
		assert_int_equal(entry[i], 0xee);
	memcpy(&e, entry, sizeof(e));
	assert_true(e.op_context == &word);
	assert_int_equal(word, 0x1234);
	if (bytes >= sizeof(struct fi_cq_msg_entry)) {
		assert_true(e.flags & FI_RECV && e.flags & FI_TAGGED);
		assert_int_equal(e.len, sizeof(word));
	}
	if (bytes >= sizeof(struct fi_cq_data_entry))
		assert_int_equal(e.data, 0xda7a);
	if (bytes >= sizeof(struct fi_cq_tagged_entry))
		assert_int_equal(e.tag, 0x7a9);
}

static void format_body(struct process *me, void *argument)
{
	static const size_t bytes[] = {
		[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
		[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
		[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
		[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
	};
	const enum fi_cq_format *format = argument;
	struct stack s;
	stack_open(&s, &(struct options){ .format = *format });
	stack_join(&s, me);
	if (me->rank == 0)
		format_send(&s);
	else
		format_receive(&s, bytes[*format]);
	stack_leave(&s, me);
}

static void formats(void **state)
{
	(void)state;
	for (enum fi_cq_format f = FI_CQ_FORMAT_CONTEXT;
		f <= FI_CQ_FORMAT_TAGGED; f++)
		group_run(2, format_body, &f);
}

/* ---- more completions than its initial size ---- */

static void many_send(struct stack *s, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		MUST(s, fi_tinject(s->ep, &i, sizeof(i), s->peers[1], i));
}

static void many_post(
	struct stack *s, uint64_t *words, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		MUST(s, fi_trecv(s->ep, &words[i], sizeof(words[i]), NULL,
				FI_ADDR_UNSPEC, i, 0, &words[i]));
}

/* Some one by one, the rest in batches. */
static void many_read(
	struct stack *s, uint64_t *words, uint64_t next, uint64_t to)
{
	struct fi_cq_tagged_entry e[7];
	uint64_t deadline = soon();
	while (next < to) {
		ssize_t n = fi_cq_read(s->rxcq, e, next < 100 ? 1 : COUNT(e));
		assert_true(n > 0 || n == -FI_EAGAIN);
		assert_true(now_ns() < deadline);
		for (ssize_t i = 0; i < n; i++, next++) {
			assert_true(e[i].op_context == &words[next]);
			assert_int_equal(e[i].tag, next);
			assert_int_equal(words[next], next);
		}
	}
}

/*
 * Messages up to each of these are posted, sent, and read but for the last few:
 * the ring, of 64 entries, grows while it holds entries across its end.
 */
static const uint64_t many_until[] = { 0, 62, 68, MANY };
static const uint64_t many_unread[] = { 0, 2, 8, 0 };

static void many_body(struct process *me, void *argument)
{
	uint64_t *words = calloc(MANY, sizeof(*words));
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ .cq_size = 1 });
	stack_join(&s, me);
	for (unsigned k = 1; k < COUNT(many_until); k++) {
		uint64_t from = many_until[k - 1], to = many_until[k];
		if (me->rank == 1)
			many_post(&s, words, from, to);
		process_barrier(me, &s);
		if (me->rank == 0)
			many_send(&s, from, to);
		process_barrier(me, &s);
		/* All are in the queue before one is read. */
		for (unsigned i = 0; i < 100; i++)
			stack_progress(&s);
		if (me->rank == 1)
			many_read(&s, words, from - many_unread[k - 1],
				to - many_unread[k]);
	}
	stack_leave(&s, me);
	free(words);
}

static void grows(void **state)
{
	(void)state;
	group_run(2, many_body, NULL);
}

/* ---- errors between completions ---- */

static void error_send(struct stack *s)
{
	char bytes[32] = { 0 };
	MUST(s, fi_tinject(s->ep, bytes, 8, s->peers[1], 0));
	MUST(s, fi_tinject(s->ep, bytes, 32, s->peers[1], 1));
	MUST(s, fi_tinject(s->ep, bytes, 8, s->peers[1], 2));
}

static void error_post(struct stack *s, uint64_t words[3])
{
	for (uint64_t i = 0; i < 3; i++)
		MUST(s, fi_trecv(s->ep, &words[i], 8, NULL, FI_ADDR_UNSPEC, i,
				0, &words[i]));
}

static void error_entry(struct stack *s, const uint64_t *word)
{
	char data[16];
	char text[8];
	struct fi_cq_err_entry e = { .err_data = data, .err_data_size = 16 };
	assert_int_equal(fi_cq_readerr(s->rxcq, &e, 0), 1);
	assert_true(e.op_context == word);
	assert_int_equal(e.err, FI_ETRUNC);
	assert_int_equal(e.tag, 1);
	assert_int_equal(e.olen, 24);
	assert_true(e.err_data == data);
	assert_int_equal(e.err_data_size, 0);
	assert_true(
		fi_cq_strerror(s->rxcq, e.prov_errno, data, NULL, 0) != NULL);
	assert_true(
		fi_cq_strerror(s->rxcq, e.prov_errno, data, text, 8) == text);
	assert_true(memchr(text, 0, sizeof(text)) != NULL);
}

static void error_read(struct stack *s, const uint64_t words[3])
{
	struct fi_cq_tagged_entry e[3];
	struct fi_cq_err_entry error = { 0 };
	for (int i = 0; i < 100; i++)
		stack_progress(s);
	assert_int_equal(fi_cq_read(s->rxcq, NULL, 0), 0);
	assert_int_equal(fi_cq_readerr(s->rxcq, &error, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(s->rxcq, e, 3), 1);
	assert_true(e[0].op_context == &words[0]);
	assert_int_equal(fi_cq_read(s->rxcq, e, 3), -FI_EAVAIL);
	assert_int_equal(fi_cq_read(s->rxcq, e, 3), -FI_EAVAIL);
	error_entry(s, &words[1]);
	assert_int_equal(fi_cq_readerr(s->rxcq, &error, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(s->rxcq, e, 3), 1);
	assert_true(e[0].op_context == &words[2]);
	assert_int_equal(fi_cq_read(s->rxcq, e, 3), -FI_EAGAIN);
}

static void error_body(struct process *me, void *argument)
{
	uint64_t words[3];
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 1)
		error_post(&s, words);
	process_barrier(me, &s);
	if (me->rank == 0)
		error_send(&s);
	process_barrier(me, &s);
	if (me->rank == 1)
		error_read(&s, words);
	stack_leave(&s, me);
}

static void errors_in_order(void **state)
{
	(void)state;
	group_run(2, error_body, NULL);
}

/* ---- reading until nothing is left ---- */

static void drain_body(struct process *me, void *argument)
{
	struct fi_cq_tagged_entry e[4];
	uint64_t words[3] = { 0 }, deadline = soon();
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (int i = 0; i < 2; i++)
		MUST(&s, fi_trecv(s.ep, &words[i], sizeof(words[i]), NULL,
				 s.peers[0], 7, 0, NULL));
	MUST(&s, fi_tinject(s.ep, &words[2], sizeof(words[2]), s.peers[0], 7));
	ssize_t n;
	while ((n = fi_cq_read(s.rxcq, e, 4)) == -FI_EAGAIN)
		assert_true(now_ns() < deadline);
	assert_int_equal(n, 1);
	/* The read that ends the loop of a caller does not poll the port. */
	MUST(&s, fi_tinject(s.ep, &words[2], sizeof(words[2]), s.peers[0], 7));
	assert_int_equal(fi_cq_read(s.rxcq, e, 4), -FI_EAGAIN);
	/* Only that one, and none after a read that was filled. */
	assert_int_equal(fi_cq_read(s.rxcq, e, 1), 1);
	MUST(&s, fi_trecv(s.ep, &words[0], sizeof(words[0]), NULL, s.peers[0],
			 7, 0, NULL));
	MUST(&s, fi_tinject(s.ep, &words[2], sizeof(words[2]), s.peers[0], 7));
	assert_int_equal(fi_cq_read(s.rxcq, e, 1), 1);
	stack_leave(&s, me);
}

static void drains(void **state)
{
	(void)state;
	group_run(1, drain_body, NULL);
}

/* ---- a sleeper with a threshold ---- */

static void threshold_receive(struct stack *s)
{
	struct fi_cq_tagged_entry e[4];
	uint64_t words[5];
	for (int i = 0; i < 5; i++)
		MUST(s, fi_recv(s->ep, &words[i], sizeof(words[i]), NULL,
				FI_ADDR_UNSPEC, NULL));
	assert_int_equal(fi_cq_sread(s->rxcq, e, 4, (void *)4, 10000), 4);
	assert_int_equal(fi_cq_sread(s->rxcq, e, 4, (void *)4, 300), 1);
	assert_int_equal(fi_cq_sread(s->rxcq, e, 4, (void *)4, 10), -FI_EAGAIN);
}

static void threshold_body(struct process *me, void *argument)
{
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_UNSPEC,
		.format = FI_CQ_FORMAT_TAGGED,
		.wait_cond = FI_CQ_COND_THRESHOLD };
	struct stack s;
	uint64_t word = 0;
	(void)argument;
	stack_open_domain(&s, &(struct options){ 0 });
	assert_int_equal(fi_close(&s.rxcq->fid), 0);
	assert_int_equal(fi_cq_open(s.domain, &attr, &s.rxcq, NULL), 0);
	stack_open_ep(&s, &(struct options){ 0 });
	stack_join(&s, me);
	for (int i = 0; me->rank == 0 && i < 5; i++) {
		nap_ns(10 * NS_PER_MS);
		MUST(&s, fi_inject(s.ep, &word, sizeof(word), s.peers[1]));
	}
	if (me->rank == 1)
		threshold_receive(&s);
	stack_leave(&s, me);
}

static void threshold(void **state)
{
	(void)state;
	group_run(2, threshold_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(refuses_invalid_calls),
		TEST(opens_of_any_size),
		TEST(formats),
		TEST(grows),
		TEST(errors_in_order),
		TEST(drains),
		TEST(threshold),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
