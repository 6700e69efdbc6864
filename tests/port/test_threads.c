/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads on one port: messages of each thread keep their order, none is
 * lost, counters are exact, and exited threads leave no records behind.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "status.h"

enum {
	THREADS = 4,
	PORTS = 8,
	SENDERS_MAX = 1024
};

/* ---- receiving process ---- */

struct sink {
	unsigned ports;
	uint64_t messages; /* total */
};

/* Received messages, by sender and port. */
static uint32_t came[PORTS][SENDERS_MAX];

static void sink_name(char name[16], unsigned index)
{
	snprintf(name, 16, "sink%u", index);
}

/* Tag: sender 63:32, its message number for this port 31:0. */
static bool sink_take(struct cay_port *port, unsigned index)
{
	struct cay_event e;
	if (!poll_event(port, &e))
		return false;
	uint32_t sender = (uint32_t)(e.tag >> 32);
	assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
	assert_true(sender < SENDERS_MAX);
	assert_int_equal((uint32_t)e.tag, came[index][sender]);
	came[index][sender]++;
	assert_true(content_fits(e.data, e.length, e.tag));
	cay_release(port, &e);
	return true;
}

static uint64_t sink_round(struct cay_port **ports, unsigned count)
{
	uint64_t taken = 0;
	for (unsigned i = 0; i < count; i++)
		while (sink_take(ports[i], i))
			taken++;
	return taken;
}

static void sink_run(struct child *parent, void *argument)
{
	const struct sink *s = argument;
	struct cay_port *ports[PORTS];
	uint64_t deadline = soon(), taken = 0;
	char name[16];
	memset(came, 0, sizeof(came));
	for (unsigned i = 0; i < s->ports; i++) {
		sink_name(name, i);
		ports[i] = open_named(name);
	}
	while (taken < s->messages) {
		taken += sink_round(ports, s->ports);
		assert_true(now_ns() < deadline);
		sched_yield();
	}
	child_receive(parent);
	assert_int_equal(sink_round(ports, s->ports), 0);
	for (unsigned i = 0; i < s->ports; i++)
		close_port(ports[i]);
}

/* ---- sending threads ---- */

struct source {
	struct cay_port *port;
	struct cay_peer *peers[PORTS];
	unsigned ports;
	uint64_t each; /* messages per thread, to all ports */
	_Atomic uint64_t refused;
};

struct sender {
	struct source *source;
	uint32_t number;
	pthread_t thread;
};

static size_t sender_size(uint32_t sender, uint32_t count)
{
	return count % 16 ? (sender + count) % 41 : 41 + count % 2000;
}

static void sender_send(struct sender *s, unsigned port, uint32_t count)
{
	unsigned char data[2048];
	uint64_t tag = (uint64_t)s->number << 32 | count;
	uint64_t deadline = soon();
	size_t size = sender_size(s->number, count);
	int r;
	content_fill(data, size, tag);
	while ((r = cay_send(s->source->port, s->source->peers[port], tag, data,
			size, 0)) == -EAGAIN) {
		s->source->refused++;
		assert_true(now_ns() < deadline);
		sched_yield();
	}
	assert_int_equal(r, 0);
}

static void *sender_run(void *argument)
{
	struct sender *s = argument;
	uint32_t count[PORTS] = { 0 };
	for (uint64_t i = 0; i < s->source->each; i++) {
		unsigned port = (unsigned)((i + s->number) % s->source->ports);
		sender_send(s, port, count[port]++);
	}
	return NULL;
}

static void sender_start(
	struct sender *s, struct source *source, uint32_t number)
{
	s->source = source;
	s->number = number;
	assert_int_equal(pthread_create(&s->thread, NULL, sender_run, s), 0);
}

static void source_open(struct source *s, unsigned ports)
{
	char name[16];
	s->ports = ports;
	s->port = open_port(NULL);
	for (unsigned i = 0; i < ports; i++) {
		sink_name(name, i);
		s->peers[i] = open_peer_named(s->port, name);
	}
}

static void source_close(struct source *s, struct child *sink, uint64_t sent)
{
	struct cay_stats stats = port_stats(s->port);
	assert_int_equal(stats.issued, sent);
	assert_int_equal(stats.refused, s->refused);
	child_send(sink, 0);
	child_join(sink);
	for (unsigned i = 0; i < s->ports; i++)
		cay_peer_release(s->peers[i]);
	close_port(s->port);
}

static void threads_send(unsigned ports, uint64_t each)
{
	struct source source = { .each = each };
	struct sink sink = { ports, THREADS * each };
	struct sender senders[THREADS];
	struct child child;
	child_start_local(&child, sink_run, &sink);
	source_open(&source, ports);
	for (uint32_t i = 0; i < THREADS; i++)
		sender_start(&senders[i], &source, i);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(senders[i].thread, NULL);
	source_close(&source, &child, THREADS * each);
}

static void one_target(void **state)
{
	(void)state;
	threads_send(1, scaled(100000));
}

static void many_targets(void **state)
{
	(void)state;
	threads_send(PORTS, scaled(100000));
}

/* ---- thread start and exit ---- */

enum {
	WAVES = 20,
	WAVE = 40,
	RECORD_BYTES = 128,
	EACH = 50
};

/* More than a page of records at a time, and many more in sequence. */
static void records_are_reused(void **state)
{
	struct source source = { .each = EACH };
	struct sink sink = { 1, WAVES * WAVE * EACH };
	struct sender senders[WAVE];
	struct child child;
	(void)state;
	child_start_local(&child, sink_run, &sink);
	source_open(&source, 1);
	uint64_t heap_used = status_read().heap_used;
	for (uint32_t wave = 0; wave < WAVES; wave++) {
		for (uint32_t i = 0; i < WAVE; i++)
			sender_start(&senders[i], &source, wave * WAVE + i);
		for (uint32_t i = 0; i < WAVE; i++)
			pthread_join(senders[i].thread, NULL);
		assert_int_equal(status_process(getpid()).records, 0);
	}
	/* The number of records stays at the maximum of concurrent threads. */
	assert_true(status_read().heap_used <= heap_used + WAVE * RECORD_BYTES);
	source_close(&source, &child, WAVES * WAVE * EACH);
}

/*
 * A thread has one record for all ports of a realm, and each port its own
 * count.
 */
static void one_thread_on_many_ports(void **state)
{
	struct cay_port *ports[PORTS];
	struct cay_peer *peers[PORTS];
	(void)state;
	for (unsigned i = 0; i < PORTS; i++) {
		ports[i] = open_port(NULL);
		peers[i] = open_peer(ports[i], ports[i]);
	}
	for (unsigned i = 0; i < PORTS; i++)
		for (unsigned j = 0; j <= i; j++) {
			assert_int_equal(
				cay_send(ports[j], peers[j], i, NULL, 0, 0), 0);
			expect_message(ports[j], i, 0, 0);
		}
	assert_int_equal(status_process(getpid()).records, 1);
	for (unsigned i = 0; i < PORTS; i++) {
		assert_int_equal(port_stats(ports[i]).issued, PORTS - i);
		cay_peer_release(peers[i]);
		close_port(ports[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(one_target),
		TEST(many_targets),
		TEST(records_are_reused),
		TEST(one_thread_on_many_ports),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
