/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several threads of two processes use the same endpoint and queues, each with
 * a tag of its own. A thread that reads a completion marks the request of the
 * thread that posted it.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "harness.h"

#define LONG_BYTES 100000ul

enum {
	THREADS = 4,
	ROUNDS = 1500,
};

/* The context of an operation. */
struct request {
	_Atomic bool done;
	size_t length;
};

struct worker {
	struct stack *s;
	fi_addr_t peer;
	uint64_t tag;
	pthread_t thread;
};

static void reap(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry e;
	if (!cq_poll(cq, &e))
		return;
	struct request *r = e.op_context;
	r->length = e.len;
	atomic_store(&r->done, true);
}

static void finish(struct worker *w, struct request *r)
{
	uint64_t deadline = soon();
	while (!atomic_load(&r->done)) {
		reap(w->s->txcq);
		reap(w->s->rxcq);
		assert_true(now_ns() < deadline);
		sched_yield();
	}
}

static size_t length_of(uint64_t i)
{
	static const size_t lengths[] = { 8, 64, 0, 4096, 9000, 64, 8,
		LONG_BYTES };
	return lengths[i % COUNT(lengths)];
}

static void work_once(
	struct worker *w, unsigned char *to, unsigned char *from, uint64_t i)
{
	struct request sent = { .length = 0 }, got = { .length = 0 };
	size_t length = length_of(i + w->tag);
	content_fill(from, length, i ^ w->tag << 32);
	if (i % 2)
		MUST(w->s, fi_trecv(w->s->ep, to, LONG_BYTES, NULL, w->peer,
				   w->tag, 0, &got));
	MUST(w->s,
		fi_tsend(w->s->ep, from, length, NULL, w->peer, w->tag, &sent));
	if (i % 2 == 0)
		MUST(w->s, fi_trecv(w->s->ep, to, LONG_BYTES, NULL, w->peer,
				   w->tag, 0, &got));
	finish(w, &got);
	assert_int_equal(got.length, length);
	assert_true(content_fits(to, length, i ^ w->tag << 32));
	finish(w, &sent);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	unsigned char *to = malloc(LONG_BYTES), *from = malloc(LONG_BYTES);
	assert_true(to && from);
	for (uint64_t i = 0; i < scaled(ROUNDS); i++)
		work_once(w, to, from, i);
	free(to);
	free(from);
	return NULL;
}

static void threads_body(struct process *me, void *argument)
{
	struct worker workers[THREADS];
	struct stack s;
	stack_open(&s, argument);
	assert_int_equal(s.info->domain_attr->threading, FI_THREAD_SAFE);
	stack_join(&s, me);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.s = &s, .peer = s.peers[1 - me->rank], .tag = i
		};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
					 &workers[i]),
			0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	cq_expect_none(s.rxcq);
	cq_expect_none(s.txcq);
	stack_leave(&s, me);
}

static void threads_share_an_endpoint(void **state)
{
	(void)state;
	group_run(2, threads_body,
		&(struct options){ .threading = FI_THREAD_SAFE });
}

static void threads_share_it_with_automatic_progress(void **state)
{
	(void)state;
	group_run(2, threads_body,
		&(struct options){ .threading = FI_THREAD_SAFE,
			.progress = FI_PROGRESS_AUTO });
}

/* ---- a domain for each thread ---- */

static void *own_domain(void *argument)
{
	struct process *me = argument;
	unsigned char to[64], from[64] = { 0 };
	for (unsigned i = 0; i < scaled(20); i++) {
		struct stack s;
		char name[ADDRESS_MAX];
		size_t length = sizeof(name);
		stack_open(
			&s, &(struct options){ .threading = FI_THREAD_DOMAIN });
		assert_int_equal(fi_getname(&s.ep->fid, name, &length), 0);
		assert_int_equal(
			fi_av_insert(s.av, name, 1, &s.peers[0], 0, NULL), 1);
		MUST(&s, fi_trecv(s.ep, to, 64, NULL, s.peers[0], 1, 0, to));
		MUST(&s, fi_tsend(s.ep, from, 64, NULL, s.peers[0], 1, from));
		cq_expect(s.rxcq, to);
		cq_expect(s.txcq, from);
		stack_close(&s);
	}
	(void)me;
	return NULL;
}

static void domains_body(struct process *me, void *argument)
{
	pthread_t threads[THREADS];
	(void)argument;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, own_domain, me), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void threads_have_domains_of_their_own(void **state)
{
	(void)state;
	group_run(1, domains_body, NULL);
}

/* ---- locking ---- */

static _Thread_local unsigned locks;

/* Replaces that of libc for all libraries; counts the calls of each thread. */
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*_Atomic real)(pthread_mutex_t *);
	if (!real)
		real = (int (*)(pthread_mutex_t *))dlsym(
			RTLD_NEXT, "pthread_mutex_lock");
	locks++;
	return real(mutex);
}

static void send_locks_body(struct process *me, void *argument)
{
	static const size_t lengths[] = { 8, 8, 4096, 9000, 9000, LONG_BYTES };
	static unsigned char to[LONG_BYTES], from[LONG_BYTES];
	struct stack s;
	stack_open(&s, argument);
	stack_join(&s, me);
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		MUST(&s, fi_trecv(s.ep, to, LONG_BYTES, NULL, s.peers[0], 1, 0,
				 to));
		locks = 0;
		MUST(&s, fi_tsend(s.ep, from, lengths[i], NULL, s.peers[0], 1,
				 from));
		/* These also resolve the peer, and allocate memory. */
		if (i != 0 && i != 3)
			assert_int_equal(locks, 1);
		cq_expect(s.rxcq, to);
		cq_expect(s.txcq, from);
	}
	stack_leave(&s, me);
}

static void a_send_takes_the_lock_once(void **state)
{
	(void)state;
	group_run(1, send_locks_body,
		&(struct options){ .threading = FI_THREAD_SAFE });
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(threads_share_an_endpoint),
		TEST(threads_share_it_with_automatic_progress),
		TEST(threads_have_domains_of_their_own),
		TEST(a_send_takes_the_lock_once),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
