/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping on completion queues: no wake-up is lost, however many threads poll
 * and sleep. Waits do not spin here, so that they sleep.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "region.h"

#define ROUNDS	 1000
#define SLEEPERS 4
#define STOP	 UINT64_MAX

static void open_sleepy(
	struct stack *s, enum fi_wait_obj object, enum fi_threading threading)
{
	assert_int_equal(setenv("FI_CAY_SPIN_US", "0", 1), 0);
	stack_open(
		s, &(struct options){ .wait = object, .threading = threading });
}

static void post(struct stack *s, uint64_t *word)
{
	MUST(s, fi_recv(s->ep, word, sizeof(*word), NULL, FI_ADDR_UNSPEC,
			word));
}

static void give(struct stack *s, unsigned to, uint64_t word)
{
	MUST(s, fi_inject(s->ep, &word, sizeof(word), s->peers[to]));
}

/* How a test gets its next completion. */
typedef void wait_method(struct stack *, struct fid_cq *);

static void by_sread(struct stack *s, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry e;
	(void)s;
	assert_int_equal(fi_cq_sread(cq, &e, 1, NULL, 10000), 1);
}

static void by_short_sreads(struct stack *s, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry e;
	uint64_t deadline = soon();
	ssize_t n;
	(void)s;
	while ((n = fi_cq_sread(cq, &e, 1, NULL, 1)) == -FI_EAGAIN)
		assert_true(now_ns() < deadline);
	assert_int_equal(n, 1);
}

static void by_descriptor(struct stack *s, struct fid_cq *cq)
{
	struct fi_cq_tagged_entry e;
	struct fid *fid = &cq->fid;
	struct pollfd p = { .events = POLLIN };
	assert_int_equal(fi_control(fid, FI_GETWAIT, &p.fd), 0);
	while (fi_cq_read(cq, &e, 1) == -FI_EAGAIN) {
		int r = fi_trywait(s->fabric, &fid, 1);
		assert_true(r == 0 || r == -FI_EAGAIN);
		if (r == 0)
			assert_int_equal(poll(&p, 1, 10000), 1);
	}
}

/* ---- ping-pong ---- */

static void ping_body(struct process *me, void *argument)
{
	wait_method *method = *(wait_method **)argument;
	struct random random = { me->rank + 1 };
	struct stack s;
	uint64_t word;
	open_sleepy(&s, FI_WAIT_FD, FI_THREAD_DOMAIN);
	stack_join(&s, me);
	post(&s, &word);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		if (i % 2 == me->rank) {
			random_pause(&random, 200 * NS_PER_US);
			give(&s, !me->rank, i);
		} else {
			method(&s, s.rxcq);
			assert_int_equal(word, i);
			post(&s, &word);
		}
	}
	stack_leave(&s, me);
}

static void ping(wait_method *method)
{
	group_run(2, ping_body, &method);
}

static void sreads(void **state)
{
	(void)state;
	ping(by_sread);
}

static void short_sreads(void **state)
{
	(void)state;
	ping(by_short_sreads);
}

static void descriptors(void **state)
{
	(void)state;
	ping(by_descriptor);
}

/* ---- several threads on one queue ---- */

struct team {
	struct stack *stack;
	_Atomic uint64_t *taken; /* threads that have finished */
	uint64_t words[ROUNDS + SLEEPERS];
};

static void *team_run(void *argument)
{
	struct team *t = argument;
	struct fi_cq_tagged_entry e;
	for (;;) {
		assert_int_equal(
			fi_cq_sread(t->stack->rxcq, &e, 1, NULL, 20000), 1);
		if (*(uint64_t *)e.op_context == STOP)
			return NULL;
		atomic_fetch_add(t->taken, 1);
	}
}

static void team_receive(struct stack *s, struct process *me)
{
	static struct team t;
	pthread_t threads[SLEEPERS];
	t.stack = s;
	t.taken = process_word(me, 0);
	for (size_t i = 0; i < COUNT(t.words); i++)
		post(s, &t.words[i]);
	for (int i = 0; i < SLEEPERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, team_run, &t), 0);
	for (int i = 0; i < SLEEPERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(t.taken), ROUNDS);
}

static void team_send(struct stack *s)
{
	struct random random = { 5 };
	for (uint64_t i = 0; i < ROUNDS; i++) {
		give(s, 1, i);
		random_pause(&random, 100 * NS_PER_US);
	}
	for (int i = 0; i < SLEEPERS; i++)
		give(s, 1, STOP);
}

static void team_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	open_sleepy(&s, FI_WAIT_UNSPEC, FI_THREAD_SAFE);
	stack_join(&s, me);
	if (me->rank == 0)
		team_send(&s);
	else
		team_receive(&s, me);
	stack_leave(&s, me);
}

static void several_sleepers(void **state)
{
	(void)state;
	group_run(2, team_body, NULL);
}

/* ---- two queues of one endpoint, each with a sleeper ---- */

struct side {
	struct stack *stack;
	struct fid_cq *cq;
	wait_method *method;
};

static void *side_run(void *argument)
{
	const struct side *side = argument;
	for (int i = 0; i < ROUNDS; i++)
		side->method(side->stack, side->cq);
	return NULL;
}

static void deliver(struct stack *s, unsigned to, uint64_t *word)
{
	struct iovec iov = { word, sizeof(*word) };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = s->peers[to]
	};
	MUST(s, fi_sendmsg(s->ep, &msg, FI_DELIVERY_COMPLETE | FI_COMPLETION));
}

static void sides_body(struct process *me, void *argument)
{
	static uint64_t words[ROUNDS], from[ROUNDS];
	wait_method **methods = argument;
	struct random random = { me->rank + 7 };
	pthread_t threads[2];
	struct stack s;
	open_sleepy(&s, FI_WAIT_FD, FI_THREAD_SAFE);
	struct side sides[2] = { { &s, s.txcq, methods[0] },
		{ &s, s.rxcq, methods[1] } };
	stack_join(&s, me);
	for (int i = 0; i < ROUNDS; i++)
		post(&s, &words[i]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, side_run, &sides[i]),
			0);
	for (int i = 0; i < ROUNDS; i++) {
		deliver(&s, !me->rank, &from[i]);
		random_pause(&random, 100 * NS_PER_US);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	stack_leave(&s, me);
}

static void sides(wait_method *tx, wait_method *rx)
{
	wait_method *methods[2] = { tx, rx };
	group_run(2, sides_body, methods);
}

static void two_queues(void **state)
{
	(void)state;
	sides(by_sread, by_sread);
	sides(by_descriptor, by_sread);
	sides(by_descriptor, by_descriptor);
	sides(by_short_sreads, by_descriptor);
}

/* ---- accesses of one thread, whose completions another awaits ---- */

static void access_body(struct process *me, void *argument)
{
	wait_method **method = argument;
	struct random random = { me->rank + 3 };
	struct region mine;
	struct target t;
	struct stack s;
	pthread_t thread;
	uint64_t word = 1;
	assert_int_equal(setenv("FI_CAY_SPIN_US", "0", 1), 0);
	stack_open(&s, &(struct options){ .caps = CAPS_ACCESS,
			       .wait = FI_WAIT_FD,
			       .threading = FI_THREAD_SAFE });
	struct side side = { &s, s.txcq, *method };
	stack_join(&s, me);
	region_open(&s, &mine, sizeof(word), ACCESS_REMOTE);
	region_share(&s, me, &mine, !me->rank, &t);
	assert_int_equal(pthread_create(&thread, NULL, side_run, &side), 0);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2)
			MUST(&s, fi_write(s.ep, &word, sizeof(word), NULL,
					 t.peer, t.base, t.key, NULL));
		else
			MUST(&s, fi_atomic(s.ep, &word, 1, NULL, t.peer, t.base,
					 t.key, FI_UINT64, FI_SUM, NULL));
		random_pause(&random, 100 * NS_PER_US);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	process_barrier(me, &s);
	region_close(&mine);
	stack_leave(&s, me);
}

static void accesses(void **state)
{
	wait_method *methods[] = { by_sread, by_short_sreads, by_descriptor };
	(void)state;
	for (unsigned i = 0; i < COUNT(methods); i++)
		group_run(2, access_body, &methods[i]);
}

/* ---- one process: time, signals, conditions ---- */

typedef void alone_case(struct stack *);

static void alone_body(struct process *me, void *argument)
{
	alone_case *run = *(alone_case **)argument;
	struct stack s;
	open_sleepy(&s, FI_WAIT_FD, FI_THREAD_SAFE);
	stack_join(&s, me);
	run(&s);
	stack_leave(&s, me);
}

static void alone(alone_case *run)
{
	group_run(1, alone_body, &run);
}

static void timeout_case(struct stack *s)
{
	struct fi_cq_tagged_entry e;
	uint64_t begin = now_ns();
	assert_int_equal(fi_cq_sread(s->rxcq, &e, 1, NULL, 60), -FI_EAGAIN);
	assert_true(now_ns() - begin >= 60 * NS_PER_MS);
	assert_int_equal(fi_cq_sread(s->rxcq, &e, 1, NULL, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_sread(s->rxcq, NULL, 1, NULL, 0), -FI_EINVAL);
}

static void times_out(void **state)
{
	(void)state;
	alone(timeout_case);
}

static void *signal_run(void *argument)
{
	nap_ns(30 * NS_PER_MS);
	assert_int_equal(fi_cq_signal(argument), 0);
	return NULL;
}

static void signal_case(struct stack *s)
{
	struct fi_cq_tagged_entry e;
	pthread_t thread;
	assert_int_equal(fi_cq_signal(s->rxcq), 0);
	assert_int_equal(fi_cq_sread(s->rxcq, &e, 1, NULL, -1), -FI_EAGAIN);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(
			pthread_create(&thread, NULL, signal_run, s->rxcq), 0);
		assert_int_equal(
			fi_cq_sread(s->rxcq, &e, 1, NULL, -1), -FI_EAGAIN);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	uint64_t begin = now_ns();
	assert_int_equal(fi_cq_sread(s->rxcq, &e, 1, NULL, 20), -FI_EAGAIN);
	assert_true(now_ns() - begin >= 20 * NS_PER_MS);
}

static void is_signalled(void **state)
{
	(void)state;
	alone(signal_case);
}

static void on_alarm(int number)
{
	(void)number;
}

static void interrupt_case(struct stack *s)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct fi_cq_tagged_entry e;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	alarm(1);
	assert_int_equal(fi_cq_sread(s->rxcq, &e, 1, NULL, -1), -FI_EAGAIN);
}

static void is_interrupted(void **state)
{
	(void)state;
	alone(interrupt_case);
}

static void try_case(struct stack *s)
{
	struct fid *both[2] = { &s->txcq->fid, &s->rxcq->fid };
	struct fid *none = NULL, *wrong = &s->av->fid;
	struct pollfd p = { .events = POLLIN };
	enum fi_wait_obj object;
	assert_int_equal(fi_control(both[1], FI_GETWAIT, &p.fd), 0);
	assert_int_equal(fi_control(both[1], FI_GETWAITOBJ, &object), 0);
	assert_int_equal(object, FI_WAIT_FD);
	assert_int_equal(fi_trywait(s->fabric, both, 2), 0);
	assert_int_equal(poll(&p, 1, 10), 0);
	assert_int_equal(fi_trywait(s->fabric, &none, 1), -FI_EINVAL);
	assert_int_equal(fi_trywait(s->fabric, &wrong, 1), -FI_EINVAL);
	assert_int_equal(fi_trywait(s->fabric, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_trywait(s->fabric, NULL, 0), 0);
}

static void tries(void **state)
{
	(void)state;
	alone(try_case);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(sreads),
		TEST(short_sreads),
		TEST(descriptors),
		TEST(several_sleepers),
		TEST(two_queues),
		TEST(accesses),
		TEST(times_out),
		TEST(is_signalled),
		TEST(is_interrupted),
		TEST(tries),
	};
	group_cold_start = true;
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
