/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Death by SIGKILL: the survivors receive all messages that were sent, an error
 * for each operation in flight to the dead process, and GONE; all memory is
 * freed.
 */
#include <errno.h>
#include <stdlib.h>

#include "harness.h"
#include "status.h"

#define LONG_BYTES 300000ul

enum {
	LONGS = 6
};

/* ---- death of the target ---- */

struct target_plan {
	unsigned polls; /* events polled and not released */
};

static void target_run(struct child *parent, void *argument)
{
	const struct target_plan *plan = argument;
	struct cay_port *port = open_named("target");
	struct cay_event e;
	child_send(parent, 1);
	for (unsigned i = 0; i < plan->polls; i++) {
		next_event(port, &e);
		assert_int_equal(e.length, LONG_BYTES);
	}
	child_send(parent, 2);
	child_receive(parent);
}

static void check_dead(struct cay_port *port, struct cay_peer *peer)
{
	expect_gone(port, cay_peer_addr(peer).vpid);
	check_empty(port);
	assert_int_equal(cay_send(port, peer, 0, NULL, 0, 0), -EPIPE);
	assert_int_equal(port_stats(port).refs_used, 0);
}

static void target_dies(unsigned polls, bool mapped)
{
	struct cay_port *port = open_port(NULL);
	uint64_t heap_used = status_read().heap_used;
	struct target_plan plan = { polls };
	struct child child;
	unsigned char *own = malloc(LONG_BYTES);
	unsigned char *arena = cay_alloc(port, LONG_BYTES, 0);
	child_start(&child, target_run, &plan);
	child_receive(&child);
	struct cay_peer *peer = open_peer_named(port, "target");
	for (unsigned i = 0; i < LONGS; i++)
		assert_int_equal(cay_send(port, peer, i, mapped ? arena : own,
					 LONG_BYTES, CAY_BORROW),
			0);
	assert_int_equal(child_receive(&child), 2);
	child_kill(&child);
	for (unsigned i = 0; i < LONGS; i++)
		expect_complete(port, i, CAY_ERROR_GONE);
	check_dead(port, peer);
	cay_peer_release(peer);
	cay_free(port, arena);
	close_port(port);
	free(own);
	/* Nothing is left, except a staging block kept for reuse. */
	port = open_port(NULL);
	assert_int_equal(status_settled().heap_used, heap_used);
	close_port(port);
}

static void target_dies_before_it_polls(void **state)
{
	(void)state;
	target_dies(0, true);
	target_dies(0, false);
}

static void target_dies_while_it_reads(void **state)
{
	(void)state;
	target_dies(LONGS / 2, true);
	target_dies(LONGS, true);
	target_dies(LONGS, false);
}

/* A message to a living port stays in flight when another target dies. */
static void other_targets_are_spared(void **state)
{
	struct cay_port *port = open_port(NULL), *living = open_port(NULL);
	struct cay_peer *to_living = open_peer(port, living);
	unsigned char *arena = cay_alloc(port, LONG_BYTES, 0);
	struct target_plan plan = { 0 };
	struct child child;
	(void)state;
	content_fill(arena, LONG_BYTES, 1);
	child_start(&child, target_run, &plan);
	child_receive(&child);
	struct cay_peer *peer = open_peer_named(port, "target");
	assert_int_equal(
		cay_send(port, to_living, 1, arena, LONG_BYTES, CAY_BORROW), 0);
	assert_int_equal(
		cay_send(port, peer, 2, arena, LONG_BYTES, CAY_BORROW), 0);
	assert_int_equal(child_receive(&child), 2);
	child_kill(&child);
	expect_complete(port, 2, CAY_ERROR_GONE);
	expect_gone(port, cay_peer_addr(peer).vpid);
	check_empty(port);
	expect_message(living, 1, LONG_BYTES, 1);
	expect_complete(port, 1, 0);
	cay_peer_release(peer);
	cay_peer_release(to_living);
	cay_free(port, arena);
	close_port(living);
	close_port(port);
}

/*
 * A fenced message to another peer waits until the long message to the dead
 * peer has ended, although the sender does not poll.
 */
static void fence_ends_when_the_target_dies(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_peer *to_other = open_peer(port, other);
	unsigned char *arena = cay_alloc(port, LONG_BYTES, 0);
	struct target_plan plan = { 0 };
	struct child child;
	(void)state;
	child_start(&child, target_run, &plan);
	child_receive(&child);
	struct cay_peer *peer = open_peer_named(port, "target");
	assert_int_equal(
		cay_send(port, peer, 1, arena, LONG_BYTES, CAY_BORROW), 0);
	assert_int_equal(child_receive(&child), 2);
	assert_int_equal(
		cay_send(port, to_other, 2, NULL, 0, CAY_FENCE), -EAGAIN);
	child_kill(&child);
	assert_int_equal(
		cay_send_wait(port, to_other, 2, NULL, 0, CAY_FENCE, soon()),
		0);
	expect_complete(port, 1, CAY_ERROR_GONE);
	check_dead(port, peer);
	cay_peer_release(peer);
	cay_peer_release(to_other);
	cay_free(port, arena);
	close_port(other);
	close_port(port);
}

/* Releases one message, so that its origin is sent the completion. */
static void releasing_target_run(struct child *parent, void *argument)
{
	struct cay_port *port = open_named("target");
	(void)argument;
	child_send(parent, 1);
	expect_message(port, 1, LONG_BYTES, 1);
	child_send(parent, 2);
	child_receive(parent);
}

/*
 * The node does not know that the target has sent its completion, and sends
 * another. When the origin polls that, the slot is in use again.
 */
static void duplicate_completion_is_ignored(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_peer *to_other = open_peer(port, other);
	unsigned char *arena = cay_alloc(port, LONG_BYTES, 0);
	uint64_t deadline = soon();
	struct child child;
	(void)state;
	content_fill(arena, LONG_BYTES, 1);
	child_start(&child, releasing_target_run, NULL);
	child_receive(&child);
	struct cay_peer *peer = open_peer_named(port, "target");
	assert_int_equal(
		cay_send(port, peer, 1, arena, LONG_BYTES, CAY_BORROW), 0);
	assert_int_equal(child_receive(&child), 2);
	child_kill(&child);
	/* Two completions and GONE. */
	while (port_stats(port).nq_used < 3) {
		assert_true(now_ns() < deadline);
		nap_ns(NS_PER_MS);
	}
	expect_complete(port, 1, 0);
	assert_int_equal(
		cay_send(port, to_other, 2, arena, LONG_BYTES, CAY_BORROW), 0);
	expect_gone(port, cay_peer_addr(peer).vpid);
	check_empty(port);
	assert_int_equal(port_stats(port).refs_used, 1);
	expect_message(other, 2, LONG_BYTES, 1);
	expect_complete(port, 2, 0);
	assert_int_equal(port_stats(port).refs_used, 0);
	cay_peer_release(peer);
	cay_peer_release(to_other);
	cay_free(port, arena);
	close_port(other);
	close_port(port);
}

/* ---- death of the origin ---- */

struct origin {
	bool mapped;
	bool twice; /* a first message is received, so that the probe has a
		       result */
};

static void origin_run(struct child *parent, void *argument)
{
	const struct origin *o = argument;
	struct cay_port *port = open_named("origin");
	struct cay_peer *peer = open_peer_named(port, "survivor");
	unsigned char *data = o->mapped ? cay_alloc(port, LONG_BYTES, 0)
					: malloc(LONG_BYTES);
	content_fill(data, LONG_BYTES, 7);
	if (o->twice) {
		assert_int_equal(
			cay_send(port, peer, 9, data, LONG_BYTES, CAY_BORROW),
			0);
		expect_complete(port, 9, 0);
	}
	for (unsigned i = 0; i < LONGS; i++) {
		assert_int_equal(
			cay_send(port, peer, i, data, LONG_BYTES, CAY_BORROW),
			0);
		assert_int_equal(cay_send(port, peer, i, data, 500, 0), 0);
	}
	child_send(parent, port_stats(port).sent_process);
	child_receive(parent);
}

static void survivor_short(struct cay_port *port, unsigned i)
{
	expect_message(port, i, 500, 7);
}

/*
 * The receiver holds some messages from before the death and polls the others
 * after it.
 */
static void survivor_reads(struct cay_port *port, struct cay_event *held,
	unsigned from, unsigned to, bool readable)
{
	for (unsigned i = from; i < to; i++) {
		next_event(port, &held[i]);
		assert_int_equal(held[i].kind, CAY_EVENT_MESSAGE);
		assert_int_equal(held[i].tag, i);
		assert_int_equal(held[i].length, LONG_BYTES);
		assert_int_equal(held[i].error, readable ? 0 : CAY_ERROR_GONE);
		assert_int_equal(held[i].data != NULL, readable);
		survivor_short(port, i);
	}
}

static void survivor_release(struct cay_port *port, struct cay_event *held)
{
	for (unsigned i = 0; i < LONGS; i++) {
		if (held[i].data)
			assert_true(content_fits(held[i].data, LONG_BYTES, 7));
		cay_release(port, &held[i]);
	}
	check_empty(port);
}

static void origin_dies(const struct origin *how)
{
	struct cay_port *port = open_named("survivor");
	struct cay_event held[LONGS];
	struct child child;
	uint64_t heap_used = status_read().heap_used;
	child_start(&child, origin_run, (void *)how);
	struct cay_peer *peer = open_peer_named(port, "origin");
	if (how->twice)
		expect_message(port, 9, LONG_BYTES, 7);
	bool copied = child_receive(&child) != 0;
	survivor_reads(port, held, 0, LONGS / 2, true);
	child_kill(&child);
	/* Memory of a dead process cannot be read. */
	survivor_reads(port, held, LONGS / 2, LONGS, !copied);
	expect_gone(port, cay_peer_addr(peer).vpid);
	survivor_release(port, held);
	assert_int_equal(status_settled().heap_used, heap_used);
	cay_peer_release(peer);
	close_port(port);
}

static void mapped_memory_outlives_its_process(void **state)
{
	(void)state;
	origin_dies(&(struct origin){ .mapped = true });
}

static void staged_memory_outlives_its_process(void **state)
{
	(void)state;
	origin_dies(&(struct origin){ .mapped = false });
}

/* After the probe, the target reads the memory of the process. */
static void process_memory_dies_with_its_process(void **state)
{
	(void)state;
	origin_dies(&(struct origin){ .mapped = false, .twice = true });
}

/* ---- close of the origin ---- */

static void closing_origin(struct child *parent, void *argument)
{
	bool *mapped = argument;
	struct cay_port *port = open_named("origin");
	struct cay_peer *peer = open_peer_named(port, "survivor");
	unsigned char *data = *mapped ? cay_alloc(port, LONG_BYTES, 0)
				      : malloc(LONG_BYTES);
	content_fill(data, LONG_BYTES, 7);
	for (unsigned i = 0; i < LONGS; i++)
		assert_int_equal(
			cay_send(port, peer, i, data, LONG_BYTES, CAY_BORROW),
			0);
	cay_peer_release(peer);
	close_port(port);
	child_send(parent, 1);
	child_receive(parent);
}

static void origin_closes(bool mapped)
{
	struct cay_port *port = open_named("survivor");
	uint64_t heap_used = status_read().heap_used;
	struct child child;
	child_start(&child, closing_origin, &mapped);
	child_receive(&child);
	for (unsigned i = 0; i < LONGS; i++)
		expect_message(port, i, LONG_BYTES, 7);
	assert_int_equal(status_settled().heap_used, heap_used);
	child_send(&child, 1);
	child_join(&child);
	close_port(port);
}

static void messages_outlive_a_closed_port(void **state)
{
	(void)state;
	origin_closes(true);
	origin_closes(false);
}

/* ---- both directions, at random times ---- */

/* Sends and polls in an endless loop. */
static void chatter_step(struct cay_port *port, struct cay_peer *peer,
	unsigned char *data, uint64_t i)
{
	static const size_t sizes[] = { 8, 40, 3000, 8192, LONG_BYTES };
	struct cay_event e;
	int r = cay_send(port, peer, i, data, sizes[i % COUNT(sizes)],
		(i % 3 ? 0 : CAY_NOTIFY) | (i % 2 ? 0 : CAY_BORROW));
	assert_true(r == 0 || r == -EAGAIN || r == -EPIPE);
	if (!poll_event(port, &e))
		return;
	/* A message of a dead process may be missing, but never corrupt. */
	if (e.kind == CAY_EVENT_MESSAGE && e.error == 0)
		assert_true(content_fits(e.data, e.length, 8));
	cay_release(port, &e);
}

static void chatter_child(struct child *parent, void *argument)
{
	bool *mapped = argument;
	struct cay_port *port = open_small("chatter", 64);
	struct cay_peer *peer = open_peer_named(port, "listener");
	unsigned char *data = *mapped ? cay_alloc(port, LONG_BYTES, 0)
				      : malloc(LONG_BYTES);
	content_fill(data, LONG_BYTES, 8);
	child_send(parent, 1);
	for (uint64_t i = 0;; i++)
		chatter_step(port, peer, data, i);
}

/* Polls all remaining events; GONE is the last one. */
static void chatter_drain(struct cay_port *port)
{
	struct cay_event e;
	do {
		next_event(port, &e);
		if (e.kind == CAY_EVENT_MESSAGE && e.error == 0)
			assert_true(content_fits(e.data, e.length, 8));
		cay_release(port, &e);
	} while (e.kind != CAY_EVENT_GONE);
	check_empty(port);
}

static void chatter_once(struct random *r, bool mapped)
{
	struct cay_port *port = open_small("listener", 64);
	uint64_t heap_used = status_read().heap_used;
	struct child child;
	child_start(&child, chatter_child, &mapped);
	struct cay_peer *peer = open_peer_named(port, "chatter");
	unsigned char *data = cay_alloc(port, LONG_BYTES, 0);
	content_fill(data, LONG_BYTES, 8);
	child_receive(&child);
	uint64_t until = now_ns() + random_below(r, 5 * NS_PER_MS);
	for (uint64_t i = 0; now_ns() < until; i++)
		chatter_step(port, peer, data, i);
	child_kill(&child);
	chatter_drain(port);
	assert_int_equal(port_stats(port).refs_used, 0);
	assert_int_equal(port_stats(port).nq_used, 0);
	assert_int_equal(port_stats(port).rdr_used, 0);
	assert_int_equal(port_stats(port).copied_used, 0);
	cay_free(port, data);
	cay_peer_release(peer);
	/* The port keeps staging blocks for reuse. */
	close_port(port);
	port = open_small("listener", 64);
	assert_int_equal(status_settled().heap_used, heap_used);
	close_port(port);
}

static void random_deaths(void **state)
{
	struct random r = { 17 };
	(void)state;
	for (uint64_t i = 0; i < scaled(100); i++)
		chatter_once(&r, i % 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(target_dies_before_it_polls),
		TEST(target_dies_while_it_reads),
		TEST(other_targets_are_spared),
		TEST(fence_ends_when_the_target_dies),
		TEST(duplicate_completion_is_ignored),
		TEST(mapped_memory_outlives_its_process),
		TEST(staged_memory_outlives_its_process),
		TEST(process_memory_dies_with_its_process),
		TEST(messages_outlive_a_closed_port),
		TEST(random_deaths),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
