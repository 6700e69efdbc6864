/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CAY_PORT_TELL_GONE: a port is told of the end of each port that had resolved
 * it and of which it polled a message, though it never resolved that port.
 */
#include <errno.h>
#include <signal.h>

#include "harness.h"
#include "status.h"

static struct cay_port *open_told(uint32_t nq_entries)
{
	return open_port(&(struct cay_port_options){ .name = "told",
		.nq_entries = nq_entries,
		.flags = CAY_PORT_TELL_GONE });
}

/* Sends so many messages, then waits to be killed. */
static void sender(struct child *parent, void *argument)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *told = open_peer_named(port, "told");
	uint64_t count = *(const uint64_t *)argument;
	child_send(parent, cay_port_addr(port).vpid);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(
			cay_send_wait(port, told, i, NULL, 0, 0, soon()), 0);
	child_send(parent, 1);
	child_receive(parent);
}

static void killed_sender_is_reported(void **state)
{
	static const uint64_t counts[] = { 1, 100, 0 };
	struct cay_port *port = open_told(0);
	(void)state;
	for (unsigned i = 0; i < COUNT(counts); i++) {
		struct child child;
		uint64_t count = counts[i];
		child_start(&child, sender, &count);
		uint16_t vpid = (uint16_t)child_receive(&child);
		child_receive(&child);
		child_kill(&child);
		for (uint64_t tag = 0; tag < count; tag++)
			expect_message(port, tag, 0, 0);
		if (count)
			expect_gone(port, vpid);
		status_settled();
		check_empty(port);
	}
	close_port(port);
}

/* Killed while it sends: GONE is the last event, whatever was received. */
static void sender_killed_while_sending(void **state)
{
	struct cay_port *port = open_told(16);
	(void)state;
	for (unsigned round = 0; round < 10; round++) {
		struct child child;
		struct cay_event e;
		uint64_t count = UINT64_MAX, next = 0;
		child_start(&child, sender, &count);
		child_receive(&child);
		for (;;) {
			next_event(port, &e);
			cay_release(port, &e);
			if (e.kind == CAY_EVENT_GONE)
				break;
			assert_int_equal(e.tag, next++);
			if (next == 50)
				kill(child.pid, SIGKILL);
		}
		child_kill(&child);
		assert_true(next >= 50);
		status_settled();
		check_empty(port);
	}
	close_port(port);
}

/* A full queue delays GONE, which is delivered after the last message. */
static void full_queue_delays_gone(void **state)
{
	struct cay_port *port = open_told(16);
	struct cay_port *other = open_port(NULL);
	struct cay_peer *to = open_peer(other, port);
	uint16_t vpid = cay_port_addr(other).vpid;
	uint64_t sent = 0;
	(void)state;
	while (cay_send(other, to, sent, NULL, 0, 0) == 0)
		sent++;
	cay_peer_release(to);
	close_port(other);
	for (uint64_t i = 0; i < sent; i++)
		expect_message(port, i, 0, 0);
	expect_gone(port, vpid);
	check_empty(port);
	close_port(port);
}

static void expect_gone_handle(
	struct cay_port *port, uint16_t vpid, struct cay_peer *handle)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_GONE);
	assert_int_equal(e.error, CAY_ERROR_GONE);
	assert_int_equal(e.peer.vpid, vpid);
	assert_ptr_equal(e.handle, handle);
	cay_release(port, &e);
}

/* One event for each handle, and none in addition. */
static void resolved_sender_is_reported_once(void **state)
{
	struct cay_port *port = open_told(0);
	(void)state;
	for (unsigned handles = 0; handles < 3; handles++)
		for (unsigned messages = 0; messages < 2; messages++) {
			struct cay_port *other = open_port(NULL);
			struct cay_peer *to = open_peer(other, port);
			uint16_t vpid = cay_port_addr(other).vpid;
			struct cay_peer *peer[2];
			for (unsigned i = 0; i < handles; i++)
				peer[i] = open_peer(port, other);
			if (messages) {
				assert_int_equal(
					cay_send(other, to, 9, NULL, 0, 0), 0);
				expect_message(port, 9, 0, 0);
			}
			/* Also if the sender has released this port. */
			cay_peer_release(to);
			to = open_peer(other, port);
			cay_peer_release(to);
			close_port(other);
			for (unsigned i = 0; i < handles; i++)
				expect_gone_handle(port, vpid, peer[i]);
			if (!handles && messages)
				expect_gone_handle(port, vpid, NULL);
			status_settled();
			check_empty(port);
			for (unsigned i = 0; i < handles; i++)
				cay_peer_release(peer[i]);
		}
	close_port(port);
}

static void long_and_posted_messages_count(void **state)
{
	static unsigned char data[20000];
	static const size_t lengths[] = { 100, sizeof(data), 200 };
	struct cay_port *port = open_told(0);
	void *buffer = cay_alloc(port, sizeof(data), 0);
	(void)state;
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		struct cay_port *other = open_port(NULL);
		struct cay_peer *to = open_peer(other, port);
		uint16_t vpid = cay_port_addr(other).vpid;
		struct cay_event e;
		if (i == 2)
			assert_int_equal(
				cay_receive_post(port, buffer, 4096, 0), 0);
		assert_int_equal(
			cay_send(other, to, i, data, lengths[i], 0), 0);
		next_event(port, &e);
		assert_int_equal(
			e.kind, i == 2 ? CAY_EVENT_POSTED : CAY_EVENT_MESSAGE);
		cay_release(port, &e);
		cay_peer_release(to);
		close_port(other);
		expect_gone_handle(port, vpid, NULL);
	}
	cay_free(port, buffer);
	close_port(port);
}

/* Without the flag only resolved ports are reported. */
static void ports_without_flag_are_not_told(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_peer *to = open_peer(other, port);
	(void)state;
	assert_int_equal(cay_send(other, to, 1, NULL, 0, 0), 0);
	expect_message(port, 1, 0, 0);
	cay_peer_release(to);
	close_port(other);
	status_settled();
	check_empty(port);
	close_port(port);
}

static const struct cay_nqe *raw_next(struct cay_port *port)
{
	const struct cay_nqe *n;
	uint64_t deadline = soon();
	while (!(n = cay_nqe_next(port)))
		assert_true(now_ns() < deadline);
	return n;
}

static unsigned raw_command(const struct cay_nqe *n)
{
	return n->word[CAY_NQE_WORD_VALID] & CAY_COMMAND_MASK;
}

/* The raw API shows the same NOTIFY_GONE. */
static void raw_port_is_told(void **state)
{
	struct cay_port *port = open_told(0);
	(void)state;
	for (unsigned messages = 0; messages < 2; messages++) {
		struct cay_port *other = open_port(NULL);
		struct cay_peer *to = open_peer(other, port);
		if (messages) {
			assert_int_equal(cay_send(other, to, 1, NULL, 0, 0), 0);
			assert_int_equal(raw_command(raw_next(port)),
				CAY_NOTIFY_FAST_RECV);
		}
		cay_peer_release(to);
		close_port(other);
		status_settled();
		if (messages)
			assert_int_equal(
				raw_command(raw_next(port)), CAY_NOTIFY_GONE);
		assert_null(cay_nqe_next(port));
	}
	close_port(port);
}

/* The told port closes first, with and without GONE under way. */
static void told_port_may_close_first(void **state)
{
	struct cay_port *anchor = open_port(NULL);
	struct cay_port *port = open_told(16), *other = open_port(NULL);
	struct cay_peer *to = open_peer(other, port);
	(void)state;
	while (cay_send(other, to, 1, NULL, 0, 0) == 0)
		continue;
	close_port(port);
	port = open_told(16);
	struct cay_port *third = open_port(NULL);
	struct cay_peer *again = open_peer(third, port);
	while (cay_send(third, again, 1, NULL, 0, 0) == 0)
		continue;
	cay_peer_release(again);
	close_port(third);
	close_port(port);
	cay_peer_release(to);
	close_port(other);
	assert_int_equal(status_settled().ports, 1);
	close_port(anchor);
}

static void unknown_flags_are_refused(void **state)
{
	(void)state;
	for (unsigned bit = 6; bit < 64; bit++) {
		struct cay_port_options o = { .flags = 1ull << bit };
		errno = 0;
		assert_null(cay_port_open(&o));
		assert_int_equal(errno, EINVAL);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(killed_sender_is_reported),
		TEST(sender_killed_while_sending),
		TEST(full_queue_delays_gone),
		TEST(resolved_sender_is_reported_once),
		TEST(long_and_posted_messages_count),
		TEST(ports_without_flag_are_not_told),
		TEST(raw_port_is_told),
		TEST(told_port_may_close_first),
		TEST(unknown_flags_are_refused),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
