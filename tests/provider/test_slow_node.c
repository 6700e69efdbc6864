/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * First contact while the node does not reply, as on a machine without enough
 * processor time: calls return -FI_EAGAIN, what needs no node goes on, and
 * everything completes when the node continues.
 */
#include <signal.h>
#include <string.h>

#include "region.h"

#define STOP_S	  15 /* longer than any time-out of the library */
#define PATIENCE  (100 * NS_PER_S)
#define TAG	  5
#define LONG_SIZE (1ul << 20)
#define KEY	  9

static void node_signal(int signal)
{
	assert_int_equal(kill(node_process(node_name()), signal), 0);
}

static void *continue_later(void *unused)
{
	(void)unused;
	nap_ns(STOP_S * NS_PER_S);
	node_signal(SIGCONT);
	return NULL;
}

/* ---- one process for each kind of operation ---- */

enum rank {
	RANK_TARGET, /* waits for the messages of the others */
	RANK_TSEND,
	RANK_SEND,
	RANK_INJECT,
	RANK_WRITE,
	RANK_READ,
	RANK_ATOMIC,
	RANK_OPEN, /* opens its endpoint */
	RANKS,
};

static ssize_t post(struct stack *s, unsigned rank, uint64_t *word)
{
	fi_addr_t to = s->peers[RANK_TARGET];
	switch (rank) {
	case RANK_TSEND:
		return fi_tsend(s->ep, word, 8, NULL, to, TAG, s);
	case RANK_SEND:
		return fi_send(s->ep, word, 8, NULL, to, s);
	case RANK_INJECT:
		return fi_tinject(s->ep, word, 8, to, TAG);
	case RANK_WRITE:
		return fi_write(s->ep, word, 8, NULL, to, 0, KEY, s);
	case RANK_READ:
		return fi_read(s->ep, word, 8, NULL, to, 8, KEY, s);
	default:
		return fi_atomic(s->ep, word, 1, NULL, to, 16, KEY, FI_UINT64,
			FI_SUM, s);
	}
}

static void operate(struct stack *s, unsigned rank)
{
	uint64_t word = rank, deadline = now_ns() + PATIENCE;
	unsigned tries = 0;
	ssize_t r;
	while ((r = post(s, rank, &word)) == -FI_EAGAIN) {
		tries++;
		stack_progress(s);
		assert_true(now_ns() < deadline);
	}
	assert_int_equal(r, 0);
	/* No call has waited for the node. */
	assert_true(tries > 20);
	if (rank != RANK_INJECT)
		cq_expect(s->txcq, s);
	if (rank == RANK_READ)
		assert_int_equal(word, 77);
}

/* Sleeps until the messages of three processes are there. */
static void target_wait(struct stack *s, uint64_t *memory)
{
	uint64_t words[3];
	struct fi_cq_tagged_entry e;
	MUST(s, fi_trecv(s->ep, &words[0], 8, NULL, FI_ADDR_UNSPEC, TAG, 0, s));
	MUST(s, fi_trecv(s->ep, &words[1], 8, NULL, FI_ADDR_UNSPEC, TAG, 0, s));
	MUST(s, fi_recv(s->ep, &words[2], 8, NULL, FI_ADDR_UNSPEC, s));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
			fi_cq_sread(s->rxcq, &e, 1, NULL, PATIENCE / NS_PER_MS),
			1);
	assert_int_equal(words[0] + words[1], RANK_TSEND + RANK_INJECT);
	assert_int_equal(words[2], RANK_SEND);
	/* The others need no receive, but progress. */
	uint64_t deadline = now_ns() + PATIENCE;
	volatile uint64_t *now = memory;
	while (now[0] != RANK_WRITE || now[2] != RANK_ATOMIC) {
		stack_progress(s);
		assert_true(now_ns() < deadline);
	}
}

static void operations_body(struct process *me, void *argument)
{
	static uint64_t memory[3] = { 0, 77, 0 };
	struct options o = { .caps = CAPS_ACCESS, .wait = FI_WAIT_FD };
	struct stack s;
	struct fid_mr *mr = NULL;
	pthread_t thread;
	(void)argument;
	stack_open_domain(&s, &o);
	if (me->rank != RANK_OPEN) {
		stack_open_ep(&s, &o);
		stack_publish(&s, me);
	}
	process_barrier(me, NULL);
	if (me->rank == RANK_TARGET) {
		assert_int_equal(fi_mr_reg(s.domain, memory, sizeof(memory),
					 ACCESS_REMOTE, 0, KEY, 0, &mr, NULL),
			0);
		node_signal(SIGSTOP);
		assert_int_equal(
			pthread_create(&thread, NULL, continue_later, NULL), 0);
	} else if (me->rank != RANK_OPEN) {
		s.peers[RANK_TARGET] = stack_insert(&s, me, RANK_TARGET);
	}
	process_barrier(me, NULL);
	if (me->rank == RANK_TARGET) {
		target_wait(&s, memory);
		assert_int_equal(pthread_join(thread, NULL), 0);
	} else if (me->rank == RANK_OPEN) {
		stack_open_ep(&s, &o);
	} else {
		operate(&s, me->rank);
	}
	process_barrier(me, me->rank == RANK_OPEN ? NULL : &s);
	if (mr)
		assert_int_equal(fi_close(&mr->fid), 0);
	stack_close(&s);
}

static void every_operation_outlasts_the_stop(void **state)
{
	(void)state;
	group_run(RANKS, operations_body, NULL);
}

/* ---- the target of a first message ---- */

static void target_receive(struct stack *s, struct process *me)
{
	static unsigned char into[LONG_SIZE];
	uint64_t word = 0;
	MUST(s, fi_trecv(s->ep, into, LONG_SIZE, NULL, FI_ADDR_UNSPEC, 1, 0,
			into));
	MUST(s, fi_trecv(s->ep, &word, 8, NULL, FI_ADDR_UNSPEC, 2, 0, &word));
	/* The second message comes, although the first needs a reply. */
	cq_expect(s->rxcq, &word);
	assert_int_equal(word, 42);
	assert_int_equal(atomic_load(process_word(me, 0)), 0);
	node_signal(SIGCONT);
	cq_expect(s->rxcq, into);
	assert_true(content_fits(into, LONG_SIZE, 3));
}

static void reply_body(struct process *me, void *argument)
{
	static unsigned char from[LONG_SIZE];
	uint64_t word = 42;
	struct stack s;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		content_fill(from, LONG_SIZE, 3);
		MUST(&s, fi_tsend(s.ep, from, LONG_SIZE, NULL, s.peers[1], 1,
				 from));
		MUST(&s, fi_tinject(s.ep, &word, 8, s.peers[1], 2));
		node_signal(SIGSTOP);
	}
	process_barrier(me, NULL);
	if (me->rank == 0) {
		cq_expect(s.txcq, from);
		atomic_store(process_word(me, 0), 1);
	} else {
		target_receive(&s, me);
	}
	process_barrier(me, &s);
	stack_leave(&s, me);
}

static void a_target_goes_on(void **state)
{
	(void)state;
	group_run(2, reply_body, NULL);
}

/* ---- a target that closes ---- */

static void *continue_soon(void *unused)
{
	(void)unused;
	nap_ns(NS_PER_S);
	node_signal(SIGCONT);
	return NULL;
}

/* The confirmation of the message has to wait for the node. */
static void close_body(struct process *me, void *argument)
{
	uint64_t word = 42;
	struct iovec iov = { &word, sizeof(word) };
	struct stack s;
	pthread_t thread;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		const struct fi_msg_tagged m = { .msg_iov = &iov,
			.iov_count = 1,
			.addr = s.peers[1],
			.tag = TAG,
			.context = &iov };
		MUST(&s, fi_tsendmsg(s.ep, &m,
				 FI_DELIVERY_COMPLETE | FI_COMPLETION));
		node_signal(SIGSTOP);
	}
	process_barrier(me, NULL);
	if (me->rank == 0) {
		cq_expect(s.txcq, &iov);
	} else {
		MUST(&s, fi_trecv(s.ep, &word, 8, NULL, FI_ADDR_UNSPEC, TAG, 0,
				 &word));
		cq_expect(s.rxcq, &word);
		assert_int_equal(
			pthread_create(&thread, NULL, continue_soon, NULL), 0);
		assert_int_equal(fi_close(&s.ep->fid), 0);
		s.ep = NULL;
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	stack_close(&s);
}

static void a_close_waits_for_confirmations(void **state)
{
	(void)state;
	group_run(2, close_body, NULL);
}

/* ---- the node exits ---- */

/* Only that is certain: an error. */
static void exit_body(struct process *me, void *argument)
{
	uint64_t word = 0, deadline = now_ns() + PATIENCE;
	struct stack s;
	ssize_t r;
	(void)argument;
	stack_open(&s, &(struct options){ 0 });
	stack_join(&s, me);
	if (me->rank == 0) {
		node_signal(SIGSTOP);
		for (unsigned i = 0; i < 100; i++)
			assert_int_equal(
				fi_tinject(s.ep, &word, 8, s.peers[1], 2),
				-FI_EAGAIN);
		node_signal(SIGKILL);
		while ((r = fi_tinject(s.ep, &word, 8, s.peers[1], 2)) ==
			-FI_EAGAIN)
			assert_true(now_ns() < deadline);
		assert_true(r == -FI_EHOSTUNREACH || r == -FI_ENOTCONN);
	}
	process_barrier(me, NULL);
	stack_close(&s);
}

static void the_end_of_the_node_is_an_error(void **state)
{
	(void)state;
	group_run(2, exit_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_operation_outlasts_the_stop),
		TEST(a_target_goes_on),
		TEST(a_close_waits_for_confirmations),
		TEST(the_end_of_the_node_is_an_error),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
