/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay_wait(): deadlines, signals and lost wake-ups. Two sides sleep in turn
 * until the message of the other one arrives, after a random time. There is no
 * other sender, so that a lost wake-up ends in a time-out.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "exchange.h"

/* Longer than a wake-up takes on a busy machine. */
#define EXCHANGE_SLEEP_NS (8 * NS_PER_S)

static void deadlines(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *self = open_peer(port, port);
	(void)state;
	assert_int_equal(cay_wait(port, 0), -EAGAIN);
	assert_int_equal(cay_wait(port, 1), -ETIMEDOUT);
	assert_int_equal(cay_wait(port, now_ns() - 1), -ETIMEDOUT);
	for (uint64_t ms = 1; ms <= 64; ms *= 4) {
		uint64_t deadline = now_ns() + ms * NS_PER_MS;
		assert_int_equal(cay_wait(port, deadline), -ETIMEDOUT);
		assert_true(now_ns() >= deadline);
		assert_true(now_ns() < deadline + 5 * NS_PER_S);
	}
	assert_true(port_stats(port).sleeps >= 4);

	/* With an event the deadline does not matter. */
	static const uint64_t any[] = { 0, 1, CAY_FOREVER };
	assert_int_equal(cay_send(port, self, 1, NULL, 0, 0), 0);
	for (unsigned i = 0; i < COUNT(any); i++)
		assert_int_equal(cay_wait(port, any[i]), 0);
	expect_message(port, 1, 0, 0);
	assert_int_equal(cay_wait(port, 0), -EAGAIN);
	cay_peer_release(self);
	close_port(port);
}

static void deadlines_from_now(void **state)
{
	static const struct {
		uint64_t (*from_now)(uint64_t);
		uint64_t unit_ns;
	} units[] = { { cay_deadline_us, NS_PER_US },
		{ cay_deadline_ms, NS_PER_MS }, { cay_deadline_s, NS_PER_S } };
	(void)state;
	for (unsigned i = 0; i < COUNT(units); i++) {
		uint64_t unit = units[i].unit_ns, last = UINT64_MAX / unit;
		uint64_t before = now_ns();
		uint64_t now = units[i].from_now(0);
		uint64_t later = units[i].from_now(7);
		uint64_t after = now_ns();
		assert_in_range(now, before, after);
		assert_in_range(later, before + 7 * unit, after + 7 * unit);
		/* Neither the product nor the sum wraps around. */
		assert_int_equal(units[i].from_now(last), CAY_FOREVER);
		assert_int_equal(units[i].from_now(last + 1), CAY_FOREVER);
		assert_int_equal(units[i].from_now(UINT64_MAX), CAY_FOREVER);
	}
}

/* ---- woken by each kind of event ---- */

static void waker(struct child *parent, void *unused)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "sleeper");
	(void)unused;
	static unsigned char data[20000];
	static const size_t sizes[] = { 0, 100, sizeof(data) };
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		assert_int_equal(child_receive(parent), i);
		nap_ns(20 * NS_PER_MS);
		content_fill(data, sizes[i], i);
		assert_int_equal(cay_send(port, peer, i, data, sizes[i],
					 borrow_long(sizes[i])),
			0);
	}
	expect_complete(port, 2, 0);
	assert_int_equal(child_receive(parent), 3);
	nap_ns(20 * NS_PER_MS);
	cay_peer_release(peer);
	close_port(port);
}

static void any_event_ends_a_wait(void **state)
{
	static const size_t sizes[] = { 0, 100, 20000 };
	struct cay_port *port = open_named("sleeper");
	struct child child;
	struct cay_peer *peer;
	struct cay_event e;
	(void)state;
	child_start(&child, waker, NULL);
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		child_send(&child, i);
		assert_int_equal(cay_wait(port, CAY_FOREVER), 0);
		assert_true(poll_event(port, &e));
		assert_int_equal(e.length, sizes[i]);
		assert_true(content_fits(e.data, e.length, i));
		if (i == 0)
			assert_int_equal(
				cay_peer_resolve(port, e.peer, &peer), 0);
		cay_release(port, &e);
	}
	child_send(&child, 3);
	assert_int_equal(cay_wait(port, CAY_FOREVER), 0);
	expect_gone(port, cay_peer_addr(peer).vpid);
	child_join(&child);
	cay_peer_release(peer);
	close_port(port);
}

/* ---- signals ---- */

static void on_signal(int number)
{
	(void)number;
}

struct signaller {
	pthread_t thread;
	struct cay_port *port;
	struct cay_peer *self;
	_Atomic bool stop;
};

#define SIGNALS 400

/*
 * Repeats the signal, since one just before the sleep has no effect. After the
 * last one a message ends the test.
 */
static void *signaller_run(void *argument)
{
	struct signaller *s = argument;
	for (unsigned i = 0; i < SIGNALS && !s->stop; i++) {
		nap_ns(5 * NS_PER_MS);
		pthread_kill(s->thread, SIGUSR1);
	}
	if (!s->stop)
		cay_send(s->port, s->self, 0, NULL, 0, 0);
	return NULL;
}

static int wait_signalled(
	struct cay_port *port, struct cay_peer *self, uint64_t deadline)
{
	struct signaller s = { pthread_self(), port, self, false };
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, signaller_run, &s), 0);
	int r = cay_wait(port, deadline);
	s.stop = true;
	pthread_join(thread, NULL);
	return r;
}

/* With and without SA_RESTART. */
static void handle(int flags)
{
	struct sigaction action = { .sa_handler = on_signal,
		.sa_flags = flags };
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void signals_end_a_wait(void **state)
{
	static const int flags[] = { 0, SA_RESTART };
	struct cay_port *port = open_port(NULL);
	struct cay_peer *self = open_peer(port, port);
	(void)state;
	for (unsigned i = 0; i < COUNT(flags); i++) {
		handle(flags[i]);
		assert_int_equal(
			wait_signalled(port, self, CAY_FOREVER), -EINTR);
		assert_int_equal(wait_signalled(port, self, soon()), -EINTR);
	}
	check_empty(port);
	assert_int_equal(cay_send(port, self, 1, NULL, 0, 0), 0);
	assert_int_equal(cay_wait(port, CAY_FOREVER), 0);
	expect_message(port, 1, 0, 0);
	cay_peer_release(self);
	close_port(port);
}

/* ---- lost wake-ups ---- */

static void wait_next(struct exchange *x, struct cay_event *e)
{
	assert_int_equal(cay_wait(x->port, now_ns() + EXCHANGE_SLEEP_NS), 0);
	assert_true(poll_event(x->port, e));
}

static void no_wake_up_is_lost(void **state)
{
	struct exchange x = {
		.rounds = scaled(15000), .random = { 2 }, .next = wait_next
	};
	struct child child;
	(void)state;
	child_start_local(&child, exchange_child, &x);
	exchange_run(&x, "first", "second", true);
	assert_true(port_stats(x.port).sleeps > x.rounds / 20);
	child_join(&child);
	expect_gone(x.port, cay_peer_addr(x.peer).vpid);
	exchange_close(&x);
}

/* ---- released entries are returned before a sleep ---- */

/* Fills the queue of the peer. Returns the number of messages. */
static uint64_t fill(struct cay_port *from, struct cay_peer *to)
{
	uint64_t count = 0;
	while (cay_send(from, to, count, NULL, 0, 0) == 0)
		count++;
	return count;
}

static void drain(struct cay_port *port, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		expect_message(port, i, 0, 0);
}

static void sleep_in_wait(struct cay_port *port)
{
	assert_int_equal(cay_wait(port, now_ns() + 2 * NS_PER_MS), -ETIMEDOUT);
}

static void sleep_armed(struct cay_port *port)
{
	assert_true(cay_port_fd(port) >= 0);
	assert_int_equal(cay_port_arm(port), 0);
}

/*
 * Fewer entries than a quarter of the queue are released and not returned. No
 * poll returns them: the port sleeps after an event that was its last.
 */
static void room_is_returned_before(void (*sleep)(struct cay_port *))
{
	struct cay_port *port = open_port(NULL), *to = open_small(NULL, 64);
	struct cay_peer *peer = open_peer(port, to);
	uint64_t room = fill(port, peer);
	assert_true(room > 3);
	drain(to, room);
	check_empty(to);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(cay_send(port, peer, i, NULL, 0, 0), 0);
	drain(to, 3);
	assert_true(port_stats(to).nq_used >= 3);
	sleep(to);
	assert_int_equal(fill(port, peer), room);
	drain(to, room);
	cay_peer_release(peer);
	close_port(to);
	close_port(port);
}

static void sleeping_returns_released_entries(void **state)
{
	(void)state;
	room_is_returned_before(sleep_in_wait);
	room_is_returned_before(sleep_armed);
}

/* ---- cay_send_wait() ---- */

static void slow_receiver(struct child *parent, void *argument)
{
	const uint64_t *messages = argument;
	struct cay_port *port = open_small("slow", 16);
	struct random r = { 3 };
	(void)parent;
	for (uint64_t i = 0; i < *messages; i++) {
		if (random_below(&r, 16) == 0)
			random_pause(&r, EXCHANGE_PAUSE_NS);
		expect_message(port, i, 8, i);
	}
	close_port(port);
}

static void return_wakes_a_sender(void **state)
{
	struct cay_port *port = open_port(NULL);
	uint64_t messages = scaled(50000), data;
	struct child child;
	(void)state;
	child_start_local(&child, slow_receiver, &messages);
	struct cay_peer *peer = open_peer_named(port, "slow");
	for (uint64_t i = 0; i < messages; i++) {
		content_fill(&data, sizeof(data), i);
		assert_int_equal(cay_send_wait(port, peer, i, &data,
					 sizeof(data), 0, soon()),
			0);
	}
	child_join(&child);
	cay_peer_release(peer);
	close_port(port);
}

/* The peer closes while the sender waits. */
static void doomed(struct child *parent, void *unused)
{
	struct cay_port *port = open_small("doomed", 16);
	(void)unused;
	child_send(parent, 1);
	child_receive(parent);
	nap_ns(20 * NS_PER_MS);
	close_port(port);
}

static void close_wakes_a_sender(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct child child;
	int r;
	(void)state;
	child_start(&child, doomed, NULL);
	child_receive(&child);
	struct cay_peer *peer = open_peer_named(port, "doomed");
	while ((r = cay_send(port, peer, 0, NULL, 0, 0)) == 0)
		;
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(cay_send_wait(port, peer, 0, NULL, 0, 0, 0), -EAGAIN);
	child_send(&child, 1);
	assert_int_equal(
		cay_send_wait(port, peer, 0, NULL, 0, 0, CAY_FOREVER), -EPIPE);
	child_join(&child);
	expect_gone(port, cay_peer_addr(peer).vpid);
	cay_peer_release(peer);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(deadlines),
		TEST(deadlines_from_now),
		TEST(any_event_ends_a_wait),
		TEST(signals_end_a_wait),
		TEST(no_wake_up_is_lost),
		TEST(sleeping_returns_released_entries),
		TEST(return_wakes_a_sender),
		TEST(close_wakes_a_sender),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
