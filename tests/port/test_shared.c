/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CAY_PORT_SHARED: several threads poll, wait and release on one port. Exactly
 * one of them receives each message, and no wake-up is lost.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "harness.h"

enum {
	CONSUMERS = 4,
	SENDERS = 2
};

static struct cay_port *open_shared(const char *name)
{
	return open_port(&(struct cay_port_options){ .name = name,
		.nq_entries = 64,
		.rdr_bytes = 1,
		.flags = CAY_PORT_SHARED });
}

/* ---- continuous traffic ---- */

static size_t flood_size(uint64_t number)
{
	if (number % 101 == 0)
		return CAY_EAGER_MAX + number % 5000;
	return number % 11 ? number % 41 : number % 3000;
}

struct flood {
	uint64_t each;	/* messages per sender */
	uint64_t first; /* tag */
};

static void flood_send(
	struct cay_port *port, struct cay_peer *peer, uint64_t tag)
{
	unsigned char data[16384];
	size_t size = flood_size(tag);
	content_fill(data, size, tag);
	assert_int_equal(cay_send_wait(port, peer, tag, data, size,
				 borrow_long(size), soon()),
		0);
	if (size > CAY_EAGER_MAX)
		expect_complete(port, tag, 0);
}

static void flood_child(struct child *parent, void *argument)
{
	const struct flood *f = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "shared");
	(void)parent;
	for (uint64_t i = 0; i < f->each; i++)
		flood_send(port, peer, f->first + i);
	check_empty(port);
	cay_peer_release(peer);
	close_port(port);
}

/* The threads, and the event that one of them leaves to the next. */
struct consumers {
	struct cay_port *port;
	uint64_t messages;
	_Atomic uint64_t taken;
	_Atomic uint8_t *seen;
	pthread_mutex_t lock;
	struct cay_event parked;
	bool is_parked;
};

/* Every second event is released by the next thread. */
static void consumer_release(struct consumers *c, const struct cay_event *e)
{
	struct cay_event now = *e;
	pthread_mutex_lock(&c->lock);
	bool release = c->is_parked || e->tag % 2 == 0;
	if (c->is_parked) {
		now = c->parked;
		c->parked = *e;
	} else if (!release) {
		c->parked = *e;
		c->is_parked = true;
	}
	pthread_mutex_unlock(&c->lock);
	if (release)
		cay_release(c->port, &now);
}

static void consumer_take(struct consumers *c)
{
	struct cay_event e[3];
	int n = cay_poll(c->port, e, COUNT(e));
	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		assert_int_equal(e[i].kind, CAY_EVENT_MESSAGE);
		assert_int_equal(e[i].error, 0);
		assert_int_equal(e[i].length, flood_size(e[i].tag));
		assert_true(content_fits(e[i].data, e[i].length, e[i].tag));
		assert_int_equal(c->seen[e[i].tag]++, 0);
		consumer_release(c, &e[i]);
		c->taken++;
	}
}

/* Senders may wait for the entry of the parked event. */
static void consumer_unpark(struct consumers *c)
{
	pthread_mutex_lock(&c->lock);
	bool is_parked = c->is_parked;
	struct cay_event e = c->parked;
	c->is_parked = false;
	pthread_mutex_unlock(&c->lock);
	if (is_parked)
		cay_release(c->port, &e);
}

static void *consumer_waits(void *argument)
{
	struct consumers *c = argument;
	while (c->taken < c->messages) {
		int r = cay_wait(c->port, now_ns() + 5 * NS_PER_MS);
		assert_true(r == 0 || r == -ETIMEDOUT);
		if (r)
			consumer_unpark(c);
		consumer_take(c);
	}
	return NULL;
}

static void *consumer_polls(void *argument)
{
	struct consumers *c = argument;
	while (c->taken < c->messages) {
		consumer_take(c);
		sched_yield();
	}
	return NULL;
}

static void consumers_run(struct consumers *c)
{
	pthread_t threads[CONSUMERS];
	for (unsigned i = 0; i < CONSUMERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL,
				i % 2 ? consumer_waits : consumer_polls, c),
			0);
	for (unsigned i = 0; i < CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	consumer_unpark(c);
}

static void each_message_exactly_once(void **state)
{
	struct flood flood[SENDERS];
	uint64_t each = scaled(40000);
	struct consumers c = { .messages = SENDERS * each,
		.lock = PTHREAD_MUTEX_INITIALIZER };
	struct child senders[SENDERS];
	(void)state;
	c.port = open_shared("shared");
	c.seen = calloc(c.messages, 1);
	for (unsigned i = 0; i < SENDERS; i++) {
		flood[i] = (struct flood){ each, i * each };
		child_start_local(&senders[i], flood_child, &flood[i]);
	}
	consumers_run(&c);
	for (unsigned i = 0; i < SENDERS; i++)
		child_join(&senders[i]);
	check_empty(c.port);
	struct cay_stats s = port_stats(c.port);
	assert_int_equal(s.received, c.messages);
	assert_int_equal(s.nq_used, 0);
	assert_int_equal(s.rdr_used, 0);
	free((void *)c.seen);
	close_port(c.port);
}

/* ---- lost wake-ups: one message at a time, all threads asleep ---- */

#define STOP		  UINT64_MAX
#define EXCHANGE_PAUSE_NS (120 * NS_PER_US)

struct sleepers {
	struct cay_port *port;
	struct cay_peer *peer;
};

/* Returns true at the end. */
static bool sleeper_take(struct sleepers *s)
{
	struct cay_event e;
	if (!poll_event(s->port, &e))
		return false;
	uint64_t tag = e.tag;
	cay_release(s->port, &e);
	if (tag == STOP)
		return true;
	assert_int_equal(cay_send(s->port, s->peer, tag, NULL, 0, 0), 0);
	return false;
}

static void *sleeper_long(void *argument)
{
	do
		assert_int_equal(
			cay_wait(((struct sleepers *)argument)->port, soon()),
			0);
	while (!sleeper_take(argument));
	return NULL;
}

/* A thread that times out must not consume the wake-up of another. */
static void *sleeper_short(void *argument)
{
	struct sleepers *s = argument;
	struct random r = { 5 };
	int e;
	do {
		e = cay_wait(s->port, now_ns() + random_below(&r, NS_PER_MS));
		assert_true(e == 0 || e == -ETIMEDOUT);
	} while (!sleeper_take(s));
	return NULL;
}

static void sleepers_child(struct child *parent, void *unused)
{
	struct sleepers s;
	pthread_t threads[CONSUMERS];
	(void)parent;
	(void)unused;
	s.port = open_shared("sleepers");
	s.peer = open_peer_named(s.port, "waker");
	for (unsigned i = 0; i < CONSUMERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL,
				i % 2 ? sleeper_short : sleeper_long, &s),
			0);
	for (unsigned i = 0; i < CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	cay_peer_release(s.peer);
	close_port(s.port);
}

static void no_wake_up_is_lost(void **state)
{
	struct cay_port *port = open_named("waker");
	struct random r = { 6 };
	struct child child;
	(void)state;
	child_start_local(&child, sleepers_child, NULL);
	struct cay_peer *peer = open_peer_named(port, "sleepers");
	for (uint64_t i = 0; i < scaled(8000); i++) {
		random_pause(&r, EXCHANGE_PAUSE_NS);
		assert_int_equal(cay_send(port, peer, i, NULL, 0, 0), 0);
		expect_message(port, i, 0, 0);
	}
	for (unsigned i = 0; i < CONSUMERS; i++)
		assert_int_equal(cay_send(port, peer, STOP, NULL, 0, 0), 0);
	child_join(&child);
	expect_gone(port, cay_peer_addr(peer).vpid);
	cay_peer_release(peer);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_message_exactly_once),
		TEST(no_wake_up_is_lost),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
