/* SPDX-License-Identifier: BSD-2-Clause */
/* The guarantees of each send flag, and the events that it causes. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "harness.h"

#define LONG_BYTES 100000ul

/* Two ports of this process; b is the target. */
struct pair {
	struct cay_port *a, *b;
	struct cay_peer *peer;
	unsigned char *mapped; /* LONG_BYTES of cay_alloc() memory of a */
};

static struct pair pair_open(uint32_t nq_entries)
{
	struct pair p;
	p.a = open_small(NULL, nq_entries);
	p.b = open_small(NULL, nq_entries);
	p.peer = open_peer(p.a, p.b);
	p.mapped = cay_alloc(p.a, LONG_BYTES, 0);
	assert_true(p.mapped != NULL);
	content_fill(p.mapped, LONG_BYTES, 1);
	return p;
}

static void pair_close(struct pair *p)
{
	check_empty(p->a);
	check_empty(p->b);
	cay_free(p->a, p->mapped);
	cay_peer_release(p->peer);
	close_port(p->a);
	close_port(p->b);
}

static int pair_send(
	struct pair *p, uint64_t tag, size_t length, unsigned flags)
{
	return cay_send(p->a, p->peer, tag, p->mapped, length, flags);
}

/* Checks the completion of a message to b. */
static void check_completion(struct pair *p, uint64_t tag, uint32_t api_tag,
	unsigned operation, bool acknowledged, size_t length)
{
	struct cay_event e;
	next_event(p->a, &e);
	assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
	assert_int_equal(e.error, 0);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.api_tag, api_tag);
	assert_int_equal(e.length, length);
	assert_int_equal(e.command & CAY_COMMAND_OPERATION, operation);
	assert_int_equal((e.command & CAY_COMMAND_ACK) != 0, acknowledged);
	assert_int_equal(e.peer.vpid, cay_port_addr(p->b).vpid);
	assert_int_equal(e.peer.node, cay_port_addr(p->b).node);
	cay_release(p->a, &e);
}

static void flags_of_one_size(struct pair *p, size_t length, unsigned operation)
{
	uint64_t tag = UINT64_MAX;
	for (unsigned flags = 0; flags < 128; flags++, tag--) {
		assert_int_equal(cay_send_tagged(p->a, p->peer, tag, flags,
					 p->mapped, length, flags),
			0);
		expect_message(p->b, tag, length, 1);
		if (flags & (CAY_NOTIFY | CAY_ACK | CAY_BORROW))
			check_completion(p, tag, flags, operation,
				flags & CAY_ACK, length);
		check_empty(p->a);
		check_empty(p->b);
	}
}

/* One completion if any flag requests it, else none. */
static void every_combination(void **state)
{
	struct pair p = pair_open(64);
	(void)state;
	flags_of_one_size(&p, 0, CAY_FAST_SEND);
	flags_of_one_size(&p, 17, CAY_FAST_SEND);
	flags_of_one_size(&p, 40, CAY_FAST_SEND);
	flags_of_one_size(&p, 41, CAY_SEND);
	flags_of_one_size(&p, CAY_EAGER_MAX, CAY_SEND);
	assert_int_equal(port_stats(p.a).completed, 5 * 112);
	pair_close(&p);
}

static void borrowed_messages_imply_notify(void **state)
{
	struct pair p = pair_open(64);
	(void)state;
	for (unsigned flags = 0; flags < 64; flags++) {
		assert_int_equal(
			cay_send_tagged(p.a, p.peer, flags, ~flags, p.mapped,
				LONG_BYTES, flags | CAY_BORROW),
			0);
		check_empty(p.a);
		expect_message(p.b, flags, LONG_BYTES, 1);
		check_completion(&p, flags, ~flags, CAY_SEND, flags & CAY_ACK,
			LONG_BYTES);
	}
	assert_int_equal(port_stats(p.a).sent_mapped, 64);
	pair_close(&p);
}

/* A mapped source belongs to the target until it releases the event. */
static void mapped_source_is_reusable_after_release(void **state)
{
	struct pair p = pair_open(64);
	struct cay_event e;
	(void)state;
	assert_int_equal(pair_send(&p, 1, LONG_BYTES, CAY_BORROW), 0);
	next_event(p.b, &e);
	assert_true(content_fits(e.data, LONG_BYTES, 1));
	check_empty(p.a);
	content_fill(p.mapped, LONG_BYTES, 2);
	assert_true(content_fits(e.data, LONG_BYTES, 2));
	cay_release(p.b, &e);
	expect_complete(p.a, 1, 0);
	pair_close(&p);
}

/* Freed memory stays valid until its readers release it. */
static void freed_source_stays_readable(void **state)
{
	struct pair p = pair_open(64);
	struct cay_event e;
	(void)state;
	assert_int_equal(pair_send(&p, 1, LONG_BYTES, CAY_BORROW), 0);
	next_event(p.b, &e);
	cay_free(p.a, p.mapped);
	p.mapped = cay_alloc(p.a, LONG_BYTES, 0);
	content_fill(p.mapped, LONG_BYTES, 3);
	assert_true(content_fits(e.data, LONG_BYTES, 1));
	cay_release(p.b, &e);
	expect_complete(p.a, 1, 0);
	pair_close(&p);
}

/* The same if origin and target are one port. */
static void freed_source_stays_readable_to_the_same_port(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *self = open_peer(port, port);
	unsigned char *data = cay_alloc(port, LONG_BYTES, 0);
	struct cay_event e;
	(void)state;
	content_fill(data, LONG_BYTES, 4);
	assert_int_equal(
		cay_send(port, self, 1, data, LONG_BYTES, CAY_BORROW), 0);
	next_event(port, &e);
	cay_free(port, data);
	assert_true(content_fits(e.data, LONG_BYTES, 4));
	cay_release(port, &e);
	expect_complete(port, 1, 0);
	cay_peer_release(self);
	close_port(port);
}

/* ---- fence ---- */

static void fence_waits_for_borrowed_messages(void **state)
{
	struct pair p = pair_open(64);
	struct cay_peer *self = open_peer(p.a, p.a);
	struct cay_event e;
	(void)state;
	assert_int_equal(pair_send(&p, 1, LONG_BYTES, CAY_BORROW), 0);
	assert_int_equal(pair_send(&p, 2, 8, CAY_FENCE), -EAGAIN);
	assert_int_equal(pair_send(&p, 2, 100, CAY_FENCE), -EAGAIN);
	assert_int_equal(pair_send(&p, 2, LONG_BYTES, CAY_FENCE), -EAGAIN);
	/* A fence waits for operations to all targets. */
	assert_int_equal(cay_send(p.a, self, 2, NULL, 0, CAY_FENCE), -EAGAIN);
	assert_int_equal(pair_send(&p, 3, 8, 0), 0);
	uint64_t deadline = now_ns() + 30 * NS_PER_MS;
	assert_int_equal(
		cay_send_wait(p.a, p.peer, 2, NULL, 0, CAY_FENCE, deadline),
		-ETIMEDOUT);
	assert_true(now_ns() >= deadline);
	next_event(p.b, &e);
	assert_int_equal(pair_send(&p, 2, 8, CAY_FENCE), -EAGAIN);
	cay_release(p.b, &e);
	assert_int_equal(pair_send(&p, 4, 8, CAY_FENCE), 0);
	expect_message(p.b, 3, 8, 1);
	expect_message(p.b, 4, 8, 1);
	expect_complete(p.a, 1, 0);
	cay_peer_release(self);
	pair_close(&p);
}

static void fence_receiver(struct child *parent, void *unused)
{
	struct cay_port *port = open_named("fence");
	(void)unused;
	assert_int_equal(child_receive(parent), 1);
	nap_ns(50 * NS_PER_MS);
	expect_message(port, 1, LONG_BYTES, 1);
	expect_message(port, 2, 0, 0);
	close_port(port);
}

static void fence_passes_when_all_are_complete(void **state)
{
	struct pair p = pair_open(64);
	struct child receiver;
	(void)state;
	child_start(&receiver, fence_receiver, NULL);
	struct cay_peer *peer = open_peer_named(p.a, "fence");
	assert_int_equal(
		cay_send(p.a, peer, 1, p.mapped, LONG_BYTES, CAY_BORROW), 0);
	child_send(&receiver, 1);
	assert_int_equal(
		cay_send_wait(p.a, peer, 2, NULL, 0, CAY_FENCE, soon()), 0);
	expect_complete(p.a, 1, 0);
	child_join(&receiver);
	expect_gone(p.a, cay_peer_addr(peer).vpid);
	cay_peer_release(peer);
	pair_close(&p);
}

/* ---- interrupt ---- */

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return poll(&p, 1, 0) == 1;
}

static void interrupt_always_rings(void **state)
{
	struct pair p = pair_open(64);
	int fd = cay_port_fd(p.b);
	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pair_send(&p, 1, 8, 0), 0);
	assert_true(!readable(fd));
	assert_int_equal(pair_send(&p, 2, 8, CAY_INTERRUPT), 0);
	assert_true(readable(fd));
	expect_message(p.b, 1, 8, 1);
	expect_message(p.b, 2, 8, 1);
	assert_int_equal(cay_port_arm(p.b), 0);
	assert_true(!readable(fd));
	assert_int_equal(pair_send(&p, 3, LONG_BYTES, CAY_INTERRUPT), 0);
	assert_true(readable(fd));
	expect_message(p.b, 3, LONG_BYTES, 1);
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_combination),
		TEST(borrowed_messages_imply_notify),
		TEST(mapped_source_is_reusable_after_release),
		TEST(freed_source_stays_readable),
		TEST(freed_source_stays_readable_to_the_same_port),
		TEST(fence_waits_for_borrowed_messages),
		TEST(fence_passes_when_all_are_complete),
		TEST(interrupt_always_rings),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
