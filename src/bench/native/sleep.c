/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waking a sleeping receiver: rank 0 waits until rank 1 must be asleep, sends,
 * and spins for the answer. The reference wakes with a futex, the baseline with
 * an eventfd; their answer is a store to rank 0's word. Cay's receiver sleeps
 * in cay_wait(). An iteration is a wake-up and its answer.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "bench/native/endpoint.h"
#include "bench/native/futex_word.h"

#define PAUSE_NS     (300 * CLOCK_NS_PER_US)
#define MESSAGES_MIN 16 /* before the share of sleeps is checked */

/* Busy, so that rank 0's core is awake when it sends. */
static int pause_prepare(struct side *s)
{
	uint64_t until = clock_after_ns(PAUSE_NS);

	while (s->rank == 0 && !clock_passed(until))
		;
	return 0;
}

/* ---- the answer ---- */

static int answer_send(struct side *s)
{
	atomic_fetch_add_explicit(
		&futex_word(s, 0)->posted, 1, memory_order_release);
	return 0;
}

static int answer_receive(struct side *s)
{
	struct futex_word *w = futex_word(s, 0);
	uint32_t spins = 0;
	int r;

	while (atomic_load_explicit(&w->posted, memory_order_acquire) ==
		w->seen)
		if ((r = group_spin(s->group, &spins)))
			return r;
	w->seen++;
	return 0;
}

/* ---- futex ---- */

static int futex_wake_peer(struct side *s)
{
	return futex_word_post(s, 1);
}

static int futex_run(struct side *s, uint32_t iterations)
{
	if (s->rank == 0)
		return workload_ping_pong(
			s, iterations, futex_wake_peer, answer_receive);
	return workload_ping_pong(s, iterations, answer_send, futex_word_sleep);
}

/* ---- eventfd ---- */

static int event_wake_peer(struct side *s)
{
	uint64_t one = 1;
	ssize_t n = write(s->group->event[1], &one, sizeof(one));

	return n == (ssize_t)sizeof(one) ? 0 : -EIO;
}

/* poll() before read(), as an event loop does, and for its time-out. */
static int event_sleep(struct side *s)
{
	struct pollfd p = { .fd = s->group->event[1], .events = POLLIN };
	uint64_t count;
	int r;

	while (poll(&p, 1, 100) != 1)
		if ((r = group_check(s->group)))
			return r;
	return read(p.fd, &count, sizeof(count)) == (ssize_t)sizeof(count)
		       ? 0
		       : -EIO;
}

static int event_run(struct side *s, uint32_t iterations)
{
	if (s->rank == 0)
		return workload_ping_pong(
			s, iterations, event_wake_peer, answer_receive);
	return workload_ping_pong(s, iterations, answer_send, event_sleep);
}

/* ---- Cay ---- */

/* Fails if the receiver was usually awake: that is another measurement. */
static int cay_prepare(struct side *s)
{
	struct endpoint *p = s->state;
	struct cay_stats stats;
	int r = cay_port_stats(p->port, &stats);

	if (r)
		return r;
	if (s->rank != 0 && p->received >= MESSAGES_MIN &&
		stats.sleeps * 2 <= p->received)
		return group_fail(s->group,
			"the receiver was awake for %llu of %llu messages",
			(unsigned long long)(p->received - stats.sleeps),
			(unsigned long long)p->received);
	return pause_prepare(s);
}

static int cay_run(struct side *s, uint32_t iterations)
{
	if (s->rank == 0)
		return workload_ping_pong(
			s, iterations, endpoint_send, endpoint_receive);
	return workload_ping_pong(
		s, iterations, endpoint_send, endpoint_receive_asleep);
}

const struct workload sleep_futex_workload = {
	.name = "futex",
	.prepare = pause_prepare,
	.run = futex_run,
};

const struct workload sleep_eventfd_workload = {
	.name = "eventfd",
	.prepare = pause_prepare,
	.run = event_run,
};

const struct workload sleep_cay_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.prepare = cay_prepare,
	.run = cay_run,
	.teardown = endpoint_teardown,
};
