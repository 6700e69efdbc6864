/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives and death: no buffer is lost if a sender is killed while
 * filling it. If a receiver closes or dies meanwhile, no sender hangs or writes
 * to memory that has a new owner.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

enum {
	BUFFERS = 6,
	BUFFER_BYTES = 256 << 10, /* large enough to take some time to fill */
};

struct target {
	char name[16];
	uint64_t length;
};

/* Sends until it is killed, or until the target is gone. */
static void sender_run(struct child *parent, void *argument)
{
	const struct target *t = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, t->name);
	unsigned char *data = malloc(t->length);
	struct cay_event e;
	int r = 0;
	memset(data, 0xaa, t->length);
	child_send(parent, cay_port_addr(port).vpid);
	for (uint64_t tag = 0; r != -EPIPE; tag += r == 0) {
		r = cay_send(port, peer, tag, data, t->length,
			borrow_long(t->length));
		assert_true(r == 0 || r == -EAGAIN || r == -EPIPE);
		while (poll_event(port, &e)) {
			if (e.kind == CAY_EVENT_GONE)
				r = -EPIPE;
			cay_release(port, &e);
		}
	}
	free(data);
	cay_peer_release(peer);
	close_port(port);
}

/* ---- death of senders ---- */

struct pool {
	struct cay_port *port;
	unsigned char *buffer[BUFFERS];
	uint64_t posted; /* number of posted buffers */
	uint64_t filled; /* received messages */
	uint64_t next;	 /* of the surviving sender */
};

static void pool_open(struct pool *p, const char *name)
{
	static unsigned char private[BUFFERS][BUFFER_BYTES];
	*p = (struct pool){ .port = open_named(name) };
	assert_int_equal(cay_receive_mode(p->port, CAY_RECEIVE_POSTED_ONLY), 0);
	for (unsigned i = 0; i < BUFFERS; i++) {
		/* Every other one is written through the kernel. */
		p->buffer[i] = i % 2 ? private[i]
				     : cay_alloc(p->port, BUFFER_BYTES, 0);
		assert_true(p->buffer[i] != NULL);
	}
}

static void pool_post(struct pool *p, uint64_t i)
{
	memset(p->buffer[i], 0, BUFFER_BYTES);
	assert_int_equal(
		cay_receive_post(p->port, p->buffer[i], BUFFER_BYTES, i), 0);
	p->posted++;
}

/* Checks for a complete message with the next number, in a posted buffer. */
static void pool_take(struct pool *p, const struct cay_event *e)
{
	assert_int_equal(e->kind, CAY_EVENT_POSTED);
	assert_int_equal(e->tag, p->next++);
	assert_true(e->result < BUFFERS && e->data == p->buffer[e->result]);
	for (size_t i = 0; i < e->length; i++)
		assert_int_equal(((unsigned char *)e->data)[i], 0xaa);
	p->posted--;
	p->filled++;
}

/* Receives until GONE; each message is complete, none arrives twice. */
static bool pool_poll(struct pool *p, uint16_t vpid)
{
	struct cay_event e;
	if (!poll_event(p->port, &e))
		return true;
	bool gone = e.kind == CAY_EVENT_GONE;
	if (gone)
		assert_int_equal(e.peer.vpid, vpid);
	else
		pool_take(p, &e);
	uint64_t again = e.result;
	cay_release(p->port, &e);
	if (!gone)
		pool_post(p, again);
	return !gone;
}

/* Polls all events, without posting again. */
static void pool_drain(struct pool *p)
{
	struct cay_event e;
	while (poll_event(p->port, &e)) {
		pool_take(p, &e);
		cay_release(p->port, &e);
	}
}

/* All posted buffers can be cancelled: the dead sender holds none. */
static void pool_whole(struct pool *p)
{
	uint64_t back = 0, deadline = soon();
	while (back < p->posted) {
		for (uint64_t i = 0; i < BUFFERS; i++)
			back += (uint64_t)cay_receive_cancel(p->port, i);
		assert_true(now_ns() < deadline);
	}
	assert_int_equal(back, p->posted);
	p->posted = 0;
}

static void kill_once(struct pool *p, struct target *t, struct random *r)
{
	struct cay_peer *peer = NULL;
	struct child child;
	child_start(&child, sender_run, t);
	struct cay_addr from = cay_port_addr(p->port);
	from.vpid = (uint16_t)child_receive(&child);
	assert_int_equal(cay_peer_resolve(p->port, from, &peer), 0);
	p->next = 0;
	for (uint64_t i = 0; i < BUFFERS; i++)
		pool_post(p, i);
	uint64_t until = now_ns() + random_below(r, 3 * NS_PER_MS);
	while (now_ns() < until)
		assert_true(pool_poll(p, from.vpid));
	child_kill(&child);
	uint64_t deadline = soon();
	while (pool_poll(p, from.vpid))
		assert_true(now_ns() < deadline);
	pool_whole(p);
	check_empty(p->port);
	cay_peer_release(peer);
}

static void killed_senders_lose_no_buffer(void **state)
{
	static const uint64_t lengths[] = { 41, 8192, 100000, BUFFER_BYTES };
	struct random r = { (uint64_t)getpid() };
	struct target t = { .name = "killed" };
	struct pool p;
	(void)state;
	pool_open(&p, t.name);
	for (uint64_t i = 0; i < scaled(100); i++) {
		t.length = lengths[i % COUNT(lengths)];
		kill_once(&p, &t, &r);
	}
	assert_true(p.filled > 0);
	close_port(p.port);
}

/* ---- close and death of receivers ---- */

/*
 * Another port allocates the memory at once and checks that it stays unchanged.
 */
static void close_once(struct target *t, struct random *r)
{
	struct child sender[2];
	struct pool p;
	pool_open(&p, t->name);
	for (unsigned i = 0; i < COUNT(sender); i++) {
		child_start(&sender[i], sender_run, t);
		child_receive(&sender[i]);
	}
	for (uint64_t i = 0; i < BUFFERS; i++)
		assert_int_equal(
			cay_receive_post(p.port, p.buffer[i], BUFFER_BYTES, i),
			0);
	random_pause(r, 300 * NS_PER_US);
	struct cay_port *heir = open_port(NULL);
	close_port(p.port);
	unsigned char *memory[BUFFERS];
	for (unsigned i = 0; i < BUFFERS; i++) {
		memory[i] = cay_alloc(heir, BUFFER_BYTES, 0);
		assert_true(memory[i] != NULL);
		memset(memory[i], 0x33, BUFFER_BYTES);
	}
	for (unsigned i = 0; i < COUNT(sender); i++)
		child_join(&sender[i]);
	for (unsigned i = 0; i < BUFFERS; i++)
		for (size_t k = 0; k < BUFFER_BYTES; k++)
			assert_int_equal(memory[i][k], 0x33);
	close_port(heir);
}

static void closed_receiver_is_not_written(void **state)
{
	struct random r = { (uint64_t)getpid() };
	struct target t = { .name = "closed", .length = BUFFER_BYTES };
	(void)state;
	for (uint64_t i = 0; i < scaled(40); i++)
		close_once(&t, &r);
}

static void receiver_run(struct child *parent, void *argument)
{
	struct target *t = argument;
	struct pool p;
	struct cay_event e;
	pool_open(&p, t->name);
	for (uint64_t i = 0; i < BUFFERS; i++)
		pool_post(&p, i);
	child_send(parent, 0);
	for (;;) {
		if (!poll_event(p.port, &e))
			continue;
		assert_int_equal(e.kind, CAY_EVENT_POSTED);
		uint64_t i = e.result;
		cay_release(p.port, &e);
		pool_post(&p, i);
	}
}

static void dead_receiver_is_reported_gone(void **state)
{
	struct random r = { (uint64_t)getpid() };
	struct target t = { .name = "dead", .length = BUFFER_BYTES };
	(void)state;
	for (uint64_t i = 0; i < scaled(40); i++) {
		struct child receiver, sender[2];
		child_start(&receiver, receiver_run, &t);
		child_receive(&receiver);
		for (unsigned k = 0; k < COUNT(sender); k++) {
			child_start(&sender[k], sender_run, &t);
			child_receive(&sender[k]);
		}
		random_pause(&r, 2 * NS_PER_MS);
		child_kill(&receiver);
		for (unsigned k = 0; k < COUNT(sender); k++)
			child_join(&sender[k]);
	}
}

/*
 * The sender is stopped while filling, which looks like a slow one, then
 * killed.
 */
static void stopped_sender_holds_at_most_one_buffer(void **state)
{
	struct random r = { (uint64_t)getpid() };
	struct target t = { .name = "stopped", .length = BUFFER_BYTES };
	struct pool p;
	(void)state;
	pool_open(&p, t.name);
	for (uint64_t i = 0; i < scaled(20); i++) {
		struct cay_peer *peer = NULL;
		struct child child;
		child_start(&child, sender_run, &t);
		struct cay_addr from = cay_port_addr(p.port);
		from.vpid = (uint16_t)child_receive(&child);
		assert_int_equal(cay_peer_resolve(p.port, from, &peer), 0);
		p.next = 0;
		for (uint64_t k = 0; k < BUFFERS; k++)
			pool_post(&p, k);
		random_pause(&r, 2 * NS_PER_MS);
		kill(child.pid, SIGSTOP);
		nap_ns(5 * NS_PER_MS);
		pool_drain(&p);
		uint64_t back = 0;
		for (uint64_t k = 0; k < BUFFERS; k++)
			back += (uint64_t)cay_receive_cancel(p.port, k);
		assert_true(back + 1 >= p.posted && back <= p.posted);
		p.posted -= back;
		child_kill(&child);
		uint64_t deadline = soon();
		while (pool_poll(&p, from.vpid))
			assert_true(now_ns() < deadline);
		pool_whole(&p);
		cay_peer_release(peer);
	}
	close_port(p.port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(killed_senders_lose_no_buffer),
		TEST(closed_receiver_is_not_written),
		TEST(dead_receiver_is_reported_gone),
		TEST(stopped_sender_holds_at_most_one_buffer),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
