/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages without CAY_BORROW: the memory is the caller's again when the
 * call returns, no event follows, and slots and staging memory come back
 * without one.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "status.h"

#define KIB	   1024ul
#define MIB	   (1024 * KIB)
#define LONG_BYTES (64 * KIB)
#define SLOTS	   64u
#define LIMIT	   (64 * MIB)

struct pair {
	struct cay_port *a, *b;
	struct cay_peer *peer;
};

static struct pair pair_open(void)
{
	struct pair p = { .a = open_port(NULL), .b = open_port(NULL) };
	p.peer = open_peer(p.a, p.b);
	return p;
}

static void pair_close(struct pair *p)
{
	check_empty(p->a);
	check_empty(p->b);
	assert_int_equal(port_stats(p->a).copied_used, 0);
	assert_int_equal(port_stats(p->a).completed, 0);
	cay_peer_release(p->peer);
	close_port(p->a);
	close_port(p->b);
}

static int pair_send(struct pair *p, uint64_t tag, void *data, size_t length)
{
	content_fill(data, length, tag);
	int r = cay_send(p->a, p->peer, tag, data, length, 0);
	memset(data, 0xee, length); /* it is the caller's again */
	return r;
}

/* ---- the source ---- */

static void source_is_reusable_on_return(void **state)
{
	static const size_t sizes[] = { 8193, 16384, 16385, LONG_BYTES, MIB,
		3 * MIB + 1 };
	struct pair p = pair_open();
	unsigned char *data = malloc(4 * MIB);
	(void)state;
	for (unsigned i = 0; i < COUNT(sizes); i++)
		assert_int_equal(pair_send(&p, i, data, sizes[i]), 0);
	for (unsigned i = 0; i < COUNT(sizes); i++)
		expect_message(p.b, i, sizes[i], i);
	check_empty(p.a);
	assert_int_equal(port_stats(p.a).sent_copied, COUNT(sizes));
	assert_int_equal(port_stats(p.a).sent_staged, 0);
	free(data);
	pair_close(&p);
}

/* The sender reads neither its memory nor cay_alloc() memory afterwards. */
static void every_call_copies(void **state)
{
	struct pair p = pair_open();
	unsigned char *data = cay_alloc(p.a, LONG_BYTES, 0);
	struct iovec pieces[3] = { { data, 1000 }, { data + 1000, 0 },
		{ data + 1000, LONG_BYTES - 1000 } };
	(void)state;
	assert_int_equal(pair_send(&p, 0, data, LONG_BYTES), 0);
	content_fill(data, LONG_BYTES, 1);
	assert_int_equal(cay_sendv(p.a, p.peer, 1, pieces, 3, 0), 0);
	content_fill(data, LONG_BYTES, 2);
	assert_int_equal(
		cay_send_wait(p.a, p.peer, 2, data, LONG_BYTES, 0, soon()), 0);
	content_fill(data, LONG_BYTES, 3);
	assert_int_equal(
		cay_send_tagged(p.a, p.peer, 3, 7, data, LONG_BYTES, 0), 0);
	memset(data, 0, LONG_BYTES);
	cay_free(p.a, data);
	for (unsigned i = 0; i < 4; i++)
		expect_message(p.b, i, LONG_BYTES, i);
	assert_int_equal(port_stats(p.a).sent_mapped, 0);
	pair_close(&p);
}

/* ---- completions ---- */

/* A requested completion is in the queue when the call returns. */
static void stored_when_the_call_returns(void **state)
{
	static const unsigned flags[] = { CAY_NOTIFY, CAY_ACK,
		CAY_NOTIFY | CAY_ACK, CAY_ACK | CAY_FENCE };
	struct pair p = pair_open();
	unsigned char *data = malloc(LONG_BYTES);
	(void)state;
	for (unsigned i = 0; i < COUNT(flags); i++) {
		struct cay_event e;
		content_fill(data, LONG_BYTES, i);
		assert_int_equal(cay_send_tagged(p.a, p.peer, i, 5, data,
					 LONG_BYTES, flags[i]),
			0);
		assert_true(poll_event(p.a, &e));
		assert_int_equal(e.kind, CAY_EVENT_COMPLETE);
		assert_int_equal(e.error, 0);
		assert_int_equal(e.tag, i);
		assert_int_equal(e.api_tag, 5);
		assert_int_equal(e.length, LONG_BYTES);
		assert_int_equal(e.command,
			CAY_SEND | (flags[i] & CAY_ACK ? CAY_COMMAND_ACK : 0));
		cay_release(p.a, &e);
		assert_int_equal(cay_flush(p.a, p.peer, 0), 0);
	}
	assert_int_equal(cay_cancel(p.a, 0), 0);
	assert_int_equal(
		cay_send(p.a, p.peer, 9, NULL, 0, CAY_FENCE | CAY_ACK), 0);
	expect_complete(p.a, 9, 0);
	for (unsigned i = 0; i < COUNT(flags); i++)
		expect_message(p.b, i, LONG_BYTES, i);
	expect_message(p.b, 9, 0, 0);
	check_empty(p.a);
	check_empty(p.b);
	free(data);
	cay_peer_release(p.peer);
	close_port(p.a);
	close_port(p.b);
}

/* Only borrowed messages delay a fence and a flush. */
static void borrowed_messages_are_awaited(void **state)
{
	struct pair p = pair_open();
	unsigned char *data = cay_alloc(p.a, LONG_BYTES, 0);
	(void)state;
	content_fill(data, LONG_BYTES, 1);
	assert_int_equal(
		cay_send(p.a, p.peer, 1, data, LONG_BYTES, CAY_BORROW), 0);
	assert_int_equal(
		cay_send(p.a, p.peer, 2, data, LONG_BYTES, CAY_FENCE), -EAGAIN);
	assert_int_equal(cay_flush(p.a, p.peer, 0), -EAGAIN);
	expect_message(p.b, 1, LONG_BYTES, 1);
	assert_int_equal(cay_flush(p.a, p.peer, 0), 0);
	expect_complete(p.a, 1, 0);
	cay_free(p.a, data);
	cay_peer_release(p.peer);
	close_port(p.a);
	close_port(p.b);
}

/* ---- bounds ---- */

static void slots_are_bounded(void **state)
{
	struct pair p = pair_open();
	unsigned char *data = malloc(LONG_BYTES);
	(void)state;
	for (unsigned lap = 0; lap < 3; lap++) {
		for (unsigned i = 0; i < SLOTS; i++)
			assert_int_equal(pair_send(&p, i, data, LONG_BYTES), 0);
		assert_int_equal(port_stats(p.a).copied_used, SLOTS);
		assert_int_equal(
			port_stats(p.a).copied_bytes, SLOTS * LONG_BYTES);
		assert_int_equal(pair_send(&p, 99, data, LONG_BYTES), -EAGAIN);
		assert_int_equal(
			cay_send_wait(p.a, p.peer, 99, data, LONG_BYTES, 0,
				now_ns() + 20 * NS_PER_MS),
			-ETIMEDOUT);
		/* One slot comes back with each message that is read. */
		expect_message(p.b, 0, LONG_BYTES, 0);
		assert_int_equal(pair_send(&p, 99, data, LONG_BYTES), 0);
		for (unsigned i = 1; i < SLOTS; i++)
			expect_message(p.b, i, LONG_BYTES, i);
		expect_message(p.b, 99, LONG_BYTES, 99);
		check_empty(p.b);
	}
	free(data);
	pair_close(&p);
}

/* Blocks count with their allocated size, a power of two. */
static void bytes_are_bounded(void **state)
{
	struct pair p = pair_open();
	size_t length = 4 * MIB + 1;
	unsigned char *data = malloc(length);
	unsigned fits = LIMIT / (8 * MIB);
	(void)state;
	for (unsigned i = 0; i < fits; i++)
		assert_int_equal(pair_send(&p, i, data, length), 0);
	assert_int_equal(pair_send(&p, 99, data, length), -EAGAIN);
	assert_int_equal(pair_send(&p, 99, data, 8193), -EAGAIN);
	assert_int_equal(port_stats(p.a).copied_bytes, LIMIT);
	for (unsigned i = 0; i < fits; i++)
		expect_message(p.b, i, length, i);
	/* Idle blocks give way to blocks of another size. */
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(pair_send(&p, i, data, LONG_BYTES), 0);
	for (unsigned i = 0; i < SLOTS; i++)
		expect_message(p.b, i, LONG_BYTES, i);
	free(data);
	pair_close(&p);
}

/* A single message may exceed the limit, but not the arena. */
static void one_message_of_any_length(void **state)
{
	struct pair p = pair_open();
	size_t length = LIMIT + 5 * MIB;
	unsigned char *data = malloc(length);
	(void)state;
	for (unsigned lap = 0; lap < 2; lap++) {
		assert_int_equal(pair_send(&p, lap, data, length), 0);
		assert_int_equal(pair_send(&p, 9, data, 8193), -EAGAIN);
		expect_message(p.b, lap, length, lap);
	}
	assert_int_equal(pair_send(&p, 2, data, 8193), 0);
	expect_message(p.b, 2, 8193, 2);
	/* Not read: the length alone decides. */
	for (unsigned flags = 0; flags <= CAY_BORROW; flags += CAY_BORROW)
		assert_int_equal(
			cay_send(p.a, p.peer, 3, data, 1ull << 39, flags),
			-EMSGSIZE);
	assert_int_equal(
		cay_send_wait(p.a, p.peer, 3, data, 1ull << 39, 0, CAY_FOREVER),
		-EMSGSIZE);
	free(data);
	pair_close(&p);
}

static void slow_reader(struct child *parent, void *unused)
{
	struct cay_port *port = open_named("slow");
	(void)unused;
	child_receive(parent);
	for (unsigned i = 0; i < 4 * SLOTS; i++) {
		if (i % 16 == 0)
			nap_ns(NS_PER_MS);
		expect_message(port, i, LONG_BYTES, i);
	}
	close_port(port);
}

/* cay_send_wait() sleeps until slots come back. */
static void send_wait_awaits_slots(void **state)
{
	struct cay_port *port = open_port(NULL);
	unsigned char *data = malloc(LONG_BYTES);
	struct child child;
	(void)state;
	child_start(&child, slow_reader, NULL);
	struct cay_peer *peer = open_peer_named(port, "slow");
	for (unsigned i = 0; i < 4 * SLOTS; i++) {
		content_fill(data, LONG_BYTES, i);
		if (i == SLOTS)
			child_send(&child, 1);
		assert_int_equal(cay_send_wait(port, peer, i, data, LONG_BYTES,
					 0, soon()),
			0);
	}
	child_join(&child);
	free(data);
	cay_peer_release(peer);
	close_port(port);
}

/* ---- a port that is never polled ---- */

#define UNPOLLED_WORDS (LONG_BYTES / 8)

static void unpolled_reader(struct child *parent, void *argument)
{
	const uint64_t *messages = argument;
	struct cay_port *port = open_named("reader");
	struct cay_event e;
	(void)parent;
	for (uint64_t i = 0; i < *messages; i++) {
		next_event(port, &e);
		assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
		assert_int_equal(e.error, 0);
		assert_int_equal(e.tag, i);
		assert_int_equal(e.length, LONG_BYTES);
		const uint64_t *word = e.data;
		uint64_t wrong = 0;
		for (uint64_t j = 0; j < UNPOLLED_WORDS; j++)
			wrong |= word[j] ^ (i * 0x9e3779b97f4a7c15 + j);
		assert_int_equal(wrong, 0);
		cay_release(port, &e);
	}
	close_port(port);
}

static void never_polled(void **state)
{
	static uint64_t data[UNPOLLED_WORDS];
	uint64_t messages = scaled(100000), heap_used = 0;
	struct cay_port *port = open_port(NULL);
	struct child child;
	(void)state;
	child_start(&child, unpolled_reader, &messages);
	struct cay_peer *peer = open_peer_named(port, "reader");
	for (uint64_t i = 0; i < messages; i++) {
		for (uint64_t j = 0; j < UNPOLLED_WORDS; j++)
			data[j] = i * 0x9e3779b97f4a7c15 + j;
		assert_int_equal(cay_send_wait(port, peer, i, data, LONG_BYTES,
					 0, soon()),
			0);
		if (i == messages / 2)
			heap_used = status_read().heap_used;
	}
	child_join(&child);
	struct cay_stats s = port_stats(port);
	assert_int_equal(s.sent_copied, messages);
	assert_int_equal(s.copied_used, 0);
	assert_true(s.nq_used <= 1); /* GONE */
	assert_true(status_read().heap_used <= heap_used + SLOTS * LONG_BYTES);
	cay_peer_release(peer);
	close_port(port);
}

/* The kernel kills a process in strict mode at its first system call. */
static void steady_state_makes_no_system_call(void **state)
{
	static unsigned char data[LONG_BYTES];
	struct cay_event e;
	int status;
	(void)state;
	/* The run-time systems of sanitizers make system calls. */
	if (HARNESS_SLOWER != 1)
		skip();
	pid_t pid = fork();
	if (pid == 0) {
		struct pair c = pair_open();
		for (unsigned i = 0; i < 2000; i++) {
			if (i == 1000 &&
				prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
				_exit(77);
			if (cay_send(c.a, c.peer, i, data, LONG_BYTES, 0) ||
				cay_poll(c.b, &e, 1) != 1)
				syscall(SYS_exit, 1);
			cay_release(c.b, &e);
		}
		syscall(SYS_exit, 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(); /* no seccomp */
	assert_int_equal(status, 0);
}

/* ---- closing and dying ---- */

static void messages_outlive_close(void **state)
{
	struct pair p = pair_open();
	unsigned char *data = malloc(LONG_BYTES);
	struct cay_peer *back = open_peer(p.b, p.a);
	uint16_t vpid = cay_port_addr(p.a).vpid;
	uint64_t before = status_read().heap_used;
	(void)state;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(pair_send(&p, i, data, LONG_BYTES), 0);
	cay_peer_release(p.peer);
	close_port(p.a);
	for (unsigned i = 0; i < 10; i++)
		expect_message(p.b, i, LONG_BYTES, i);
	expect_gone(p.b, vpid);
	check_empty(p.b);
	/* The node frees the blocks when they are read. */
	uint64_t deadline = soon();
	while (status_read().heap_used > before)
		assert_true(now_ns() < deadline);
	cay_peer_release(back);
	close_port(p.b);
	free(data);
}

static void dying_sender(struct child *parent, void *unused)
{
	struct cay_port *port = open_named("dying");
	struct cay_peer *peer = open_peer_named(port, "heir");
	unsigned char *data = malloc(LONG_BYTES);
	(void)unused;
	for (unsigned i = 0; i < 10; i++) {
		content_fill(data, LONG_BYTES, i);
		assert_int_equal(
			cay_send(port, peer, i, data, LONG_BYTES, 0), 0);
	}
	child_send(parent, 1);
	child_receive(parent);
}

static void messages_outlive_death(void **state)
{
	struct cay_port *port = open_named("heir");
	struct child child;
	(void)state;
	child_start(&child, dying_sender, NULL);
	struct cay_peer *peer = open_peer_named(port, "dying");
	uint64_t before = status_read().heap_used;
	child_receive(&child);
	child_kill(&child);
	for (unsigned i = 0; i < 10; i++)
		expect_message(port, i, LONG_BYTES, i);
	expect_gone(port, cay_peer_addr(peer).vpid);
	check_empty(port);
	uint64_t deadline = soon();
	while (status_read().heap_used > before)
		assert_true(now_ns() < deadline);
	cay_peer_release(peer);
	close_port(port);
}

static void holding_reader(struct child *parent, void *unused)
{
	struct cay_port *port = open_named("holder");
	struct cay_event e;
	(void)unused;
	child_receive(parent);
	next_event(port, &e); /* one is being read */
	child_send(parent, 1);
	child_receive(parent);
	close_port(port);
}

/* GONE is the only event; all slots come back. */
static void reader_gone(bool dies)
{
	struct cay_port *port = open_port(NULL);
	unsigned char *data = malloc(LONG_BYTES);
	struct child child;
	child_start(&child, holding_reader, NULL);
	struct cay_peer *peer = open_peer_named(port, "holder");
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(
			cay_send(port, peer, i, data, LONG_BYTES, 0), 0);
	child_send(&child, 1);
	child_receive(&child);
	if (dies) {
		child_kill(&child);
	} else {
		child_send(&child, 1);
		child_join(&child);
	}
	expect_gone(port, cay_peer_addr(peer).vpid);
	check_empty(port);
	assert_int_equal(port_stats(port).copied_used, 0);
	assert_int_equal(cay_send(port, peer, 1, data, LONG_BYTES, 0), -EPIPE);
	/* The slots serve another target. */
	struct cay_peer *self = open_peer(port, port);
	for (unsigned i = 0; i < SLOTS; i++)
		assert_int_equal(
			cay_send(port, self, i, data, LONG_BYTES, 0), 0);
	cay_peer_release(self);
	cay_peer_release(peer);
	close_port(port);
	free(data);
}

static void a_dead_reader_gives_slots_back(void **state)
{
	(void)state;
	reader_gone(true);
}

static void a_closed_reader_gives_slots_back(void **state)
{
	(void)state;
	reader_gone(false);
}

/* ---- threads ---- */

struct crowd {
	struct cay_port *port;
	struct cay_peer *peer;
	_Atomic uint32_t next;
};

#define CROWD	     4
#define CROWD_EACH   2000u
#define CROWD_LENGTH (8193 + 3000)

static void *crowd_member(void *argument)
{
	struct crowd *c = argument;
	uint64_t number = atomic_fetch_add(&c->next, 1);
	unsigned char data[CROWD_LENGTH];
	for (uint64_t i = 0; i < scaled(CROWD_EACH); i++) {
		uint64_t tag = number << 32 | i;
		size_t length = 8193 + i % 3000;
		content_fill(data, length, tag);
		assert_int_equal(cay_send_wait(c->port, c->peer, tag, data,
					 length, 0, soon()),
			0);
	}
	return NULL;
}

static void threads_share_the_slots(void **state)
{
	struct pair p = pair_open();
	struct crowd c = { .port = p.a, .peer = p.peer };
	pthread_t thread[CROWD];
	uint64_t next[CROWD] = { 0 };
	struct cay_event e;
	(void)state;
	for (unsigned i = 0; i < CROWD; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, crowd_member, &c), 0);
	for (uint64_t i = 0; i < CROWD * scaled(CROWD_EACH); i++) {
		next_event(p.b, &e);
		uint64_t who = e.tag >> 32;
		assert_true(who < CROWD);
		assert_int_equal((uint32_t)e.tag, next[who]++);
		assert_true(content_fits(e.data, e.length, e.tag));
		cay_release(p.b, &e);
	}
	for (unsigned i = 0; i < CROWD; i++)
		pthread_join(thread[i], NULL);
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(source_is_reusable_on_return),
		TEST(every_call_copies),
		TEST(stored_when_the_call_returns),
		TEST(borrowed_messages_are_awaited),
		TEST(slots_are_bounded),
		TEST(bytes_are_bounded),
		TEST(one_message_of_any_length),
		TEST(send_wait_awaits_slots),
		TEST(never_polled),
		TEST(steady_state_makes_no_system_call),
		TEST(messages_outlive_close),
		TEST(messages_outlive_death),
		TEST(a_dead_reader_gives_slots_back),
		TEST(a_closed_reader_gives_slots_back),
		TEST(threads_share_the_slots),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
