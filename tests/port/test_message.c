/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of all sizes and numbers of pieces arrive intact, between two
 * processes and within one.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define KIB 1024ul
#define MIB (KIB * KIB)

#define LONGEST (5 * MIB)

/* Sizes above 48: around each limit at which the protocol changes. */
static const size_t larger[] = { 63, 64, 65, 4095, 4096, 4097, 8191, 8192, 8193,
	64 * KIB, MIB, LONGEST };

#define SMALL 49
#define SIZES (SMALL + COUNT(larger))

static size_t size_at(unsigned i)
{
	return i < SMALL ? i : larger[i - SMALL];
}

static uint64_t tag_of(size_t size, unsigned round)
{
	return ~(uint64_t)size << 8 | round;
}

static uint32_t api_tag_of(size_t size)
{
	return UINT32_MAX - (uint32_t)size;
}

/* The source of a long message is in use until its completion. */
static void send_size(struct cay_port *port, struct cay_peer *peer,
	unsigned char *data, size_t size, unsigned round)
{
	uint64_t deadline = soon();
	int r;
	content_fill(data, size, size + round);
	while ((r = cay_send_tagged(port, peer, tag_of(size, round),
			api_tag_of(size), data, size, borrow_long(size))) ==
		-EAGAIN)
		assert_true(now_ns() < deadline);
	assert_int_equal(r, 0);
	if (size > CAY_EAGER_MAX)
		expect_complete(port, tag_of(size, round), 0);
	memset(data, 0, size);
}

static void check_size(struct cay_port *port, size_t size, unsigned round,
	const struct cay_addr *from)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.tag, tag_of(size, round));
	assert_int_equal(e.api_tag, api_tag_of(size));
	assert_int_equal(e.length, size);
	assert_int_equal(e.peer.vpid, from->vpid);
	assert_int_equal(e.peer.node, from->node);
	assert_true(content_fits(e.data, size, size + round));
	cay_release(port, &e);
}

/* Rounds: before the probe, after it, and mapped memory. */
enum {
	ROUNDS = 3,
	ROUND_MAPPED = 2
};
#define LONG_SIZES 4 /* per round */

static void check_ways(struct cay_port *port, const struct cay_peer *peer)
{
	struct cay_stats s = port_stats(port);
	assert_int_equal(s.sent_mapped, LONG_SIZES);
	assert_int_equal(
		s.sent_process + s.sent_staged, (ROUNDS - 1) * LONG_SIZES);
	assert_true(s.sent_staged >= 1);
	const char *bulk = cay_peer_bulk(peer);
	assert_true(strcmp(bulk, s.sent_process ? "process" : "staged") == 0);
	assert_int_equal(s.issued, ROUNDS * SIZES);
	assert_int_equal(s.refs_used, 0);
}

static void sizes_sender(struct child *parent, void *unused)
{
	struct cay_port *port = open_named("sender");
	struct cay_peer *peer = open_peer_named(port, "receiver");
	unsigned char *own = malloc(LONGEST);
	unsigned char *mapped = cay_alloc(port, LONGEST, 0);
	(void)unused;
	assert_true(own && mapped);
	child_send(parent, cay_port_addr(port).vpid);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < SIZES; i++)
			send_size(port, peer,
				round == ROUND_MAPPED ? mapped : own,
				size_at(i), round);
	check_ways(port, peer);
	cay_free(port, mapped);
	cay_peer_release(peer);
	close_port(port);
	free(own);
}

static void every_size_between_processes(void **state)
{
	struct cay_port *port = open_named("receiver");
	struct cay_addr from = cay_port_addr(port);
	struct child sender;
	(void)state;
	child_start(&sender, sizes_sender, NULL);
	from.vpid = (uint16_t)child_receive(&sender);
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < SIZES; i++)
			check_size(port, size_at(i), round, &from);
	child_join(&sender);
	assert_int_equal(port_stats(port).received, ROUNDS * SIZES);
	check_empty(port);
	close_port(port);
}

static void self_size(struct cay_port *port, struct cay_peer *self,
	unsigned char *data, size_t size)
{
	struct cay_addr addr = cay_port_addr(port);
	content_fill(data, size, size);
	assert_int_equal(
		cay_send_tagged(port, self, tag_of(size, 0), api_tag_of(size),
			data, size, borrow_long(size)),
		0);
	check_size(port, size, 0, &addr);
	if (size > CAY_EAGER_MAX)
		expect_complete(port, tag_of(size, 0), 0);
	check_empty(port);
}

static void every_size_within_a_process(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *self = open_peer(port, port);
	unsigned char *own = malloc(LONGEST);
	unsigned char *mapped = cay_alloc(port, LONGEST, 0);
	(void)state;
	for (unsigned i = 0; i < SIZES; i++) {
		self_size(port, self, own, size_at(i));
		self_size(port, self, mapped, size_at(i));
	}
	free(own);
	cay_free(port, mapped);
	cay_peer_release(self);
	close_port(port);
}

/* The source of an eager message is reusable when the call returns. */
static void eager_source_is_reusable_on_return(void **state)
{
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	static const size_t sizes[] = { 1, 40, 41, CAY_EAGER_MAX };
	unsigned char data[CAY_EAGER_MAX];
	(void)state;
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		content_fill(data, sizes[i], i);
		assert_int_equal(cay_send(a, peer, i, data, sizes[i], 0), 0);
		memset(data, 0xff, sizes[i]);
		expect_message(b, i, sizes[i], i);
	}
	cay_peer_release(peer);
	close_port(a);
	close_port(b);
}

/* Messages of all sizes from one origin keep their order. */
static void order_is_kept_across_sizes(void **state)
{
	enum {
		MESSAGES = 60
	};
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	struct random r = { 7 };
	size_t size[MESSAGES];
	unsigned longs = 0;
	unsigned char *data = cay_alloc(a, 64 * KIB, 0);
	(void)state;
	content_fill(data, 64 * KIB, 99);
	for (unsigned i = 0; i < MESSAGES; i++) {
		size[i] = random_below(&r, 3) ? random_below(&r, 2000)
					      : random_below(&r, 64 * KIB);
		longs += size[i] > CAY_EAGER_MAX;
		assert_int_equal(cay_send(a, peer, i, data, size[i],
					 borrow_long(size[i])),
			0);
	}
	for (unsigned i = 0; i < MESSAGES; i++)
		expect_message(b, i, size[i], 99);
	struct cay_event e;
	for (unsigned i = 0; i < longs; i++) {
		next_event(a, &e);
		assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
		cay_release(a, &e);
	}
	check_empty(a);
	cay_free(a, data);
	cay_peer_release(peer);
	close_port(a);
	close_port(b);
}

/* ---- gathers ---- */

enum {
	PIECES = 5
};

/* Cuts `size` bytes into `count` pieces, some of which are empty. */
static void cut(struct random *r, unsigned char *data, size_t size, int count,
	struct iovec *pieces)
{
	for (int i = 0; i < count; i++) {
		size_t bytes = i == count - 1 ? size
			       : random_below(r, 3) == 0
				       ? 0
				       : random_below(r, size + 1);
		pieces[i] = (struct iovec){ bytes ? data : NULL, bytes };
		data += bytes;
		size -= bytes;
	}
}

static void gather_one(struct cay_port *a, struct cay_peer *peer,
	struct cay_port *b, size_t size, int count, uint64_t seed)
{
	struct random r = { seed };
	struct iovec pieces[PIECES];
	unsigned char *data = malloc(size + 1);
	content_fill(data, size, seed);
	cut(&r, data, size, count, pieces);
	assert_int_equal(
		cay_sendv(a, peer, seed, pieces, count, borrow_long(size)), 0);
	expect_message(b, seed, size, seed);
	if (size > CAY_EAGER_MAX)
		expect_complete(a, seed, 0);
	free(data);
}

static void gathered_messages_arrive_intact(void **state)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 39, 40, 41, 64, 100,
		4096, 8191, 8192, 8193, 20000 };
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	uint64_t seed = 1;
	(void)state;
	for (unsigned repeat = 0; repeat < 20; repeat++)
		for (unsigned i = 0; i < COUNT(sizes); i++)
			for (int count = sizes[i] ? 1 : 0; count <= PIECES;
				count++)
				gather_one(a, peer, b, sizes[i], count, seed++);
	assert_int_equal(cay_sendv(a, peer, 5, NULL, 0, 0), 0);
	expect_message(b, 5, 0, 0);
	assert_int_equal(cay_sendv_tagged(a, peer, 6, 77, NULL, 0, 0), 0);
	struct cay_event e;
	next_event(b, &e);
	assert_int_equal(e.api_tag, 77);
	cay_release(b, &e);
	check_empty(a);
	cay_peer_release(peer);
	close_port(a);
	close_port(b);
}

/* ---- invalid arguments ---- */

static void refuse_sends(struct cay_port *a, struct cay_peer *peer)
{
	unsigned char data[64] = { 0 };
	struct iovec hole[2] = { { data, 1 }, { NULL, 1 } };
	struct iovec huge[2] = { { data, 1ull << 40 }, { data, 1 } };
	/* The sum of the lengths is 8. */
	struct iovec overflow[2] = { { data, SIZE_MAX - 7 }, { data, 16 } };
	for (unsigned bit = 7; bit < 32; bit++)
		assert_int_equal(
			cay_send(a, peer, 0, data, 8, 1u << bit), -EINVAL);
	assert_int_equal(cay_send(a, peer, 0, NULL, 1, 0), -EFAULT);
	assert_int_equal(cay_send(a, peer, 0, NULL, 100, 0), -EFAULT);
	assert_int_equal(
		cay_send(a, peer, 0, NULL, 100000, CAY_NOTIFY), -EFAULT);
	assert_int_equal(
		cay_send_wait(a, peer, 0, NULL, 1, 0, soon()), -EFAULT);
	assert_int_equal(cay_sendv(a, peer, 0, hole, 2, 0), -EFAULT);
	assert_int_equal(cay_sendv(a, peer, 0, NULL, 1, 0), -EINVAL);
	assert_int_equal(cay_sendv(a, peer, 0, hole, -1, 0), -EINVAL);
	assert_int_equal(cay_sendv(a, peer, 0, hole, IOV_MAX + 1, 0), -EINVAL);
	assert_int_equal(cay_send(a, peer, 0, data, SIZE_MAX, 0), -EMSGSIZE);
	assert_int_equal(cay_sendv(a, peer, 0, huge, 2, 0), -EMSGSIZE);
	assert_int_equal(cay_sendv(a, peer, 0, overflow, 2, 0), -EMSGSIZE);
}

static void invalid_arguments_are_refused(void **state)
{
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	struct cay_event e;
	(void)state;
	refuse_sends(a, peer);
	assert_int_equal(cay_poll(a, &e, -1), -EINVAL);
	assert_int_equal(cay_poll(a, NULL, 1), -EINVAL);
	assert_int_equal(cay_poll(a, NULL, 0), 0);
	assert_int_equal(port_stats(a).issued, 0);
	check_empty(a);
	check_empty(b);
	/* Valid messages still arrive. */
	assert_int_equal(cay_send(a, peer, 3, NULL, 0, 0), 0);
	expect_message(b, 3, 0, 0);
	cay_peer_release(peer);
	close_port(a);
	close_port(b);
}

/* The hint changes nothing but the cache, whatever has become of the peer. */
static void a_hint_has_no_effect(void **state)
{
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	struct cay_stats before = port_stats(b);
	uint16_t vpid = cay_port_addr(b).vpid;
	unsigned sent = 0;
	(void)state;
	for (unsigned lap = 0; lap < 3; lap++) {
		unsigned first = sent;
		int r = 0;
		for (; r == 0; sent += r == 0) {
			cay_send_prefetch(a, peer);
			r = cay_send(a, peer, sent, NULL, 0, 0);
		}
		assert_int_equal(r, -EAGAIN);
		assert_true(sent > first);
		for (unsigned i = first; i < sent; i++)
			expect_message(b, i, 0, 0);
		check_empty(b);
	}
	assert_int_equal(port_stats(b).received, before.received + sent);
	assert_int_equal(port_stats(a).issued, sent);
	close_port(b);
	cay_send_prefetch(a, peer);
	expect_gone(a, vpid);
	cay_send_prefetch(a, peer);
	cay_peer_release(peer);
	close_port(a);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_size_between_processes),
		TEST(every_size_within_a_process),
		TEST(eager_source_is_reusable_on_return),
		TEST(order_is_kept_across_sizes),
		TEST(gathered_messages_arrive_intact),
		TEST(invalid_arguments_are_refused),
		TEST(a_hint_has_no_effect),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
