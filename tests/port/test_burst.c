/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bursts: several messages with one call arrive in order, each once, however
 * full the queue is; messages that cannot share a claim go with the others; the
 * result is the number of messages sent, or the error of the first one.
 */
#include <errno.h>
#include <string.h>

#include "harness.h"

/* The smallest queue, and the part of it that messages can use. */
enum {
	ENTRIES = 16,
	ORDINARY = ENTRIES - ENTRIES / 4 - ENTRIES / 16,
};

enum {
	BURST_MAX = 200, /* more than one claim has */
	BYTES_MAX = 20000
};

struct way {
	struct cay_port *from, *to;
	struct cay_peer *peer;
};

static struct way way_open(uint32_t nq_entries)
{
	struct way w;
	w.from = open_small(NULL, nq_entries);
	w.to = open_small(NULL, nq_entries);
	w.peer = open_peer(w.from, w.to);
	return w;
}

static void way_close(struct way *w)
{
	check_empty(w->to);
	assert_int_equal(port_stats(w->to).nq_used, 0);
	cay_peer_release(w->peer);
	close_port(w->from);
	close_port(w->to);
}

/* Messages from number `first` on, of these lengths in turn. */
static const struct cay_message *burst_make(
	uint64_t first, unsigned count, const size_t *lengths, unsigned turns)
{
	static unsigned char data[BURST_MAX][64];
	static unsigned char bulk[BYTES_MAX];
	static struct cay_message messages[BURST_MAX];
	for (unsigned i = 0; i < count; i++) {
		size_t length = lengths[(first + i) % turns];
		unsigned char *at = length > sizeof(data[i]) ? bulk : data[i];
		content_fill(
			at, length, length > sizeof(data[i]) ? 7 : first + i);
		messages[i] = (struct cay_message){ .tag = first + i,
			.data = at,
			.length = length,
			.api_tag = (uint32_t)(first + i) * 3 };
	}
	return messages;
}

static void expect_burst(struct cay_port *port, uint64_t first, unsigned count,
	const size_t *lengths, unsigned turns)
{
	struct cay_event e;
	for (uint64_t i = first; i < first + count; i++) {
		size_t length = lengths[i % turns];
		next_event(port, &e);
		assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
		assert_int_equal(e.tag, i);
		assert_int_equal(e.api_tag, (uint32_t)i * 3);
		assert_int_equal(e.length, length);
		assert_true(
			content_fits(e.data, e.length, length > 64 ? 7 : i));
		cay_release(port, &e);
	}
}

/* Does the same; all entries are returned. */
static void expect_all(struct cay_port *port, uint64_t first, unsigned count,
	const size_t *lengths, unsigned turns)
{
	expect_burst(port, first, count, lengths, turns);
	check_empty(port);
}

static void every_count_and_length(void **state)
{
	struct way w = way_open(256);
	uint64_t number = 0;
	(void)state;
	for (unsigned count = 1; count <= 130; count++)
		for (size_t length = count % 8; length <= 40; length += 8) {
			const struct cay_message *m =
				burst_make(number, count, &length, 1);
			assert_int_equal(
				cay_send_burst(w.from, w.peer, m, (int)count),
				count);
			expect_all(w.to, number, count, &length, 1);
			number += count;
		}
	assert_int_equal(port_stats(w.from).issued, number);
	way_close(&w);
}

/* As many as there is room for; the others with the next call. */
static void full_queue_takes_a_part(void **state)
{
	static const size_t length = 8;
	struct way w = way_open(1);
	uint64_t number = 0;
	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		unsigned used = round % ORDINARY;
		const struct cay_message *m =
			burst_make(number, 3 * ORDINARY, &length, 1);
		/* Any fill level, at any place of the ring. */
		if (used)
			assert_int_equal(
				cay_send_burst(w.from, w.peer, m, (int)used),
				used);
		assert_int_equal(cay_send_burst(w.from, w.peer, m + used,
					 (int)(3 * ORDINARY - used)),
			ORDINARY - used);
		assert_int_equal(
			cay_send_burst(w.from, w.peer, m + ORDINARY, 5),
			-EAGAIN);
		expect_all(w.to, number, ORDINARY, &length, 1);
		number += ORDINARY;
	}
	assert_int_equal(port_stats(w.from).refused, 200);
	assert_int_equal(port_stats(w.from).issued, number);
	way_close(&w);
}

/* Through the RDR, and long ones, between short ones. */
static void lengths_can_differ(void **state)
{
	static const size_t lengths[] = { 8, 40, 41, 0, 16, 1000, 8192, 3, 8,
		BYTES_MAX, 8, 8 };
	struct way w = way_open(256);
	uint64_t number = 0;
	(void)state;
	for (unsigned count = 1; count <= 40; count++) {
		const struct cay_message *m =
			burst_make(number, count, lengths, COUNT(lengths));
		assert_int_equal(
			cay_send_burst(w.from, w.peer, m, (int)count), count);
		expect_all(w.to, number, count, lengths, COUNT(lengths));
		number += count;
	}
	way_close(&w);
}

/* The completion of the message in the middle is delivered. */
static void flags_are_those_of_a_send(void **state)
{
	static const size_t length = 8;
	struct way w = way_open(64);
	struct cay_message m[3];
	(void)state;
	memcpy(m, burst_make(1, 3, &length, 1), sizeof(m));
	m[1].flags = CAY_NOTIFY;
	assert_int_equal(cay_send_burst(w.from, w.peer, m, 3), 3);
	expect_complete(w.from, 2, 0);
	expect_burst(w.to, 1, 3, &length, 1);
	way_close(&w);
}

/* What precedes an invalid message is sent; the next call reports it. */
static void errors_end_the_burst(void **state)
{
	static const size_t length = 8;
	struct way w = way_open(64);
	struct cay_message m[3];
	(void)state;
	memcpy(m, burst_make(1, 3, &length, 1), sizeof(m));
	m[2].data = NULL;
	assert_int_equal(cay_send_burst(w.from, w.peer, m, 3), 2);
	assert_int_equal(cay_send_burst(w.from, w.peer, m + 2, 1), -EFAULT);
	m[2].length = 0;
	assert_int_equal(cay_send_burst(w.from, w.peer, m + 2, 1), 1);
	m[0].flags = 1u << 31;
	assert_int_equal(cay_send_burst(w.from, w.peer, m, 3), -EINVAL);
	m[0].flags = 0;
	assert_int_equal(cay_send_burst(w.from, w.peer, m, 0), 0);
	assert_int_equal(cay_send_burst(w.from, w.peer, NULL, 0), 0);
	assert_int_equal(cay_send_burst(w.from, w.peer, NULL, 1), -EINVAL);
	assert_int_equal(cay_send_burst(w.from, w.peer, m, -1), -EINVAL);
	assert_int_equal(cay_send_burst(w.to, w.peer, m, 1), -EINVAL);
	assert_int_equal(cay_send_burst(w.from, NULL, m, 1), -EINVAL);
	expect_burst(w.to, 1, 2, &length, 1);
	expect_message(w.to, 3, 0, 0);
	way_close(&w);
}

static void peer_that_is_gone(void **state)
{
	static const size_t length = 8;
	struct way w = way_open(64);
	(void)state;
	close_port(w.to);
	assert_int_equal(
		cay_send_burst(w.from, w.peer, burst_make(1, 3, &length, 1), 3),
		-EPIPE);
	expect_gone(w.from, cay_peer_addr(w.peer).vpid);
	cay_peer_release(w.peer);
	close_port(w.from);
}

/* ---- several processes ---- */

enum {
	SENDERS = 3,
	TOTAL = 40000
};

/* Bursts of random lengths; some senders send single messages as well. */
static void stream_sender(struct child *parent, void *argument)
{
	uint64_t sender = (uint64_t)(uintptr_t)argument;
	struct random r = { sender + 1 };
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "burst");
	(void)parent;
	for (uint64_t sent = 0; sent < scaled(TOTAL);) {
		struct cay_message m[80];
		uint64_t left = scaled(TOTAL) - sent;
		uint64_t count = 1 + random_below(&r, COUNT(m));
		uint64_t words[COUNT(m)];
		count = count < left ? count : left;
		for (uint64_t i = 0; i < count; i++) {
			words[i] = sender << 32 | (sent + i);
			m[i] = (struct cay_message){ .tag = words[i],
				.data = &words[i],
				.length = sizeof(words[i]) };
		}
		int n = cay_send_burst(port, peer, m, (int)count);
		if (n == -EAGAIN) {
			/* Sleeps until there is room. */
			assert_int_equal(
				cay_send_wait(port, peer, m[0].tag, m[0].data,
					m[0].length, 0, soon()),
				0);
			n = 1;
		}
		assert_true(n > 0);
		memset(words, 0, sizeof(words));
		sent += (uint64_t)n;
	}
	cay_peer_release(peer);
	close_port(port);
}

/* A receiver that sleeps at times gets the messages of each sender in order. */
static void streams_of_several_processes(void **state)
{
	struct cay_port *port = open_small("burst", 64);
	struct child sender[SENDERS];
	uint64_t next[SENDERS] = { 0 }, received = 0;
	struct random r = { 1 };
	(void)state;
	for (unsigned i = 0; i < SENDERS; i++)
		child_start(&sender[i], stream_sender, (void *)(uintptr_t)i);
	while (received < SENDERS * scaled(TOTAL)) {
		struct cay_event e[16];
		assert_int_equal(cay_wait(port, soon()), 0);
		int n = cay_poll(port, e, (int)(1 + random_below(&r, 16)));
		assert_true(n >= 0);
		for (int i = 0; i < n; i++) {
			uint64_t from = e[i].tag >> 32;
			assert_true(from < SENDERS);
			assert_int_equal((uint32_t)e[i].tag, next[from]++);
			assert_memory_equal(e[i].data, &e[i].tag, 8);
			cay_release(port, &e[i]);
		}
		received += (uint64_t)n;
	}
	for (unsigned i = 0; i < SENDERS; i++)
		child_join(&sender[i]);
	check_empty(port);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_count_and_length),
		TEST(full_queue_takes_a_part),
		TEST(lengths_can_differ),
		TEST(flags_are_those_of_a_send),
		TEST(errors_end_the_burst),
		TEST(peer_that_is_gone),
		TEST(streams_of_several_processes),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
