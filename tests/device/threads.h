/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests with real threads on the real platform: worker threads with a port each
 * access a window of one target port.
 */
#ifndef CAY_TESTS_DEVICE_THREADS_H
#define CAY_TESTS_DEVICE_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "device/device.h"
#include "testbench.h"

/* Both platforms are linked; declare the entry points of the real one. */
#define DEVICE(name) device_##name
#include "device/entry.h"
#undef DEVICE

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define SLOWDOWN 10
#else
#define SLOWDOWN 1
#endif

#define THREADS_MAX 4u
#define TARGET	    0u /* port; the origins are the following ports */

struct worker;

struct thread_test {
	struct fixture fixture;
	struct target window;
	uint64_t at; /* arena offset of its memory */
	pthread_barrier_t start;
	_Atomic bool stop;
	void (*body)(struct worker *);
	uint64_t rounds;
};

/* One thread, with its own port and op record. */
struct worker {
	struct thread_test *t;
	pthread_t thread;
	uint32_t number, port;
	uint64_t result[2];
	unsigned char *missed; /* per round: the get was before the put */
};

static inline void thread_test_open(
	struct thread_test *t, uint32_t ports, uint64_t bytes, uint32_t rights)
{
	const struct queue_options options = { .nq_log2 = 5, .rdr_log2 = 10 };
	memset(t, 0, sizeof(*t));
	assert_int_equal(fixture_open(&t->fixture, ports, &options), 0);
	t->at = fixture_memory(&t->fixture, bytes);
	assert_int_not_equal(t->at, 0);
	assert_int_equal(fixture_window(&t->fixture, TARGET, 0, t->at, bytes,
				 rights, &t->window.capability),
		0);
}

static inline void thread_test_close(struct thread_test *t)
{
	fixture_close(&t->fixture);
}

static inline void *worker_main(void *argument)
{
	struct worker *w = argument;
	pthread_barrier_wait(&w->t->start);
	w->t->body(w);
	return NULL;
}

/* Runs `body` on `count` threads, with ports 1 to count. */
static inline void workers_run(struct thread_test *t, struct worker *workers,
	uint32_t count, void (*body)(struct worker *))
{
	t->body = body;
	pthread_barrier_init(&t->start, NULL, count);
	for (uint32_t i = 0; i < count; i++) {
		workers[i].t = t;
		workers[i].number = i;
		workers[i].port = i + 1;
		assert_int_equal(pthread_create(&workers[i].thread, NULL,
					 worker_main, &workers[i]),
			0);
	}
	for (uint32_t i = 0; i < count; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&t->start);
}

static inline void spin(uint64_t *spins)
{
	if (++*spins % 64 == 0)
		sched_yield();
}

/* ---- operations on the target ---- */

static inline _Atomic(struct context *) *route_to_target(const struct worker *w)
{
	return fixture_route(&w->t->fixture, w->port, TARGET);
}

static inline struct target target_at(const struct worker *w, uint64_t offset)
{
	struct target t = w->t->window;
	t.offset = offset;
	return t;
}

static inline int worker_put(
	struct worker *w, uint64_t offset, const void *data, size_t bytes)
{
	struct target t = target_at(w, offset);
	struct fixture_port *p = &w->t->fixture.port[w->port];
	return device_put(&p->origin, route_to_target(w), target_key(&t),
		offset, data, bytes, 0, p->op);
}

static inline int worker_get(
	struct worker *w, uint64_t offset, void *data, size_t bytes)
{
	struct target t = target_at(w, offset);
	struct fixture_port *p = &w->t->fixture.port[w->port];
	return device_get(&p->origin, route_to_target(w), target_key(&t),
		offset, data, bytes, 0, p->op);
}

static inline int worker_atomic(struct worker *w, uint64_t offset,
	uint16_t command, uint64_t first, uint64_t second, uint64_t *previous)
{
	struct target t = target_at(w, offset);
	struct fixture_port *p = &w->t->fixture.port[w->port];
	return command == CAY_FAA
		       ? device_fetch_add(&p->origin, route_to_target(w),
				 target_key(&t), offset, first, previous, 0,
				 p->op)
		       : device_compare_swap(&p->origin, route_to_target(w),
				 target_key(&t), offset, first, second,
				 previous, 0, p->op);
}

static inline int worker_send(
	struct worker *w, uint64_t tag, const void *data, size_t bytes)
{
	struct fixture_port *p = &w->t->fixture.port[w->port];
	const struct iovec payload = { (void *)(uintptr_t)data, bytes };
	const struct packet packet = { .command = CAY_SEND,
		.origin_vpid = p->origin.vpid,
		.tag = tag,
		.pieces = 1,
		.length = bytes,
		.payload = &payload };
	return bytes <= CAY_FAST_SEND_BYTES
		       ? device_send_fast(&p->origin, route_to_target(w), tag,
				 data, bytes, p->op)
		       : device_send(&p->origin, p->op, route_to_target(w),
				 &packet);
}

/* Copies the target's next entry and returns it. False if there is none. */
static inline bool target_receive(struct thread_test *t, struct cay_nqe *copy)
{
	struct context *own = fixture_own(&t->fixture, TARGET);
	uint64_t r =
		atomic_load_explicit(&own->control->r, memory_order_relaxed);
	uint64_t rdr = queue_rdr(r);
	if (!device_peek(own, queue_nq(r)))
		return false;
	*copy = *device_entry(own, queue_nq(r));
	if ((copy->word[7] & CAY_COMMAND_MASK) != CAY_NOTIFY_FAST_RECV)
		rdr = copy->word[5] >> CAY_NQE_RDR_WRITE_SHIFT;
	device_return_entries(own, queue_word(queue_nq(r) + 1, rdr));
	return true;
}

static inline void pattern_fill(void *to, size_t bytes, uint64_t seed)
{
	unsigned char *at = to;
	for (size_t i = 0; i < bytes; i++)
		at[i] = (unsigned char)(seed * 31 + i);
}

static inline bool pattern_matches(
	const void *from, size_t bytes, uint64_t seed)
{
	const unsigned char *at = from;
	for (size_t i = 0; i < bytes; i++)
		if (at[i] != (unsigned char)(seed * 31 + i))
			return false;
	return true;
}

#endif
