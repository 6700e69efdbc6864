/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads of a network. In each cycle every worker simulates its nodes,
 * then all threads meet at a barrier. A worker reads what others have written
 * for it in a later cycle, so one barrier per cycle is enough. The caller is
 * the first thread; between two runs the other threads wait at the barrier.
 *
 * A large network has more workers than threads: the state of a worker's nodes
 * then stays in the cache from the first step of a cycle to the last.
 *
 * After a cycle every worker publishes a summary, from which all threads derive
 * the same next cycle, or that the caller has to intervene. There are two sets
 * of summaries: one is written again two cycles later, when all threads have
 * passed the barrier after reading it.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "network/router/input.h"

#define SPINS 4000 /* at the barrier, before a thread sleeps */

struct worker_summary {
	bool active;   /* the worker has work in the next cycles */
	bool stop;     /* the caller has to intervene */
	uint64_t next; /* not active: when a node creates a packet */
} __attribute__((aligned(64)));

/* A thread, and the range of its workers. */
struct pool_thread {
	struct network *network;
	unsigned first, end;
	pthread_t thread;
};

struct thread_pool {
	unsigned count; /* of threads, including the caller */
	uint64_t until;
	bool quit;
	struct pool_thread thread[NETWORK_THREADS_MAX];
	struct worker_summary summary[2][WORKERS_MAX];
	pthread_mutex_t lock;
	pthread_cond_t phase_changed;
	_Alignas(64) _Atomic uint32_t arrived;
	_Alignas(64) _Atomic uint32_t phase;
};

/* ---- the barrier ---- */

/* Acquire: pairs with the release store of phase by the last arrival. */
static bool phase_over(struct thread_pool *p, uint32_t phase)
{
	return atomic_load_explicit(&p->phase, memory_order_acquire) != phase;
}

/*
 * Arrival releases this thread's stores of the cycle; the last arrival acquires
 * those of all threads and passes them on by the release store of the new
 * phase. That store is made under the lock, so that no thread starts to sleep
 * between its check of the phase and the broadcast.
 */
static void barrier_wait(struct thread_pool *p)
{
	uint32_t phase = atomic_load_explicit(&p->phase, memory_order_relaxed);
	uint32_t before =
		atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel);
	if (before + 1 == p->count) {
		atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
		pthread_mutex_lock(&p->lock);
		atomic_store_explicit(
			&p->phase, phase + 1, memory_order_release);
		pthread_mutex_unlock(&p->lock);
		pthread_cond_broadcast(&p->phase_changed);
		return;
	}
	for (unsigned i = 1; i < SPINS; i++) {
		if (phase_over(p, phase))
			return;
		if (i % 64 == 0)
			sched_yield();
	}
	pthread_mutex_lock(&p->lock);
	while (!phase_over(p, phase))
		pthread_cond_wait(&p->phase_changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

/* ---- a cycle ---- */

/* Handles the events that all workers have sent to this one. */
static void worker_arrivals(struct worker *w)
{
	struct network *n = w->network;
	for (unsigned i = 0; i < n->workers; i++) {
		struct wheel_list *lists = wheel_list(
			&n->worker[i].wheel, w->now, w->index, WHEEL_FLIT);
		flits_arrive(w, &lists[WHEEL_FLIT]);
		credits_arrive(w, &lists[WHEEL_CREDIT]);
		const struct wheel_list *ready = &lists[WHEEL_READY];
		for (uint32_t k = 0; k < ready->count; k++) {
			uint32_t vc = ready->event[k].index;
			struct input_vc *in = &n->input[vc];
			if (in->state == INPUT_ACTIVE && in->count)
				input_request_switch(w, in, vc);
		}
		host_resends(w, &lists[WHEEL_HOST]);
		const struct wheel_list *barrier = &lists[WHEEL_BARRIER];
		for (uint32_t k = 0; k < barrier->count; k++)
			transport_receive(w, barrier->event[k].index,
				barrier->event[k].value);
		for (unsigned k = 0; k < WHEEL_KINDS; k++)
			lists[k].count = 0;
	}
}

static void worker_cycle(struct worker *w, uint64_t now)
{
	struct network *n = w->network;
	w->now = now;
	worker_arrivals(w);
	w->flits_slot = wheel_list(
		&w->wheel, now + n->router.link_delay, 0, WHEEL_FLIT);
	w->credits_slot = wheel_list(
		&w->wheel, now + n->router.credit_delay, 0, WHEEL_CREDIT);
	transport_step(w);
	if (n->load)
		load_generate(w);
	vc_allocate(w);
	switch_allocate(w);
	sources_inject(w);
}

static struct worker_summary worker_summarize(const struct worker *w)
{
	unsigned next = ~w->now & 1;
	bool active = w->vc_worklist[next].count ||
		      w->switch_worklist[next].count ||
		      w->source_worklist[next].count ||
		      wheel_busy(&w->wheel, w->now) || transport_pending(w);
	return (struct worker_summary){
		.active = active,
		.stop = w->interrupts.count || w->error || w->wheel.full,
		.next = active ? 0 : load_next(w),
	};
}

/*
 * Runs the workers of a thread; all threads simulate the same cycles. Returns
 * the time after the last one. `until` is read once: after the last barrier the
 * caller may change it.
 */
static uint64_t thread_run(const struct pool_thread *t)
{
	struct network *n = t->network;
	struct thread_pool *p = n->pool;
	uint64_t now = n->now, until = p->until;
	bool stop = false;
	for (unsigned set = 0; now < until && !stop; set ^= 1) {
		struct worker_summary *summary = p->summary[set];
		for (unsigned i = t->first; i < t->end; i++) {
			worker_cycle(&n->worker[i], now);
			summary[i] = worker_summarize(&n->worker[i]);
		}
		if (p->count > 1)
			barrier_wait(p);
		/* Idle cycles are skipped. */
		uint64_t next = until;
		bool active = false;
		for (unsigned i = 0; i < n->workers; i++) {
			stop |= summary[i].stop;
			active |= summary[i].active;
			next = bits_min(next, summary[i].next);
		}
		now = active || stop ? now + 1 : next;
	}
	return now;
}

void thread_pool_run(struct network *n, uint64_t until)
{
	struct thread_pool *p = n->pool;
	p->until = until;
	if (p->count > 1)
		barrier_wait(p);
	n->now = thread_run(&p->thread[0]);
}

/* ---- threads ---- */

static void *thread_main(void *argument)
{
	const struct pool_thread *t = argument;
	struct thread_pool *p = t->network->pool;
	for (;;) {
		barrier_wait(p);
		if (p->quit)
			return NULL;
		thread_run(t);
	}
}

/* Ends the `started` threads, which wait at the barrier; frees the pool. */
static void pool_stop(struct network *n, unsigned started)
{
	struct thread_pool *p = n->pool;
	p->quit = true;
	if (p->count != started)
		p->count = started;
	if (started > 1)
		barrier_wait(p);
	for (unsigned i = 1; i < started; i++)
		pthread_join(p->thread[i].thread, NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->phase_changed);
	free(p);
	n->pool = NULL;
}

int thread_pool_open(struct network *n, unsigned threads)
{
	struct thread_pool *p =
		aligned_alloc(64, bits_round_up(sizeof(*p), 64));
	if (!p)
		return -ENOMEM;
	*p = (struct thread_pool){ .count = threads };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->phase_changed, NULL);
	n->pool = p;
	for (unsigned i = 0; i < threads; i++)
		p->thread[i] = (struct pool_thread){ .network = n,
			.first = n->workers * i / threads,
			.end = n->workers * (i + 1) / threads };
	/* The threads block at the barrier until the caller arrives. */
	for (unsigned i = 1; i < threads; i++) {
		struct pool_thread *t = &p->thread[i];
		int r = pthread_create(&t->thread, NULL, thread_main, t);
		if (r) {
			pool_stop(n, i);
			return -r;
		}
	}
	return 0;
}

void thread_pool_close(struct network *n)
{
	if (n->pool)
		pool_stop(n, n->pool->count);
}
