/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives with several concurrent senders: each message arrives once
 * and in order, each buffer holds one message at a time, and cancelled or freed
 * buffers are not written.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/futex.h"
#include "harness.h"
#include "port/port.h"

enum {
	SENDERS = 3,
	BUFFERS = 8,
	BUFFER_BYTES = 16384,
	LENGTH_MAX = 20000,
};

/* The tag of a message is its sender and number. */
static uint64_t tag_of(uint64_t sender, uint64_t number)
{
	return sender << 32 | number;
}

static size_t length_of(uint64_t tag)
{
	struct random r = { tag * 77 };
	switch (random_below(&r, 8)) {
	case 0:
		return 8193 + random_below(&r, LENGTH_MAX - 8193);
	case 1:
	case 2:
		return random_below(&r, 41);
	default:
		return 41 + random_below(&r, 3000);
	}
}

/* ---- senders ---- */

struct stream {
	char name[16];
	uint64_t sender, messages;
	_Atomic bool *stop; /* if not NULL: until it is set */
};

static void drain(struct cay_port *port, uint64_t *completed)
{
	struct cay_event e;
	while (poll_event(port, &e)) {
		assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
		assert_int_equal(e.error, 0);
		cay_release(port, &e);
		(*completed)++;
	}
}

/* The source of a long message is in use until its completion. */
static void settle(struct cay_port *port, uint64_t *completed, uint64_t until)
{
	uint64_t deadline = soon();
	while (*completed < until) {
		drain(port, completed);
		assert_true(now_ns() < deadline);
	}
}

static void stream_run(struct child *parent, void *argument)
{
	struct stream *s = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, s->name);
	unsigned char *data = malloc(LENGTH_MAX);
	uint64_t asked = 0, completed = 0;
	(void)parent;
	for (uint64_t i = 0; i < s->messages; i++) {
		uint64_t tag = tag_of(s->sender, i), deadline = soon();
		size_t length = length_of(tag);
		int r;
		content_fill(data, length, tag);
		while ((r = cay_send_wait(port, peer, tag, data, length,
				borrow_long(length), now_ns() + NS_PER_MS)) ==
			-ETIMEDOUT) {
			drain(port, &completed);
			assert_true(now_ns() < deadline);
		}
		assert_int_equal(r, 0);
		asked += length > CAY_EAGER_MAX;
		settle(port, &completed, asked);
	}
	free(data);
	cay_peer_release(peer);
	close_port(port);
}

/* ---- receiver ---- */

struct pool {
	struct cay_port *port;
	unsigned char *buffer[BUFFERS];
	bool posted[BUFFERS];
	uint64_t holds[BUFFERS]; /* tag of the message in it, if not posted */
	uint64_t next[SENDERS];
	uint64_t through[3]; /* posted, RDR or reference, fast */
};

static void pool_open(struct pool *p, const char *name)
{
	*p = (struct pool){ .port = open_port(&(struct cay_port_options){
				    .name = name, .nq_entries = 64 }) };
	for (uint64_t i = 0; i < BUFFERS; i++) {
		p->buffer[i] = cay_alloc(p->port, BUFFER_BYTES, 0);
		assert_true(p->buffer[i] != NULL);
		p->holds[i] = UINT64_MAX;
	}
}

static void pool_post(struct pool *p, uint64_t i)
{
	/* The buffer is unchanged since its message arrived. */
	size_t length = length_of(p->holds[i]);
	if (p->holds[i] != UINT64_MAX)
		assert_true(content_fits(p->buffer[i],
			length > BUFFER_BYTES ? BUFFER_BYTES : length,
			p->holds[i]));
	assert_int_equal(
		cay_receive_post(p->port, p->buffer[i], BUFFER_BYTES, i), 0);
	p->posted[i] = true;
}

static void pool_take(struct pool *p, const struct cay_event *e)
{
	uint64_t sender = e->tag >> 32;
	size_t length = length_of(e->tag);
	assert_true(sender < SENDERS);
	assert_int_equal((uint32_t)e->tag, p->next[sender]++);
	if (e->kind == CAY_EVENT_POSTED) {
		assert_true(e->result < BUFFERS && p->posted[e->result]);
		assert_true(e->data == p->buffer[e->result]);
		assert_int_equal(e->previous, length);
		assert_int_equal(e->error,
			length > BUFFER_BYTES ? CAY_ERROR_POSTED_TRUNCATED : 0);
		p->posted[e->result] = false;
		p->holds[e->result] = e->tag;
		p->through[0]++;
	} else {
		assert_int_equal(e->kind, CAY_EVENT_MESSAGE);
		assert_int_equal(e->length, length);
		p->through[length > 40 ? 1 : 2]++;
	}
	assert_true(content_fits(e->data,
		length > e->length ? e->length & ~7ull : length, e->tag));
}

static void pool_run(struct pool *p, struct random *r, uint64_t messages)
{
	struct cay_event e;
	for (uint64_t left = messages; left > 0;) {
		uint64_t i = random_below(r, BUFFERS);
		if (!p->posted[i] && random_below(r, 3))
			pool_post(p, i);
		if (!poll_event(p->port, &e)) {
			if (random_below(r, 64) == 0)
				cay_wait(p->port, now_ns() + NS_PER_MS);
			continue;
		}
		pool_take(p, &e);
		cay_release(p->port, &e);
		left--;
	}
}

static void many_senders(char *name, enum cay_receive_mode mode)
{
	struct random r = { 5 };
	struct child child[SENDERS];
	static struct stream stream[SENDERS];
	struct pool p;
	uint64_t messages = scaled(3000);
	pool_open(&p, name);
	assert_int_equal(cay_receive_mode(p.port, mode), 0);
	for (uint64_t i = 0; i < SENDERS; i++) {
		stream[i] =
			(struct stream){ .sender = i, .messages = messages };
		strcpy(stream[i].name, name);
		child_start_local(&child[i], stream_run, &stream[i]);
	}
	pool_run(&p, &r, SENDERS * messages);
	for (uint64_t i = 0; i < SENDERS; i++)
		child_join(&child[i]);
	check_empty(p.port);
	/* All three kinds occurred, or two in POSTED_ONLY mode. */
	assert_true(p.through[0] > 0 && p.through[2] > 0);
	if (mode == CAY_RECEIVE_POSTED_ONLY)
		assert_int_equal(p.through[1], 0);
	assert_int_equal(port_stats(p.port).posted, p.through[0]);
	/* Exactly the posted buffers can be cancelled. */
	for (uint64_t i = 0; i < BUFFERS; i++)
		assert_int_equal(cay_receive_cancel(p.port, i), p.posted[i]);
	close_port(p.port);
}

static void every_message_once_and_in_order(void **state)
{
	(void)state;
	many_senders("flow-rdr", CAY_RECEIVE_RDR);
}

static void every_message_once_in_posted_only_mode(void **state)
{
	(void)state;
	many_senders("flow-held", CAY_RECEIVE_POSTED_ONLY);
}

/* ---- cancelling buffers while senders fill them ---- */

/* Sends in an endless loop; the data is not zero. */
static void hammer_run(struct child *parent, void *argument)
{
	struct stream *s = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, s->name);
	unsigned char *data = cay_alloc(port, BUFFER_BYTES, 0);
	struct random r = { s->sender };
	struct cay_event e;
	(void)parent;
	memset(data, 0xaa, BUFFER_BYTES);
	child_send(parent, 0);
	while (!atomic_load(s->stop)) {
		size_t length = 41 + random_below(&r, BUFFER_BYTES - 41);
		int result = cay_send(port, peer, 1, data, length, 0);
		assert_true(result == 0 || result == -EAGAIN);
		while (poll_event(port, &e))
			cay_release(port, &e);
	}
	cay_peer_release(peer);
	close_port(port);
}

struct hammers {
	struct cay_port *port;
	struct child child[SENDERS];
	struct stream stream[SENDERS];
	_Atomic bool *stop;
};

static void hammers_start(struct hammers *h, const char *name,
	void (*start)(struct child *, void (*)(struct child *, void *), void *))
{
	h->port = open_port(&(struct cay_port_options){
		.name = name, .nq_entries = 64, .posted = 16 });
	assert_int_equal(cay_receive_mode(h->port, CAY_RECEIVE_POSTED_ONLY), 0);
	h->stop = shared_memory(sizeof(*h->stop));
	for (uint64_t i = 0; i < SENDERS; i++) {
		h->stream[i] = (struct stream){ .sender = i, .stop = h->stop };
		strcpy(h->stream[i].name, name);
		start(&h->child[i], hammer_run, &h->stream[i]);
		child_receive(&h->child[i]);
	}
}

static void hammers_stop(struct hammers *h)
{
	atomic_store(h->stop, true);
	for (uint64_t i = 0; i < SENDERS; i++)
		child_join(&h->child[i]);
	close_port(h->port);
}

/*
 * Each buffer is cancelled or reported by an event, and unchanged afterwards.
 */
static void cancel_round(struct hammers *h, unsigned char *memory,
	struct random *r, uint64_t round, uint64_t counts[2])
{
	uint64_t left = 4, deadline = soon();
	struct cay_event e;
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(
			cay_receive_post(h->port, memory + i * BUFFER_BYTES,
				BUFFER_BYTES, round),
			0);
	random_pause(r, 100 * NS_PER_US);
	int cancelled = cay_receive_cancel(h->port, round);
	assert_true(cancelled >= 0 && cancelled <= 4);
	for (left -= (uint64_t)cancelled; left > 0;) {
		assert_true(now_ns() < deadline);
		if (!poll_event(h->port, &e))
			continue;
		assert_int_equal(e.kind, CAY_EVENT_POSTED);
		assert_int_equal(e.result, round);
		for (size_t k = 0; k < e.length; k++)
			assert_int_equal(((unsigned char *)e.data)[k], 0xaa);
		cay_release(h->port, &e);
		left--;
		counts[1]++;
	}
	counts[0] += (uint64_t)cancelled;
	memset(memory, 0x11, 4 * BUFFER_BYTES);
	random_pause(r, 20 * NS_PER_US);
	for (size_t k = 0; k < 4 * BUFFER_BYTES; k++)
		assert_int_equal(memory[k], 0x11);
	check_empty(h->port);
}

static void cancelled_or_reported(void **state)
{
	struct random r = { 9 };
	uint64_t counts[2] = { 0 };
	struct hammers h;
	(void)state;
	hammers_start(&h, "flow-cancel", child_start_local);
	unsigned char *memory = cay_alloc(h.port, 4 * BUFFER_BYTES, 0);
	assert_true(memory != NULL);
	for (uint64_t i = 0; i < scaled(500); i++)
		cancel_round(&h, memory, &r, i, counts);
	assert_true(counts[0] > 0 && counts[1] > 0);
	hammers_stop(&h);
}

/*
 * Memory is freed while senders fill it: its next owner sees no late store, and
 * no event reports a freed buffer.
 */
static void free_round(struct hammers *h, struct random *r, uint64_t counts[2])
{
	unsigned char *memory = cay_alloc(h->port, 4 * BUFFER_BYTES, 0);
	struct cay_event e;
	assert_true(memory != NULL);
	for (uint64_t i = 0; i < 4; i++) {
		int posted = cay_receive_post(h->port,
			memory + i * BUFFER_BYTES, BUFFER_BYTES,
			(uint64_t)(uintptr_t)memory);
		assert_true(posted == 0 || posted == -EAGAIN);
	}
	random_pause(r, 100 * NS_PER_US);
	for (uint64_t n = random_below(r, 4); n > 0 && poll_event(h->port, &e);
		n--) {
		assert_int_equal(e.result, (uintptr_t)memory);
		cay_release(h->port, &e);
		counts[0]++;
	}
	cay_free(h->port, memory);
	unsigned char *other = cay_alloc(h->port, 4 * BUFFER_BYTES, 0);
	assert_true(other != NULL);
	counts[1] += other == memory;
	memset(other, 0x22, 4 * BUFFER_BYTES);
	random_pause(r, 50 * NS_PER_US);
	for (size_t k = 0; k < 4 * BUFFER_BYTES; k++)
		assert_int_equal(other[k], 0x22);
	check_empty(h->port);
	cay_free(h->port, other);
}

static void freed_memory_is_not_written(void **state)
{
	struct random r = { 11 };
	uint64_t counts[2] = { 0 };
	struct hammers h;
	(void)state;
	/* The node, another process, waits for the senders. */
	hammers_start(&h, "flow-free", child_start);
	for (uint64_t i = 0; i < scaled(400); i++)
		free_round(&h, &r, counts);
	assert_true(counts[0] > 0 && counts[1] > 0);
	/* No slot was lost. */
	unsigned char *memory = cay_alloc(h.port, 4096, 0);
	assert_true(memory != NULL);
	atomic_store(h.stop, true);
	for (uint64_t i = 0; i < SENDERS; i++)
		child_join(&h.child[i]);
	check_empty(h.port);
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(cay_receive_post(h.port, memory, 64, 1), 0);
	assert_int_equal(cay_receive_post(h.port, memory, 64, 1), -EAGAIN);
	assert_int_equal(cay_receive_cancel(h.port, 1), 16);
	close_port(h.port);
}

/* ---- a sender that waits ---- */

struct sleeper {
	_Atomic uint64_t *r;
	_Atomic int result; /* of the futex; 1: it sleeps */
};

/* As wait_for_return() in port/send.c, but without its limit of 10 ms. */
static void *sleeper_run(void *argument)
{
	struct sleeper *s = argument;
	uint64_t r = atomic_fetch_or(s->r, R_WAITERS) | R_WAITERS;
	atomic_store(&s->result, futex_wait_lower(s->r, r, soon()));
	return NULL;
}

static void a_post_wakes_a_sender(void **state)
{
	struct cay_port *port = open_port(NULL);
	unsigned char *memory = cay_alloc(port, 64, 0);
	struct sleeper s = { &port_context(port)->control->r, 1 };
	pthread_t thread;
	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, sleeper_run, &s), 0);
	/* The first posts may precede the sleep. */
	while (atomic_load(&s.result) == 1) {
		assert_int_equal(cay_receive_post(port, memory, 64, 1), 0);
		assert_int_equal(cay_receive_cancel(port, 1), 1);
		nap_ns(NS_PER_MS);
	}
	pthread_join(thread, NULL);
	assert_int_equal(s.result, 0);
	cay_free(port, memory);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_message_once_and_in_order),
		TEST(every_message_once_in_posted_only_mode),
		TEST(cancelled_or_reported),
		TEST(freed_memory_is_not_written),
		TEST(a_post_wakes_a_sender),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
