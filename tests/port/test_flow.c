/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow control between two running processes: rings wrap with random sizes, and
 * two ports that fill each other's queues always recover.
 */
#include <errno.h>
#include <stdlib.h>

#include "harness.h"

/* ---- one direction ---- */

enum {
	HELD = 24,
	BATCH = 8
};

/* The size is a function of the message number, known to both sides. */
static size_t size_of(uint64_t number)
{
	struct random r = { number * 31 };
	switch (random_below(&r, 20)) {
	case 0:
		return random_below(&r, CAY_EAGER_MAX + 1);
	case 1:
	case 2:
	case 3:
	case 4:
		return random_below(&r, 600);
	default:
		return random_below(&r, 49);
	}
}

static void stream_sender(struct child *parent, void *argument)
{
	const uint64_t *messages = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "stream");
	unsigned char data[CAY_EAGER_MAX];
	(void)parent;
	for (uint64_t i = 0; i < *messages; i++) {
		content_fill(data, size_of(i), i);
		assert_int_equal(cay_send_wait(port, peer, i, data, size_of(i),
					 0, soon()),
			0);
	}
	cay_peer_release(peer);
	close_port(port);
}

struct window {
	struct cay_event event[HELD + BATCH];
	unsigned count;
};

static void window_release(struct cay_port *port, struct window *w, unsigned i)
{
	const struct cay_event *e = &w->event[i];
	assert_true(content_fits(e->data, e->length, e->tag));
	cay_release(port, e);
	w->event[i] = w->event[--w->count];
}

/* Releases random events until at most `most` are held. */
static void window_shrink(struct cay_port *port, struct window *w,
	struct random *r, unsigned most)
{
	unsigned keep = (unsigned)random_below(r, most + 1);
	while (w->count > keep)
		window_release(port, w, (unsigned)random_below(r, w->count));
}

static bool window_take(
	struct cay_port *port, struct window *w, uint64_t *received)
{
	int n = cay_poll(port, &w->event[w->count], *received % 3 ? BATCH : 1);
	assert_true(n >= 0);
	for (int i = 0; i < n; i++, (*received)++) {
		const struct cay_event *e = &w->event[w->count + (unsigned)i];
		assert_int_equal(e->kind, CAY_EVENT_MESSAGE);
		assert_int_equal(e->tag, *received);
		assert_int_equal(e->length, size_of(*received));
	}
	w->count += (unsigned)n;
	return n > 0;
}

static void stream(uint32_t nq_entries, uint64_t messages)
{
	struct cay_port *port = open_small("stream", nq_entries);
	struct window w = { .count = 0 };
	struct random r = { nq_entries };
	struct child sender;
	uint64_t received = 0;
	child_start_local(&sender, stream_sender, &messages);
	while (received < messages) {
		/* The sender may wait for the entries of held events. */
		bool some = window_take(port, &w, &received);
		window_shrink(port, &w, &r, some ? HELD : 0);
		if (!some)
			assert_int_equal(cay_wait(port, soon()), 0);
	}
	window_shrink(port, &w, &r, 0);
	child_join(&sender);
	check_empty(port);
	assert_int_equal(port_stats(port).nq_used, 0);
	assert_int_equal(port_stats(port).rdr_used, 0);
	close_port(port);
}

static void rings_wrap(void **state)
{
	(void)state;
	stream(64, scaled(200000));
}

static void smallest_ring_wraps(void **state)
{
	(void)state;
	stream(16, scaled(50000));
}

/* ---- both directions ---- */

enum {
	ENTRIES = 16
};

struct side {
	struct cay_port *port;
	struct cay_peer *peer;
	struct child *other;
	uint64_t sent, received;
};

static void side_open(struct side *p, const char *own, const char *other)
{
	p->port = open_small(own, ENTRIES);
	p->peer = open_peer_named(p->port, other);
	p->sent = p->received = 0;
}

static void side_close(struct side *p)
{
	check_empty(p->port);
	cay_peer_release(p->peer);
	close_port(p->port);
}

static size_t mutual_size(uint64_t number)
{
	return number % 7 == 0 ? 1000 + number % 5000 : number % 41;
}

/* Polls all events. */
static void side_poll(struct side *p)
{
	struct cay_event e;
	while (poll_event(p->port, &e)) {
		assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
		assert_int_equal(e.tag, p->received);
		assert_int_equal(e.length, mutual_size(p->received));
		assert_true(content_fits(e.data, e.length, p->received));
		cay_release(p->port, &e);
		p->received++;
	}
}

static int side_send(struct side *p, uint64_t deadline)
{
	unsigned char data[6000];
	size_t size = mutual_size(p->sent);
	content_fill(data, size, p->sent);
	int r = deadline ? cay_send_wait(p->port, p->peer, p->sent, data, size,
				   0, deadline)
			 : cay_send(p->port, p->peer, p->sent, data, size, 0);
	p->sent += r == 0;
	return r;
}

static void side_meet(struct side *p)
{
	child_send(p->other, p->sent);
	uint64_t other_sent = child_receive(p->other);
	assert_true(p->received <= other_sent);
}

/* Both queues are full at the same time; both ports continue once they poll. */
static void side_fill_up(struct side *p)
{
	int r;
	while ((r = side_send(p, 0)) == 0)
		;
	assert_int_equal(r, -EAGAIN);
	side_meet(p);
	uint64_t deadline = now_ns() + 2 * NS_PER_MS;
	assert_int_equal(side_send(p, deadline), -ETIMEDOUT);
	assert_true(now_ns() >= deadline);
	side_meet(p);
	side_poll(p);
	side_meet(p);
}

/* Neither side polls before its sends are refused. */
static void side_run(struct side *p, uint64_t messages, uint64_t wait_ns)
{
	uint64_t deadline = soon();
	while (p->sent < messages) {
		int r = side_send(p, wait_ns ? now_ns() + wait_ns : 0);
		assert_true(r == 0 || r == (wait_ns ? -ETIMEDOUT : -EAGAIN));
		if (r)
			side_poll(p);
		else
			deadline = soon();
		assert_true(now_ns() < deadline);
	}
	while (p->received < messages) {
		assert_int_equal(cay_wait(p->port, soon()), 0);
		side_poll(p);
	}
	side_meet(p);
	assert_int_equal(p->received, messages);
}

static void side_all(struct side *p)
{
	side_meet(p);
	for (unsigned i = 0; i < scaled(100); i++)
		side_fill_up(p);
	side_run(p, p->sent + scaled(100000), 0);
	side_run(p, p->sent + scaled(2000), NS_PER_MS / 2);
}

static void mutual_child(struct child *parent, void *unused)
{
	struct side p = { .other = parent };
	(void)unused;
	side_open(&p, "right", "left");
	side_all(&p);
	side_close(&p);
}

/* Both send the same number of messages in each phase. */
static void full_in_both_directions_recovers(void **state)
{
	struct child child;
	struct side p = { .other = &child };
	(void)state;
	child_start_local(&child, mutual_child, NULL);
	side_open(&p, "left", "right");
	side_all(&p);
	child_join(&child);
	expect_gone(p.port, cay_peer_addr(p.peer).vpid);
	side_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(rings_wrap),
		TEST(smallest_ring_wraps),
		TEST(full_in_both_directions_recovers),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
