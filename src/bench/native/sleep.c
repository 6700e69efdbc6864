/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waking a sleeper: rank 0 waits until rank 1 must be asleep, sends, and spins
 * for the answer. The reference raises a word with a futex, the baseline writes
 * an eventfd, Cay's receiver sits in cay_wait(). The answer to the first two
 * is one line; a trip is a wake-up and that answer.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "bench/native/endpoint.h"
#include "bench/native/futex_word.h"

#define SLEEP_PAUSE_NS (300 * CLOCK_NS_PER_US)

/* Busy, so that the core of rank 0 is awake when it sends. */
static int sleep_prepare(struct side *s)
{
	uint64_t until = clock_after_ns(SLEEP_PAUSE_NS);

	while (s->rank == 0 && !clock_passed(until))
		;
	return 0;
}

/* ---- the answer ---- */

static int answer_give(struct side *s)
{
	atomic_fetch_add_explicit(
		&word_of(s, 0)->raised, 1, memory_order_release);
	return 0;
}

static int answer_await(struct side *s)
{
	struct word *w = word_of(s, 0);
	uint32_t looks = 0;
	int r;

	while (atomic_load_explicit(&w->raised, memory_order_acquire) ==
		w->seen)
		if ((r = group_spin(s->group, &looks)))
			return r;
	w->seen++;
	return 0;
}

/* ---- futex ---- */

static int futex_raise(struct side *s)
{
	word_raise(s, 1);
	return 0;
}

static int futex_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, futex_raise, answer_await);
}

static int futex_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, word_sleep, answer_give);
}

/* ---- eventfd ---- */

static int event_raise(struct side *s)
{
	uint64_t one = 1;
	ssize_t n = write(s->group->event[1], &one, sizeof(one));

	return n == (ssize_t)sizeof(one) ? 0 : -EIO;
}

/* poll() before read() as an event loop does, and because it has a limit. */
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

static int event_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, event_raise, answer_await);
}

static int event_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, event_sleep, answer_give);
}

/* ---- Cay ---- */

static int endpoint_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, endpoint_send, endpoint_receive);
}

static int endpoint_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, endpoint_receive_asleep, endpoint_send);
}

/* A receiver that was never asleep has measured something else. */
static int endpoint_slept(struct side *s)
{
	struct endpoint *c = s->state;
	struct cay_stats stats;
	int r = cay_port_stats(c->port, &stats);

	if (r || s->rank == 0 || c->received < 16)
		return r;
	if (stats.sleeps * 2 > c->received)
		return 0;
	return group_fail(s->group, "the receiver was awake %llu times of %llu",
		(unsigned long long)(c->received - stats.sleeps),
		(unsigned long long)c->received);
}

static int endpoint_prepare(struct side *s)
{
	int r = endpoint_slept(s);

	return r ? r : sleep_prepare(s);
}

const struct workload sleep_futex_workload = {
	.name = "futex",
	.setup = word_setup,
	.prepare = sleep_prepare,
	.ping = futex_ping,
	.pong = futex_pong,
	.teardown = workload_leave,
};

const struct workload sleep_eventfd_workload = {
	.name = "eventfd",
	.setup = word_setup,
	.prepare = sleep_prepare,
	.ping = event_ping,
	.pong = event_pong,
	.teardown = workload_leave,
};

const struct workload sleep_cay_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.prepare = endpoint_prepare,
	.ping = endpoint_ping,
	.pong = endpoint_pong,
	.teardown = endpoint_teardown,
};
