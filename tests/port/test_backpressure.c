/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backpressure: a full target refuses messages and loses none, reserved entries
 * stay reserved, and released entries return in any order of release.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

/* The smallest queue, and its reserved parts. */
enum {
	ENTRIES = 16,
	COMPLETIONS = ENTRIES / 4,
	PRIORITY = ENTRIES / 16,
	ORDINARY = ENTRIES - COMPLETIONS - PRIORITY,
};

/* Largest payloads that fit into the smallest RDR. */
enum {
	PAYLOADS = 8
};

#define LONG_BYTES 10000ul

struct pair {
	struct cay_port *a, *b;
	struct cay_peer *to_b, *to_a;
};

static struct pair pair_open(uint32_t nq_entries)
{
	struct pair p;
	p.a = open_small(NULL, nq_entries);
	p.b = open_small(NULL, nq_entries);
	p.to_b = open_peer(p.a, p.b);
	p.to_a = open_peer(p.b, p.a);
	return p;
}

static void pair_close(struct pair *p)
{
	check_empty(p->a);
	check_empty(p->b);
	cay_peer_release(p->to_b);
	cay_peer_release(p->to_a);
	close_port(p->a);
	close_port(p->b);
}

/* Sends until refused; tags start at *tag. */
static unsigned fill(struct cay_port *from, struct cay_peer *to, uint64_t *tag,
	size_t length, unsigned flags)
{
	static unsigned char data[CAY_EAGER_MAX];
	unsigned accepted = 0;
	for (;; accepted++, ++*tag) {
		content_fill(data, length, *tag);
		int r = cay_send(from, to, *tag, data, length, flags);
		if (r == -EAGAIN)
			return accepted;
		assert_int_equal(r, 0);
	}
}

static void drain(
	struct cay_port *port, uint64_t *tag, size_t length, unsigned count)
{
	for (unsigned i = 0; i < count; i++, ++*tag)
		expect_message(port, *tag, length, *tag);
	check_empty(port);
}

static void full_target_refuses(void **state)
{
	struct pair p = pair_open(1);
	uint64_t sent = 0, received = 0;
	(void)state;
	assert_int_equal(port_stats(p.b).nq_entries, ENTRIES);
	for (unsigned lap = 0; lap < 50; lap++) {
		assert_int_equal(fill(p.a, p.to_b, &sent, 8, 0), ORDINARY);
		assert_int_equal(port_stats(p.b).nq_used, ORDINARY);
		assert_int_equal(fill(p.a, p.to_b, &sent, 8, 0), 0);
		drain(p.b, &received, 8, ORDINARY);
	}
	struct cay_stats s = port_stats(p.a);
	assert_int_equal(s.issued, 50 * ORDINARY);
	assert_int_equal(s.refused, 100);
	assert_int_equal(port_stats(p.b).received, 50 * ORDINARY);
	pair_close(&p);
}

static void priority_passes_a_full_target(void **state)
{
	struct pair p = pair_open(ENTRIES);
	uint64_t sent = 0, received = 0;
	(void)state;
	assert_int_equal(fill(p.a, p.to_b, &sent, 8, 0), ORDINARY);
	assert_int_equal(fill(p.a, p.to_b, &sent, 8, CAY_PRIORITY), PRIORITY);
	drain(p.b, &received, 8, ORDINARY + PRIORITY);
	assert_int_equal(
		fill(p.a, p.to_b, &sent, 8, CAY_PRIORITY), ORDINARY + PRIORITY);
	drain(p.b, &received, 8, ORDINARY + PRIORITY);
	pair_close(&p);
}

/* Completions of a port find entries although its queue is full of messages. */
static void completions_are_reserved(void **state)
{
	struct pair p = pair_open(ENTRIES);
	uint64_t to_a = 0, to_b = 0, at_a = 0, at_b = 0;
	(void)state;
	assert_int_equal(fill(p.b, p.to_a, &to_a, 8, 0), ORDINARY);
	assert_int_equal(fill(p.b, p.to_a, &to_a, 8, CAY_PRIORITY), PRIORITY);
	assert_int_equal(fill(p.a, p.to_b, &to_b, 8, CAY_NOTIFY), COMPLETIONS);
	/* The target still accepts messages without a completion. */
	assert_int_equal(cay_send(p.a, p.to_b, 77, NULL, 0, 0), 0);
	assert_int_equal(port_stats(p.a).nq_used, ENTRIES);
	for (; at_a < ORDINARY + PRIORITY; at_a++)
		expect_message(p.a, at_a, 8, at_a);
	for (unsigned i = 0; i < COMPLETIONS; i++)
		expect_complete(p.a, i, 0);
	check_empty(p.a);
	for (; at_b < COMPLETIONS; at_b++)
		expect_message(p.b, at_b, 8, at_b);
	expect_message(p.b, 77, 0, 0);
	check_empty(p.b);
	assert_int_equal(fill(p.a, p.to_b, &to_b, 8, CAY_ACK), COMPLETIONS);
	for (unsigned i = 0; i < COMPLETIONS; i++)
		expect_complete(p.a, at_b + i, 0);
	drain(p.b, &at_b, 8, COMPLETIONS);
	pair_close(&p);
}

/* A completion keeps its reservation until it is released. */
static void reservations_return_on_release(void **state)
{
	struct pair p = pair_open(ENTRIES);
	struct cay_event held[COMPLETIONS];
	uint64_t sent = 0, received = 0;
	(void)state;
	assert_int_equal(fill(p.a, p.to_b, &sent, 8, CAY_NOTIFY), COMPLETIONS);
	for (unsigned i = 0; i < COMPLETIONS; i++)
		next_event(p.a, &held[i]);
	check_empty(p.a);
	assert_int_equal(fill(p.a, p.to_b, &sent, 8, CAY_NOTIFY), 0);
	for (unsigned i = COMPLETIONS; i-- > 0;)
		cay_release(p.a, &held[i]);
	check_empty(p.a);
	drain(p.b, &received, 8, COMPLETIONS);
	assert_int_equal(fill(p.a, p.to_b, &sent, 8, CAY_NOTIFY), COMPLETIONS);
	for (unsigned i = 0; i < COMPLETIONS; i++)
		expect_complete(p.a, COMPLETIONS + i, 0);
	drain(p.b, &received, 8, COMPLETIONS);
	pair_close(&p);
}

/* ---- payload ---- */

static void full_rdr_refuses(void **state)
{
	struct pair p = pair_open(64);
	uint64_t sent = 0, received = 0;
	(void)state;
	for (unsigned lap = 0; lap < 20; lap++) {
		assert_int_equal(
			fill(p.a, p.to_b, &sent, CAY_EAGER_MAX, 0), PAYLOADS);
		struct cay_stats s = port_stats(p.b);
		assert_int_equal(s.rdr_used, s.rdr_bytes);
		/* An inline message needs no payload space. */
		assert_int_equal(cay_send(p.a, p.to_b, 1, NULL, 0, 0), 0);
		for (unsigned i = 0; i < PAYLOADS; i++, received++)
			expect_message(p.b, received, CAY_EAGER_MAX, received);
		expect_message(p.b, 1, 0, 0);
		check_empty(p.b);
	}
	pair_close(&p);
}

/* Entries are returned up to the oldest one that is not released. */
static void oldest_unreleased_entry_blocks_the_return(void **state)
{
	struct pair p = pair_open(64);
	struct cay_event held[PAYLOADS];
	uint64_t sent = 0;
	(void)state;
	assert_int_equal(fill(p.a, p.to_b, &sent, CAY_EAGER_MAX, 0), PAYLOADS);
	for (unsigned i = 0; i < PAYLOADS; i++)
		next_event(p.b, &held[i]);
	for (unsigned i = 1; i < PAYLOADS; i++)
		cay_release(p.b, &held[i]);
	check_empty(p.b);
	assert_int_equal(fill(p.a, p.to_b, &sent, CAY_EAGER_MAX, 0), 0);
	assert_true(content_fits(held[0].data, CAY_EAGER_MAX, 0));
	cay_release(p.b, &held[0]);
	check_empty(p.b);
	assert_int_equal(port_stats(p.b).rdr_used, 0);
	uint64_t received = sent;
	assert_int_equal(fill(p.a, p.to_b, &sent, CAY_EAGER_MAX, 0), PAYLOADS);
	drain(p.b, &received, CAY_EAGER_MAX, PAYLOADS);
	pair_close(&p);
}

/* A receiver whose queue is never empty returns entries by quarters. */
static void busy_receiver_returns_payload(void **state)
{
	struct pair p = pair_open(512);
	uint64_t sent = 0, received = 0;
	(void)state;
	assert_int_equal(fill(p.a, p.to_b, &sent, CAY_EAGER_MAX, 0), PAYLOADS);
	for (unsigned i = 0; i < PAYLOADS / 4; i++, received++)
		expect_message(p.b, received, CAY_EAGER_MAX, received);
	assert_int_equal(
		fill(p.a, p.to_b, &sent, CAY_EAGER_MAX, 0), PAYLOADS / 4);
	drain(p.b, &received, CAY_EAGER_MAX, PAYLOADS);
	pair_close(&p);
}

/* ---- release in any order ---- */

enum {
	HELD = 40
};

struct held {
	struct cay_event event[HELD];
	uint64_t seed[HELD];
	unsigned count;
};

static void held_release(struct cay_port *port, struct held *h, unsigned i)
{
	assert_true(
		content_fits(h->event[i].data, h->event[i].length, h->seed[i]));
	cay_release(port, &h->event[i]);
	h->count--;
	h->event[i] = h->event[h->count];
	h->seed[i] = h->seed[h->count];
}

static void send_random(struct pair *p, struct random *r, uint64_t *sent)
{
	static unsigned char data[CAY_EAGER_MAX];
	size_t length = random_below(r, 3) ? random_below(r, 48)
					   : random_below(r, CAY_EAGER_MAX);
	content_fill(data, length, *sent);
	int e = cay_send(p->a, p->to_b, *sent, data, length, 0);
	assert_true(e == 0 || e == -EAGAIN);
	*sent += e == 0;
}

static void take_random(
	struct pair *p, struct random *r, struct held *h, uint64_t *received)
{
	if (h->count < HELD && poll_event(p->b, &h->event[h->count])) {
		assert_int_equal(h->event[h->count].tag, *received);
		h->seed[h->count++] = (*received)++;
	} else if (h->count) {
		held_release(p->b, h, (unsigned)random_below(r, h->count));
	}
}

static void release_with_seed(struct pair *p, uint64_t seed)
{
	struct random r = { seed };
	struct held h = { .count = 0 };
	uint64_t sent = 0, received = 0;
	while (sent < scaled(4000))
		if (random_below(&r, 2))
			send_random(p, &r, &sent);
		else
			take_random(p, &r, &h, &received);
	while (received < sent || h.count)
		take_random(p, &r, &h, &received);
	check_empty(p->b);
	struct cay_stats s = port_stats(p->b);
	assert_int_equal(s.nq_used, 0);
	assert_int_equal(s.rdr_used, 0);
}

static void release_in_any_order(void **state)
{
	struct pair p = pair_open(64);
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		release_with_seed(&p, seed * 1000003);
	pair_close(&p);
}

/* ---- release in bursts ---- */

enum {
	BATCHES = 4,
	BATCH = 16,
};

struct batch {
	struct cay_event event[BATCH];
	int count;
	uint64_t first; /* seed of the first */
};

/* Releases a batch: all at once, or some first, or in the wrong order. */
static void batch_release(
	struct cay_port *port, struct batch *b, struct random *r)
{
	for (int i = 0; i < b->count; i++)
		assert_true(content_fits(b->event[i].data, b->event[i].length,
			b->first + (unsigned)i));
	int some = (int)random_below(r, (unsigned)b->count + 1);
	if (random_below(r, 2)) {
		cay_release_burst(port, b->event + some, b->count - some);
		cay_release_burst(port, b->event, some);
	} else {
		cay_release_burst(port, b->event, some);
		while (some < b->count)
			cay_release(port, &b->event[--b->count]);
	}
	cay_release_burst(port, b->event, 0);
	cay_release_burst(port, NULL, -1);
	b->count = 0;
}

static void bursts_with_seed(struct pair *p, uint64_t seed)
{
	struct random r = { seed };
	static struct batch batches[BATCHES];
	uint64_t sent = 0, received = 0;
	for (uint64_t step = 0; step < scaled(2000) || received < sent;
		step++) {
		struct batch *b = &batches[random_below(&r, BATCHES)];
		for (uint64_t n = random_below(&r, BATCH);
			n && step < scaled(2000); n--)
			send_random(p, &r, &sent);
		if (b->count) {
			batch_release(p->b, b, &r);
			continue;
		}
		b->count = cay_poll(
			p->b, b->event, 1 + (int)random_below(&r, BATCH));
		assert_true(b->count >= 0);
		b->first = received;
		for (int i = 0; i < b->count; i++)
			assert_int_equal(b->event[i].tag, received++);
	}
	for (unsigned i = 0; i < BATCHES; i++)
		batch_release(p->b, &batches[i], &r);
	check_empty(p->b);
	struct cay_stats s = port_stats(p->b);
	assert_int_equal(s.nq_used, 0);
	assert_int_equal(s.rdr_used, 0);
}

static void release_in_bursts(void **state)
{
	struct pair p = pair_open(64);
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		bursts_with_seed(&p, seed * 1000003);
	pair_close(&p);
}

/* ---- long messages ---- */

/* Each needs a completion, so the reservation limits their number. */
static void long_messages_are_limited(void **state)
{
	struct pair p = pair_open(ENTRIES);
	unsigned char *data = cay_alloc(p.a, LONG_BYTES, 0);
	(void)state;
	content_fill(data, LONG_BYTES, 5);
	for (unsigned lap = 0; lap < 10; lap++) {
		for (unsigned i = 0; i < COMPLETIONS; i++)
			assert_int_equal(cay_send(p.a, p.to_b, i, data,
						 LONG_BYTES, CAY_BORROW),
				0);
		assert_int_equal(port_stats(p.a).refs_used, COMPLETIONS);
		assert_int_equal(
			cay_send(p.a, p.to_b, 9, data, LONG_BYTES, CAY_BORROW),
			-EAGAIN);
		for (unsigned i = 0; i < COMPLETIONS; i++)
			expect_message(p.b, i, LONG_BYTES, 5);
		for (unsigned i = 0; i < COMPLETIONS; i++)
			expect_complete(p.a, i, 0);
		check_empty(p.a);
		check_empty(p.b);
	}
	/* A refused message is not counted as sent. */
	assert_int_equal(port_stats(p.a).sent_mapped, 10 * COMPLETIONS);
	cay_free(p.a, data);
	pair_close(&p);
}

static void long_messages_fill_the_references(void **state)
{
	struct pair p = pair_open(512);
	unsigned char *data = cay_alloc(p.a, LONG_BYTES, 0);
	unsigned slots = (unsigned)port_stats(p.a).refs_entries;
	(void)state;
	content_fill(data, LONG_BYTES, 6);
	for (unsigned i = 0; i < slots; i++)
		assert_int_equal(
			cay_send(p.a, p.to_b, i, data, LONG_BYTES, CAY_BORROW),
			0);
	assert_int_equal(cay_send(p.a, p.to_b, 0, data, LONG_BYTES, CAY_BORROW),
		-EAGAIN);
	for (unsigned i = 0; i < slots; i++)
		expect_message(p.b, i, LONG_BYTES, 6);
	for (unsigned i = 0; i < slots; i++)
		expect_complete(p.a, i, 0);
	cay_free(p.a, data);
	pair_close(&p);
}

/* ---- staging memory ---- */

#define PIECE_BYTES   (1ul << 20)
#define STAGING_BYTES (64ul << 20)

/* Two pieces are staged. Returns the number of messages until -EAGAIN. */
static uint64_t stage_messages(struct pair *p, unsigned char *data)
{
	const struct iovec pieces[] = { { data, PIECE_BYTES },
		{ data + PIECE_BYTES, PIECE_BYTES } };
	uint64_t count = 0;
	int r;
	while ((r = cay_sendv(p->a, p->to_b, count, pieces, 2, CAY_BORROW)) ==
		0)
		count++;
	assert_int_equal(r, -EAGAIN);
	for (uint64_t i = 0; i < count; i++)
		expect_message(p->b, i, 2 * PIECE_BYTES, 1);
	for (uint64_t i = 0; i < count; i++)
		expect_complete(p->a, i, 0);
	return count;
}

static void staging_memory_is_limited_and_reused(void **state)
{
	struct pair p = pair_open(512);
	unsigned char *data = malloc(2 * PIECE_BYTES);
	(void)state;
	content_fill(data, 2 * PIECE_BYTES, 1);
	uint64_t count = stage_messages(&p, data);
	assert_in_range(count, 2, STAGING_BYTES / (2 * PIECE_BYTES));
	assert_int_equal(stage_messages(&p, data), count);
	free(data);
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(full_target_refuses),
		TEST(priority_passes_a_full_target),
		TEST(completions_are_reserved),
		TEST(reservations_return_on_release),
		TEST(full_rdr_refuses),
		TEST(oldest_unreleased_entry_blocks_the_return),
		TEST(busy_receiver_returns_payload),
		TEST(release_in_any_order),
		TEST(release_in_bursts),
		TEST(long_messages_are_limited),
		TEST(long_messages_fill_the_references),
		TEST(staging_memory_is_limited_and_reused),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
