/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters, and poll sets of counters and queues. */
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "region.h"

#define MESSAGES 500

static struct fid_cntr *open_cntr(struct stack *s, enum fi_wait_obj object)
{
	struct fid_cntr *c;
	struct fi_cntr_attr attr = { .wait_obj = object };
	assert_int_equal(fi_cntr_open(s->domain, &attr, &c, s), 0);
	return c;
}

static void close_cntr(struct fid_cntr *c)
{
	assert_int_equal(fi_close(&c->fid), 0);
}

typedef void cntr_case(struct stack *);

static void body(struct process *me, void *argument)
{
	cntr_case *run = *(cntr_case **)argument;
	struct stack s;
	(void)me;
	stack_open(&s, &(struct options){ .threading = FI_THREAD_SAFE });
	run(&s);
	stack_close(&s);
}

static void run_case(cntr_case *run)
{
	group_run(1, body, &run);
}

/* ---- set by the application ---- */

static void set_case(struct stack *s)
{
	struct fid_cntr *c = open_cntr(s, FI_WAIT_NONE);
	assert_int_equal(fi_cntr_read(c), 0);
	assert_int_equal(fi_cntr_set(c, 40), 0);
	assert_int_equal(fi_cntr_add(c, 2), 0);
	assert_int_equal(fi_cntr_seterr(c, 5), 0);
	assert_int_equal(fi_cntr_adderr(c, 6), 0);
	assert_int_equal(fi_cntr_read(c), 42);
	assert_int_equal(fi_cntr_readerr(c), 11);
	assert_int_equal(fi_cntr_wait(c, 1, 0), -FI_ENOSYS);
	close_cntr(c);
}

static void can_be_set(void **state)
{
	(void)state;
	run_case(set_case);
}

static void refuse_case(struct stack *s)
{
	struct fid_cntr *c = NULL;
	struct fi_cntr_attr events = { .events = 77 };
	struct fi_cntr_attr flags = { .flags = 1 };
	struct fi_cntr_attr set = { .wait_obj = FI_WAIT_SET };
	assert_int_equal(
		fi_cntr_open(s->domain, &events, &c, NULL), -FI_EINVAL);
	assert_int_equal(fi_cntr_open(s->domain, &flags, &c, NULL), -FI_EINVAL);
	assert_int_equal(fi_cntr_open(s->domain, &set, &c, NULL), -FI_ENOSYS);
	assert_true(c == NULL);
}

static void refuses_invalid_calls(void **state)
{
	(void)state;
	run_case(refuse_case);
}

static void wait_case(struct stack *s)
{
	struct fid_cntr *c = open_cntr(s, FI_WAIT_UNSPEC);
	uint64_t begin = now_ns();
	assert_int_equal(fi_cntr_wait(c, 0, -1), 0);
	assert_int_equal(fi_cntr_wait(c, 1, 0), -FI_ETIMEDOUT);
	assert_int_equal(fi_cntr_wait(c, 1, 50), -FI_ETIMEDOUT);
	assert_true(now_ns() - begin >= 50 * NS_PER_MS);
	assert_int_equal(fi_cntr_add(c, 3), 0);
	assert_int_equal(fi_cntr_wait(c, 3, -1), 0);
	close_cntr(c);
}

static void waits_with_a_timeout(void **state)
{
	(void)state;
	run_case(wait_case);
}

static void descriptor_case(struct stack *s)
{
	struct fid_cntr *c = open_cntr(s, FI_WAIT_FD);
	struct fid *fid = &c->fid;
	struct pollfd p = { .events = POLLIN };
	assert_int_equal(fi_control(fid, FI_GETWAIT, &p.fd), 0);
	assert_int_equal(fi_trywait(s->fabric, &fid, 1), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(fi_cntr_add(c, 1), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(fi_trywait(s->fabric, &fid, 1), -FI_EAGAIN);
	assert_int_equal(fi_cntr_read(c), 1);
	assert_int_equal(fi_trywait(s->fabric, &fid, 1), 0);
	assert_int_equal(poll(&p, 1, 0), 0);
	close_cntr(c);
}

static void has_a_descriptor(void **state)
{
	(void)state;
	run_case(descriptor_case);
}

/* ---- several threads that wait for different values ---- */

#define SLEEPERS 4
#define STEPS	 1000

struct sleeper {
	pthread_t thread;
	struct fid_cntr *cntr;
	uint64_t step;	       /* interval of the values that it waits for */
	_Atomic uint64_t seen; /* the last value */
};

static void *sleeper_run(void *argument)
{
	struct sleeper *s = argument;
	for (uint64_t at = s->step; at <= STEPS; at += s->step) {
		assert_int_equal(fi_cntr_wait(s->cntr, at, 20000), 0);
		assert_true(fi_cntr_read(s->cntr) >= at);
		atomic_store(&s->seen, at);
	}
	return NULL;
}

static void sleepers_start(struct sleeper *sleepers, struct fid_cntr *c)
{
	assert_int_equal(setenv("FI_CAY_SPIN_US", "0", 1), 0);
	for (unsigned i = 0; i < SLEEPERS; i++) {
		sleepers[i].cntr = c;
		sleepers[i].step = i ? STEPS : 1;
		assert_int_equal(pthread_create(&sleepers[i].thread, NULL,
					 sleeper_run, &sleepers[i]),
			0);
	}
}

/*
 * Each step concerns only the first sleeper. The others wake, too, and must not
 * consume its wake-up, since nothing else would wake it.
 */
static void sleepers_case(struct stack *s)
{
	struct fid_cntr *c = open_cntr(s, FI_WAIT_FD);
	struct sleeper sleepers[SLEEPERS] = { 0 };
	struct random random = { 2 };
	sleepers_start(sleepers, c);
	for (uint64_t i = 1; i <= STEPS; i++) {
		uint64_t deadline = soon();
		assert_int_equal(fi_cntr_add(c, 1), 0);
		while (atomic_load(&sleepers[0].seen) < i) {
			assert_true(now_ns() < deadline);
			sched_yield();
		}
		random_pause(&random, 100 * NS_PER_US);
	}
	for (int i = 0; i < SLEEPERS; i++)
		assert_int_equal(pthread_join(sleepers[i].thread, NULL), 0);
	close_cntr(c);
}

static void wakes_several(void **state)
{
	(void)state;
	run_case(sleepers_case);
}

static void *error_run(void *argument)
{
	nap_ns(30 * NS_PER_MS);
	assert_int_equal(fi_cntr_adderr(argument, 1), 0);
	return NULL;
}

static void error_case(struct stack *s)
{
	struct fid_cntr *c = open_cntr(s, FI_WAIT_UNSPEC);
	pthread_t thread;
	assert_int_equal(fi_cntr_seterr(c, 3), 0);
	assert_int_equal(pthread_create(&thread, NULL, error_run, c), 0);
	assert_int_equal(fi_cntr_wait(c, 1, 10000), -FI_EAVAIL);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(fi_cntr_readerr(c), 4);
	close_cntr(c);
}

static void errors_wake(void **state)
{
	(void)state;
	run_case(error_case);
}

/* ---- messages ---- */

static void traffic_send(struct stack *s)
{
	struct random random = { 3 };
	for (uint64_t i = 0; i < MESSAGES; i++) {
		MUST(s, fi_send(s->ep, &i, sizeof(i), NULL, s->peers[1], NULL));
		random_pause(&random, 100 * NS_PER_US);
	}
}

static void traffic_receive(struct stack *s, struct fid_cntr *c)
{
	static uint64_t words[MESSAGES];
	for (uint64_t i = 0; i < MESSAGES; i++)
		MUST(s, fi_recv(s->ep, &words[i], sizeof(words[i]), NULL,
				FI_ADDR_UNSPEC, NULL));
	for (uint64_t i = 1; i <= MESSAGES; i += 7) {
		assert_int_equal(fi_cntr_wait(c, i, 10000), 0);
		assert_int_equal(words[i - 1], i - 1);
	}
}

static void traffic_body(struct process *me, void *argument)
{
	struct stack s;
	(void)argument;
	setenv("FI_CAY_SPIN_US", "0", 1);
	stack_open(&s, &(struct options){ .disabled = true });
	struct fid_cntr *c = open_cntr(&s, FI_WAIT_UNSPEC);
	assert_int_equal(
		fi_ep_bind(s.ep, &c->fid, me->rank ? FI_RECV : FI_SEND), 0);
	assert_int_equal(fi_close(&c->fid), -FI_EBUSY);
	assert_int_equal(fi_enable(s.ep), 0);
	stack_join(&s, me);
	if (me->rank == 0)
		traffic_send(&s);
	else
		traffic_receive(&s, c);
	assert_int_equal(fi_cntr_wait(c, MESSAGES, 10000), 0);
	assert_int_equal(fi_cntr_read(c), MESSAGES);
	assert_int_equal(fi_cntr_readerr(c), 0);
	process_barrier(me, &s);
	assert_int_equal(fi_close(&s.ep->fid), 0);
	s.ep = NULL;
	close_cntr(c);
	stack_close(&s);
}

static void counts_messages(void **state)
{
	(void)state;
	group_run(2, traffic_body, NULL);
}

/* ---- failures ---- */

static struct fid_cntr *bind_cntr(struct stack *s, uint64_t flags)
{
	struct fid_cntr *c = open_cntr(s, FI_WAIT_UNSPEC);
	assert_int_equal(fi_ep_bind(s->ep, &c->fid, flags), 0);
	return c;
}

/* Waits for one failure, besides so many successes. */
static void expect_failure(struct fid_cntr *c, uint64_t successes)
{
	uint64_t deadline = soon();
	while (fi_cntr_readerr(c) == 0)
		assert_true(now_ns() < deadline);
	assert_int_equal(fi_cntr_readerr(c), 1);
	assert_int_equal(fi_cntr_read(c), successes);
}

/* Rank 0 accesses with a key that rank 1 has not, and sends too much to it. */
static void failure_body(struct process *me, void *argument)
{
	unsigned char buffer[64] = { 0 };
	struct stack s;
	(void)argument;
	stack_open(
		&s, &(struct options){ .disabled = true, .caps = CAPS_ACCESS });
	struct fid_cntr *c[] = { bind_cntr(&s, FI_SEND), bind_cntr(&s, FI_RECV),
		bind_cntr(&s, FI_READ), bind_cntr(&s, FI_WRITE) };
	assert_int_equal(fi_enable(s.ep), 0);
	stack_join(&s, me);
	if (me->rank == 1) {
		MUST(&s, fi_recv(s.ep, buffer, 64, NULL, FI_ADDR_UNSPEC, NULL));
		MUST(&s, fi_recv(s.ep, buffer, 1, NULL, FI_ADDR_UNSPEC, NULL));
	}
	process_barrier(me, &s);
	if (me->rank == 0) {
		MUST(&s, fi_send(s.ep, buffer, 64, NULL, s.peers[1], NULL));
		MUST(&s, fi_send(s.ep, buffer, 64, NULL, s.peers[1], NULL));
		assert_int_equal(fi_cntr_wait(c[0], 2, 10000), 0);
		MUST(&s, fi_read(s.ep, buffer, 8, NULL, s.peers[1], 0, 77,
				 NULL));
		expect_failure(c[2], 0);
		MUST(&s, fi_write(s.ep, buffer, 8, NULL, s.peers[1], 0, 77,
				 NULL));
		expect_failure(c[3], 0);
		assert_int_equal(fi_cntr_readerr(c[0]), 0);
	} else {
		expect_failure(c[1], 1);
	}
	process_barrier(me, &s);
	assert_int_equal(fi_close(&s.ep->fid), 0);
	s.ep = NULL;
	for (unsigned i = 0; i < COUNT(c); i++)
		close_cntr(c[i]);
	stack_close(&s);
}

static void counts_failures(void **state)
{
	(void)state;
	group_run(2, failure_body, NULL);
}

/* ---- poll sets ---- */

static void set_refuses(struct stack *s, struct fid_poll *set)
{
	void *contexts[1];
	assert_int_equal(fi_poll(set, contexts, -1), -FI_EINVAL);
	assert_int_equal(fi_poll(set, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_poll_add(set, &s->av->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(set, &s->rxcq->fid, 1), -FI_EINVAL);
	assert_int_equal(fi_poll_del(set, &s->rxcq->fid, 0), -FI_EINVAL);
}

static void set_next(struct fid_poll *set, const void *expected)
{
	uint64_t deadline = soon();
	void *contexts[4];
	int n;
	while ((n = fi_poll(set, contexts, COUNT(contexts))) == 0)
		assert_true(now_ns() < deadline);
	assert_int_equal(n, 1);
	assert_true(contexts[0] == expected);
}

static void set_receive(
	struct stack *s, struct fid_poll *set, struct fid_cntr *c)
{
	void *contexts[4];
	uint64_t word;
	MUST(s, fi_recv(s->ep, &word, sizeof(word), NULL, FI_ADDR_UNSPEC, s));
	assert_int_equal(fi_poll_add(set, &s->rxcq->fid, 0), 0);
	assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
	set_next(set, s->rxcq->fid.context);
	set_next(set, s->rxcq->fid.context);
	cq_expect(s->rxcq, s);
	assert_int_equal(fi_poll(set, contexts, COUNT(contexts)), 0);
	assert_int_equal(fi_poll_del(set, &s->rxcq->fid, 0), 0);

	assert_int_equal(fi_poll_add(set, &c->fid, 0), 0);
	assert_int_equal(fi_poll(set, contexts, COUNT(contexts)), 0);
	MUST(s, fi_recv(s->ep, &word, sizeof(word), NULL, FI_ADDR_UNSPEC, s));
	set_next(set, c->fid.context);
	assert_int_equal(fi_poll(set, contexts, COUNT(contexts)), 0);
	assert_int_equal(fi_poll_del(set, &c->fid, 0), 0);
}

static void set_body(struct process *me, void *argument)
{
	struct stack s;
	uint64_t word = 0;
	struct fid_poll *set;
	(void)argument;
	stack_open(&s, &(struct options){ .disabled = true });
	struct fid_cntr *c = open_cntr(&s, FI_WAIT_NONE);
	assert_int_equal(fi_ep_bind(s.ep, &c->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(s.ep), 0);
	assert_int_equal(fi_poll_open(s.domain, NULL, &set), 0);
	set_refuses(&s, set);
	stack_join(&s, me);
	if (me->rank == 1)
		set_receive(&s, set, c);
	for (int i = 0; me->rank == 0 && i < 2; i++)
		MUST(&s, fi_inject(s.ep, &word, sizeof(word), s.peers[1]));
	process_barrier(me, &s);
	assert_int_equal(fi_close(&set->fid), 0);
	assert_int_equal(fi_close(&s.ep->fid), 0);
	s.ep = NULL;
	close_cntr(c);
	stack_close(&s);
}

static void poll_sets(void **state)
{
	(void)state;
	group_run(2, set_body, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(can_be_set),
		TEST(refuses_invalid_calls),
		TEST(waits_with_a_timeout),
		TEST(has_a_descriptor),
		TEST(wakes_several),
		TEST(errors_wake),
		TEST(counts_messages),
		TEST(counts_failures),
		TEST(poll_sets),
	};
	group_cold_start = true;
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
