/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads of a network. In each cycle every worker does its nodes, then all
 * threads meet at a barrier; what a worker writes for others lies in lists that
 * they read in a later cycle, so one barrier is enough. The caller is the first
 * thread; the others wait at the same barrier between two runs.
 *
 * A large network has more workers than threads: what a worker needs of its
 * nodes then stays in the cache from the first step of a cycle to the last.
 *
 * After a cycle every worker publishes what it knows, and all decide the same:
 * which cycle is next, or that the caller has to do something first. What is
 * published in one turn is written again two turns later, when everybody has
 * passed the barrier behind reading it.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "network/router/input.h"

#define SPINS 4000 /* at the barrier, before a thread sleeps */

struct summary {
	bool awake;    /* something is to do, or under way */
	bool stop;     /* the caller has to look */
	uint64_t next; /* not awake: when a node creates a packet */
} __attribute__((aligned(64)));

/* A thread, and the workers that it plays. */
struct hand {
	struct network *network;
	unsigned first, end;
	pthread_t thread;
};

struct crew {
	unsigned count; /* of threads, with the caller */
	uint64_t until;
	bool quits;
	struct hand hand[NETWORK_THREADS_MAX];
	struct summary summary[2][WORKERS_MAX];
	pthread_mutex_t lock;
	pthread_cond_t turned;
	_Alignas(64) _Atomic uint32_t arrived;
	_Alignas(64) _Atomic uint32_t phase;
};

/* ---- the barrier ---- */

/* Acquire: pairs with the release of the last one that arrived. */
static bool phase_over(struct crew *c, uint32_t phase)
{
	return atomic_load_explicit(&c->phase, memory_order_acquire) != phase;
}

static void barrier_wait(struct crew *c, uint32_t phase)
{
	for (unsigned i = 1; i < SPINS; i++) {
		if (phase_over(c, phase))
			return;
		if (i % 64 == 0)
			sched_yield();
	}
	pthread_mutex_lock(&c->lock);
	while (!phase_over(c, phase))
		pthread_cond_wait(&c->turned, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

/*
 * Who arrives releases what it did in this cycle and, as the last, acquires
 * what all others did; the new phase passes that on to those who wait. It is
 * stored under the lock, so that nobody falls asleep between looking and it.
 */
static void barrier_meet(struct crew *c)
{
	uint32_t phase = atomic_load_explicit(&c->phase, memory_order_relaxed);
	uint32_t before =
		atomic_fetch_add_explicit(&c->arrived, 1, memory_order_acq_rel);
	if (before + 1 < c->count) {
		barrier_wait(c, phase);
		return;
	}
	atomic_store_explicit(&c->arrived, 0, memory_order_relaxed);
	pthread_mutex_lock(&c->lock);
	atomic_store_explicit(&c->phase, phase + 1, memory_order_release);
	pthread_mutex_unlock(&c->lock);
	pthread_cond_broadcast(&c->turned);
}

/* ---- a cycle ---- */

static void arrive_others(struct worker *w, struct wheel_list *lists)
{
	struct network *n = w->network;
	struct wheel_list *ready = &lists[WHEEL_READY];
	struct wheel_list *host = &lists[WHEEL_HOST];
	struct wheel_list *barrier = &lists[WHEEL_BARRIER];
	for (uint32_t i = 0; i < ready->count; i++) {
		uint32_t place = ready->event[i].place;
		if (n->input[place].state == INPUT_ACTIVE &&
			n->input[place].count)
			input_moves(w, &n->input[place], place);
	}
	host_events(w, host);
	for (uint32_t i = 0; i < barrier->count; i++)
		level_receive(
			w, barrier->event[i].place, barrier->event[i].what);
}

static void worker_arrivals(struct worker *w)
{
	struct network *n = w->network;
	for (unsigned i = 0; i < n->workers; i++) {
		struct wheel_list *lists = wheel_list(
			&n->worker[i].wheel, w->now, w->index, WHEEL_FLIT);
		arrive_flits(w, &lists[WHEEL_FLIT]);
		arrive_credits(w, &lists[WHEEL_CREDIT]);
		arrive_others(w, lists);
		for (unsigned k = 0; k < WHEEL_KINDS; k++)
			lists[k].count = 0;
	}
	w->flits_slot = wheel_list(
		&w->wheel, w->now + n->router.link_delay, 0, WHEEL_FLIT);
	w->credits_slot = wheel_list(
		&w->wheel, w->now + n->router.credit_delay, 0, WHEEL_CREDIT);
}

static void worker_cycle(struct worker *w, uint64_t now)
{
	w->now = now;
	worker_arrivals(w);
	level_step(w);
	if (w->network->load)
		load_generate(w);
	channel_allocate(w);
	crossbar_move(w);
	source_step(w);
}

static bool worker_awake(const struct worker *w)
{
	unsigned next = ~w->now & 1;
	return w->asking[next].count || w->moving[next].count ||
	       w->sending[next].count || wheel_busy(&w->wheel, w->now) ||
	       level_waits(w);
}

static void worker_publish(struct worker *w, struct summary *all)
{
	bool awake = worker_awake(w);
	all[w->index] = (struct summary){
		.awake = awake,
		.stop = w->alarms.count || w->error || w->wheel.full,
		.next = awake ? 0 : load_next(w),
	};
}

/* The next cycle, or `until`; `stop`: the caller has to look before. */
static uint64_t crew_next(const struct network *n, const struct summary *all,
	uint64_t now, uint64_t until, bool *stop)
{
	uint64_t next = until;
	bool awake = false;
	*stop = false;
	for (unsigned i = 0; i < n->workers; i++) {
		const struct summary *s = &all[i];
		*stop |= s->stop;
		awake |= s->awake;
		next = bits_min(next, s->next);
	}
	return awake || *stop ? now + 1 : next;
}

/*
 * All threads go through the same cycles. The time behind the last of them.
 * What the caller has said is read once: behind the last barrier it may already
 * say something else.
 */
static uint64_t hand_run(const struct hand *h)
{
	struct network *n = h->network;
	struct crew *c = n->crew;
	uint64_t now = n->now, until = c->until;
	bool stop = false;
	for (unsigned turn = 0; now < until && !stop; turn ^= 1) {
		for (unsigned i = h->first; i < h->end; i++) {
			worker_cycle(&n->worker[i], now);
			worker_publish(&n->worker[i], c->summary[turn]);
		}
		if (c->count > 1)
			barrier_meet(c);
		now = crew_next(n, c->summary[turn], now, until, &stop);
	}
	return now;
}

void crew_run(struct network *n, uint64_t until)
{
	struct crew *c = n->crew;
	c->until = until;
	if (c->count > 1)
		barrier_meet(c);
	n->now = hand_run(&c->hand[0]);
}

/* ---- threads ---- */

static void *hand_main(void *argument)
{
	const struct hand *h = argument;
	struct crew *c = h->network->crew;
	for (;;) {
		barrier_meet(c);
		if (c->quits)
			return NULL;
		hand_run(h);
	}
}

/* Sends away those of the threads that were started: the barrier is theirs. */
static void crew_stop(struct crew *c, unsigned started)
{
	c->quits = true;
	if (c->count != started)
		c->count = started;
	if (started > 1)
		barrier_meet(c);
	for (unsigned i = 1; i < started; i++)
		pthread_join(c->hand[i].thread, NULL);
}

/* Nobody gets past the barrier before the caller is there. */
static int crew_start(struct crew *c)
{
	for (unsigned i = 1; i < c->count; i++) {
		struct hand *h = &c->hand[i];
		int r = pthread_create(&h->thread, NULL, hand_main, h);
		if (r) {
			crew_stop(c, i);
			return -r;
		}
	}
	return 0;
}

static void crew_free(struct network *n)
{
	pthread_mutex_destroy(&n->crew->lock);
	pthread_cond_destroy(&n->crew->turned);
	free(n->crew);
	n->crew = NULL;
}

int crew_open(struct network *n, unsigned threads)
{
	struct crew *c = aligned_alloc(64, bits_round_up(sizeof(*c), 64));
	if (!c)
		return -ENOMEM;
	*c = (struct crew){ .count = threads };
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->turned, NULL);
	n->crew = c;
	for (unsigned i = 0; i < threads; i++)
		c->hand[i] = (struct hand){ .network = n,
			.first = n->workers * i / threads,
			.end = n->workers * (i + 1) / threads };
	int r = crew_start(c);
	if (r)
		crew_free(n);
	return r;
}

void crew_close(struct network *n)
{
	if (!n->crew)
		return;
	crew_stop(n->crew, n->crew->count);
	crew_free(n);
}
