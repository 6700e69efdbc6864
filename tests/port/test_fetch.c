/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CAY_PORT_FETCH and cay_event_fetch(): borrowed messages arrive without their
 * bytes, hold no queue entry after their release, and end when they are
 * fetched, into the caller's buffer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness.h"
#include "status.h"

#define KIB	   1024ul
#define MIB	   (1024 * KIB)
#define LONG_BYTES 300000ul /* not staged */
#define BYTES_MAX  (4 * MIB)

struct pair {
	struct cay_port *a, *b;
	struct cay_peer *peer;
	unsigned char *source, *buffer;
};

static struct cay_port *open_fetching(const char *name)
{
	const struct cay_port_options options = { .name = name,
		.flags = CAY_PORT_FETCH };
	return open_port(&options);
}

/* Sends borrowed bytes, with the tag as their seed. */
static void send_borrowed(
	struct pair *p, uint64_t tag, void *from, size_t bytes)
{
	content_fill(from, bytes, tag);
	assert_int_equal(
		cay_send_tagged(p->a, p->peer, tag, 7, from, bytes, CAY_BORROW),
		0);
}

static struct cay_event take(struct cay_port *port, uint64_t tag, size_t bytes)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.api_tag, 7);
	assert_int_equal(e.length, bytes);
	assert_null(e.data);
	return e;
}

/* The probe has a result afterwards. */
static struct pair pair_open(void)
{
	struct pair p = { .a = open_port(NULL), .b = open_fetching(NULL) };
	p.peer = open_peer(p.a, p.b);
	p.source = malloc(BYTES_MAX);
	p.buffer = malloc(BYTES_MAX);
	send_borrowed(&p, 99, p.source, LONG_BYTES);
	struct cay_event e = take(p.b, 99, LONG_BYTES);
	assert_int_equal(cay_event_fetch(p.b, &e, p.buffer, BYTES_MAX), 0);
	cay_release(p.b, &e);
	expect_complete(p.a, 99, 0);
	return p;
}

static void pair_close(struct pair *p)
{
	check_empty(p->a);
	check_empty(p->b);
	assert_int_equal(port_stats(p->a).refs_used, 0);
	free(p->source);
	free(p->buffer);
	cay_peer_release(p->peer);
	close_port(p->a);
	close_port(p->b);
}

/* ---- fetching ---- */

static void bytes_come_with_the_fetch(void **state)
{
	static const size_t sizes[] = { 8193, 64 * KIB, LONG_BYTES, 512 * KIB,
		MIB + 1, BYTES_MAX };
	struct pair p = pair_open();
	unsigned char *mapped = cay_alloc(p.a, BYTES_MAX, 0);
	(void)state;
	for (unsigned i = 0; i < 2 * COUNT(sizes); i++) {
		size_t bytes = sizes[i / 2];
		send_borrowed(&p, i, i % 2 ? mapped : p.source, bytes);
		struct cay_event e = take(p.b, i, bytes);
		if (i % 3 == 0)
			cay_release(p.b, &e);
		/* The sender's memory is in use until then. */
		check_empty(p.a);
		assert_int_equal(
			cay_event_fetch(p.b, &e, p.buffer, BYTES_MAX), 0);
		assert_true(content_fits(p.buffer, bytes, i));
		expect_complete(p.a, i, 0);
		assert_int_equal(
			cay_event_fetch(p.b, &e, p.buffer, BYTES_MAX), -EINVAL);
		if (i % 3)
			cay_release(p.b, &e);
	}
	cay_free(p.a, mapped);
	pair_close(&p);
}

/* The bytes of other messages are there, and are copied before the release. */
static void other_messages_arrive_with_their_bytes(void **state)
{
	static const size_t sizes[] = { 0, 8, 40, 41, 8192, 8193, MIB };
	struct pair p = pair_open();
	(void)state;
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		struct cay_event e;
		content_fill(p.source, sizes[i], i);
		assert_int_equal(
			cay_send(p.a, p.peer, i, p.source, sizes[i], 0), 0);
		next_event(p.b, &e);
		assert_non_null(e.data);
		memset(p.buffer, 0xee, sizes[i] + 1);
		assert_int_equal(
			cay_event_fetch(p.b, &e, p.buffer, BYTES_MAX), 0);
		assert_true(content_fits(p.buffer, sizes[i], i));
		assert_int_equal(p.buffer[sizes[i]], 0xee);
		cay_release(p.b, &e);
	}
	pair_close(&p);
}

/* A shorter buffer gets the beginning; the rest is dropped. */
static void a_short_buffer_truncates(void **state)
{
	static const size_t sizes[] = { 0, 1, 65536, LONG_BYTES - 1 };
	struct pair p = pair_open();
	unsigned char *mapped = cay_alloc(p.a, LONG_BYTES, 0);
	(void)state;
	for (unsigned i = 0; i < 2 * COUNT(sizes); i++) {
		size_t size = sizes[i / 2];
		send_borrowed(&p, i, i % 2 ? mapped : p.source, LONG_BYTES);
		struct cay_event e = take(p.b, i, LONG_BYTES);
		cay_release(p.b, &e);
		memset(p.buffer, 0xee, LONG_BYTES);
		assert_int_equal(
			cay_event_fetch(p.b, &e, size ? p.buffer : NULL, size),
			0);
		assert_true(
			size == 0 ||
			memcmp(p.buffer, i % 2 ? mapped : p.source, size) == 0);
		assert_int_equal(p.buffer[size], 0xee);
		expect_complete(p.a, i, 0);
	}
	cay_free(p.a, mapped);
	pair_close(&p);
}

/* Unexpected messages hold neither queue entries nor the order of fetching. */
static void kept_messages_hold_no_entry(void **state)
{
	enum {
		COUNT_KEPT = 48
	};
	struct cay_event kept[COUNT_KEPT];
	struct pair p = pair_open();
	unsigned char *source[COUNT_KEPT];
	(void)state;
	for (unsigned i = 0; i < COUNT_KEPT; i++) {
		source[i] = malloc(LONG_BYTES);
		send_borrowed(&p, i, source[i], LONG_BYTES);
		kept[i] = take(p.b, i, LONG_BYTES);
		cay_release(p.b, &kept[i]);
	}
	check_empty(p.b);
	assert_int_equal(port_stats(p.b).nq_used, 0);
	assert_int_equal(port_stats(p.a).refs_used, COUNT_KEPT);
	for (unsigned i = COUNT_KEPT; i-- > 0;) {
		assert_int_equal(
			cay_event_fetch(p.b, &kept[i], p.buffer, LONG_BYTES),
			0);
		assert_true(content_fits(p.buffer, LONG_BYTES, i));
		expect_complete(p.a, i, 0);
		free(source[i]);
	}
	for (unsigned i = 0; i < COUNT_KEPT; i++)
		assert_int_equal(
			cay_event_fetch(p.b, &kept[i], p.buffer, LONG_BYTES),
			-EINVAL);
	pair_close(&p);
}

/* ---- errors ---- */

static void forged_events_are_refused(void **state)
{
	struct pair p = pair_open();
	(void)state;
	send_borrowed(&p, 1, p.source, LONG_BYTES);
	const struct cay_event good = take(p.b, 1, LONG_BYTES);
	for (unsigned i = 0; i < 8; i++) {
		struct cay_event e = good;
		struct cay_port *port = p.b;
		switch (i) {
		case 0:
			e.result = 0;
			break;
		case 1:
			e.result += 1ull << 32;
			break;
		case 2:
			e.result += 1;
			break;
		case 3:
			e.result = UINT64_MAX;
			break;
		case 4:
			e.peer.vpid ^= 1;
			break;
		case 5:
			e.kind = CAY_EVENT_COMPLETE;
			break;
		case 6:
			e.error = CAY_ERROR_GONE;
			break;
		default:
			port = p.a;
		}
		assert_int_equal(
			cay_event_fetch(port, &e, p.buffer, LONG_BYTES),
			-EINVAL);
	}
	assert_int_equal(cay_event_fetch(p.b, NULL, p.buffer, 1), -EINVAL);
	assert_int_equal(cay_event_fetch(NULL, &good, p.buffer, 1), -EINVAL);
	check_empty(p.a);
	assert_int_equal(cay_event_fetch(p.b, &good, p.buffer, LONG_BYTES), 0);
	assert_true(content_fits(p.buffer, LONG_BYTES, 1));
	cay_release(p.b, &good);
	expect_complete(p.a, 1, 0);
	pair_close(&p);
}

/* The message is still there. */
static void a_bad_buffer_is_the_callers_error(void **state)
{
	struct pair p = pair_open();
	unsigned char *unmapped = mmap(NULL, LONG_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_true(unmapped != MAP_FAILED);
	send_borrowed(&p, 1, p.source, LONG_BYTES);
	struct cay_event e = take(p.b, 1, LONG_BYTES);
	cay_release(p.b, &e);
	assert_int_equal(cay_event_fetch(p.b, &e, NULL, 1), -EFAULT);
	if (port_stats(p.a).sent_process)
		assert_int_equal(cay_event_fetch(p.b, &e, unmapped, LONG_BYTES),
			-EFAULT);
	check_empty(p.a);
	assert_int_equal(cay_event_fetch(p.b, &e, p.buffer, LONG_BYTES), 0);
	assert_true(content_fits(p.buffer, LONG_BYTES, 1));
	expect_complete(p.a, 1, 0);
	munmap(unmapped, LONG_BYTES);
	pair_close(&p);
}

/* Even if both have taken as many messages. */
static void an_event_of_another_port_names_nothing(void **state)
{
	struct pair p = pair_open(), q = pair_open();
	(void)state;
	send_borrowed(&p, 1, p.source, LONG_BYTES);
	send_borrowed(&q, 1, q.source, LONG_BYTES);
	struct cay_event e = take(p.b, 1, LONG_BYTES);
	struct cay_event other = take(q.b, 1, LONG_BYTES);
	cay_release(p.b, &e);
	cay_release(q.b, &other);
	e.peer = other.peer;
	assert_int_equal(
		cay_event_fetch(q.b, &e, q.buffer, LONG_BYTES), -EINVAL);
	e.peer = cay_port_addr(p.a);
	assert_int_equal(cay_event_fetch(p.b, &e, p.buffer, LONG_BYTES), 0);
	assert_int_equal(cay_event_fetch(q.b, &other, q.buffer, LONG_BYTES), 0);
	expect_complete(p.a, 1, 0);
	expect_complete(q.a, 1, 0);
	pair_close(&p);
	pair_close(&q);
}

/* ---- either end closes or dies ---- */

/* The port of the target closes: the messages that it has not fetched end. */
static void unfetched_messages_end_with_the_port(void **state)
{
	struct pair p = pair_open();
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		send_borrowed(&p, i, p.source, LONG_BYTES);
		struct cay_event e = take(p.b, i, LONG_BYTES);
		cay_release(p.b, &e);
	}
	close_port(p.b);
	for (unsigned i = 0; i < 4; i++)
		expect_complete(p.a, i, CAY_ERROR_GONE);
	expect_gone(p.a, cay_peer_addr(p.peer).vpid);
	cay_peer_release(p.peer);
	close_port(p.a);
	free(p.source);
	free(p.buffer);
}

static void dying_target(struct child *parent, void *unused)
{
	struct cay_port *port = open_fetching("target");
	struct cay_event e;
	(void)unused;
	for (unsigned i = 0; i < 3; i++) {
		next_event(port, &e);
		cay_release(port, &e);
	}
	child_send(parent, 1);
	child_receive(parent);
}

static void unfetched_messages_end_with_the_process(void **state)
{
	struct child child;
	struct cay_port *port = open_port(NULL);
	unsigned char *source = malloc(LONG_BYTES);
	(void)state;
	child_start(&child, dying_target, NULL);
	struct cay_peer *peer = open_peer_named(port, "target");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
			cay_send(port, peer, i, source, LONG_BYTES, CAY_BORROW),
			0);
	child_receive(&child);
	check_empty(port);
	child_kill(&child);
	for (unsigned i = 0; i < 3; i++)
		expect_complete(port, i, CAY_ERROR_GONE);
	expect_gone(port, cay_peer_addr(peer).vpid);
	cay_peer_release(peer);
	close_port(port);
	free(source);
}

/* Sends a message from its own, and one from the realm's memory. */
static void ending_origin(struct child *parent, void *argument)
{
	const bool *closes = argument;
	struct cay_port *port = open_named("origin");
	struct cay_peer *peer = open_peer_named(port, "survivor");
	unsigned char *own = malloc(LONG_BYTES);
	unsigned char *mapped = cay_alloc(port, LONG_BYTES, 0);
	content_fill(own, LONG_BYTES, 1);
	content_fill(mapped, LONG_BYTES, 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			cay_send(port, peer, i, own, LONG_BYTES, CAY_BORROW),
			0);
		if (i == 0)
			expect_complete(port, 0, 0);
	}
	assert_int_equal(
		cay_send(port, peer, 2, mapped, LONG_BYTES, CAY_BORROW), 0);
	child_send(parent, port_stats(port).sent_process);
	child_receive(parent);
	if (*closes) {
		cay_peer_release(peer);
		close_port(port);
		free(own);
		child_send(parent, 1);
		child_receive(parent);
	}
}

static void origin_ends(bool closes)
{
	struct cay_port *port = open_fetching("survivor");
	unsigned char *buffer = malloc(LONG_BYTES);
	struct cay_event e[3];
	struct child child;
	child_start(&child, ending_origin, &closes);
	struct cay_peer *peer = open_peer_named(port, "origin");
	for (unsigned i = 0; i < 3; i++) {
		next_event(port, &e[i]);
		assert_int_equal(e[i].tag, i);
		assert_null(e[i].data);
		if (i == 0)
			assert_int_equal(cay_event_fetch(port, &e[0], buffer,
						 LONG_BYTES),
				0);
		cay_release(port, &e[i]);
	}
	bool process = child_receive(&child) != 0;
	if (closes) {
		child_send(&child, 1);
		child_receive(&child);
	} else {
		child_kill(&child);
	}
	expect_gone(port, cay_peer_addr(peer).vpid);
	cay_peer_release(peer);
	assert_int_equal(cay_event_fetch(port, &e[1], buffer, LONG_BYTES),
		process ? -EPIPE : 0);
	assert_int_equal(
		cay_event_fetch(port, &e[1], buffer, LONG_BYTES), -EINVAL);
	assert_int_equal(cay_event_fetch(port, &e[2], buffer, LONG_BYTES), 0);
	assert_true(content_fits(buffer, LONG_BYTES, 1));
	if (closes) {
		child_send(&child, 1);
		child_join(&child);
	}
	close_port(port);
	free(buffer);
}

static void process_memory_ends_with_its_process(void **state)
{
	(void)state;
	origin_ends(false);
}

static void process_memory_ends_with_its_port(void **state)
{
	(void)state;
	origin_ends(true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(bytes_come_with_the_fetch),
		TEST(other_messages_arrive_with_their_bytes),
		TEST(a_short_buffer_truncates),
		TEST(kept_messages_hold_no_entry),
		TEST(forged_events_are_refused),
		TEST(a_bad_buffer_is_the_callers_error),
		TEST(an_event_of_another_port_names_nothing),
		TEST(unfetched_messages_end_with_the_port),
		TEST(unfetched_messages_end_with_the_process),
		TEST(process_memory_ends_with_its_process),
		TEST(process_memory_ends_with_its_port),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
