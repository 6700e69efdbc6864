/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives between two processes: where messages arrive, messages
 * without a posted buffer, and the results of the calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remote.h"
#include "vci.h"

/* ---- a sender controlled by the test ---- */

enum order {
	SEND = 1,   /* length; replies with the result */
	SEND_WAIT,  /* length; replies before and after */
	SEND_ALLOC, /* length, from cay_alloc() memory */
	DENY,	    /* forbids process_vm_writev() from here on */
	LEAVE,
};

struct sender {
	struct child child;
	struct cay_port *port; /* of the receiver */
};

static void sender_order(struct child *parent, struct cay_port *port,
	struct cay_peer *peer, uint64_t order)
{
	size_t length = child_receive(parent);
	uint64_t tag = child_receive(parent);
	unsigned char *data = order == SEND_ALLOC ? cay_alloc(port, length, 0)
						  : malloc(length ? length : 1);
	assert_true(data != NULL);
	content_fill(data, length, tag);
	if (order == SEND_WAIT)
		child_send(parent, 0);
	int r = order == SEND_WAIT
			? cay_send_wait(port, peer, tag, data, length,
				  borrow_long(length), soon())
			: cay_send(port, peer, tag, data, length,
				  borrow_long(length));
	child_send(parent, (uint64_t)r);
	if (r == 0 && length > CAY_EAGER_MAX)
		expect_complete(port, tag, 0);
	if (order == SEND_ALLOC)
		cay_free(port, data);
	else
		free(data);
}

static void sender_run(struct child *parent, void *name)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, name);
	uint64_t order;
	while ((order = child_receive(parent)) != LEAVE)
		if (order == DENY)
			forbid_process_memory();
		else
			sender_order(parent, port, peer, order);
	check_empty(port);
	cay_peer_release(peer);
	close_port(port);
}

static struct sender sender_open(
	char *name, const struct cay_port_options *options)
{
	struct cay_port_options o = { .name = name };
	struct sender f;
	if (options) {
		o = *options;
		o.name = name;
	}
	f.port = open_port(&o);
	child_start_local(&f.child, sender_run, name);
	return f;
}

static void sender_close(struct sender *f)
{
	child_send(&f->child, LEAVE);
	child_join(&f->child);
	check_empty(f->port);
	close_port(f->port);
}

static void sender_tell(
	struct sender *f, enum order order, size_t length, uint64_t tag)
{
	child_send(&f->child, order);
	child_send(&f->child, length);
	child_send(&f->child, tag);
}

static void sender_send(
	struct sender *f, enum order order, size_t length, uint64_t tag, int r)
{
	sender_tell(f, order, length, tag);
	assert_int_equal((int)child_receive(&f->child), r);
}

static void *post(struct cay_port *port, size_t bytes, uint64_t cookie)
{
	void *memory = cay_alloc(port, bytes, 0);
	assert_true(memory != NULL);
	assert_int_equal(cay_receive_post(port, memory, bytes, cookie), 0);
	return memory;
}

/* Checks that the next event is a message of this length in this buffer. */
static void expect_posted(struct cay_port *port, uint64_t tag,
	const void *buffer, size_t room, size_t length, uint64_t cookie)
{
	struct cay_event e;
	size_t fits = length < room ? length : room;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_POSTED);
	assert_int_equal(e.tag, tag);
	assert_int_equal(e.result, cookie);
	assert_int_equal(e.previous, length);
	assert_int_equal(e.length, fits);
	assert_int_equal(
		e.error, length > room ? CAY_ERROR_POSTED_TRUNCATED : 0);
	assert_true(e.data == buffer);
	/* Test data consists of words; a truncated message ends in one. */
	assert_true(
		content_fits(buffer, length > room ? fits & ~7ull : fits, tag));
	cay_release(port, &e);
}

/* ---- delivery ---- */

static const size_t sizes[] = { 41, 42, 63, 64, 65, 100, 1000, 4095, 4096, 4097,
	8191, 8192, 8193, 65536, 1 << 20 };

static void every_size_arrives_in_its_buffer(void **state)
{
	struct sender f = sender_open("sizes", NULL);
	(void)state;
	for (uint64_t i = 0; i < 2 * COUNT(sizes); i++) {
		size_t length = sizes[i / 2];
		void *buffer = post(f.port, length + i % 2, 1000 + i);
		sender_send(&f, i % 2 ? SEND_ALLOC : SEND, length, i, 0);
		expect_posted(
			f.port, i, buffer, length + i % 2, length, 1000 + i);
		cay_free(f.port, buffer);
	}
	assert_int_equal(port_stats(f.port).posted, 2 * COUNT(sizes));
	assert_int_equal(port_stats(f.port).received, 2 * COUNT(sizes));
	assert_int_equal(port_stats(f.port).rdr_used, 0);
	sender_close(&f);
}

static void inline_messages_use_no_buffer(void **state)
{
	struct sender f = sender_open("short", NULL);
	(void)state;
	void *buffer = post(f.port, 4096, 7);
	for (size_t length = 0; length <= 40; length++) {
		sender_send(&f, SEND, length, length, 0);
		expect_message(f.port, length, length, length);
	}
	assert_int_equal(port_stats(f.port).posted, 0);
	assert_int_equal(cay_receive_mode(f.port, CAY_RECEIVE_POSTED_ONLY), 0);
	assert_int_equal(cay_receive_cancel(f.port, 7), 1);
	sender_send(&f, SEND, 40, 41, 0);
	expect_message(f.port, 41, 40, 41);
	cay_free(f.port, buffer);
	sender_close(&f);
}

static void longer_messages_are_truncated(void **state)
{
	static const struct {
		size_t room, length;
	} tries[] = { { 1, 41 }, { 40, 41 }, { 64, 8192 }, { 8191, 8192 },
		{ 8192, 65536 }, { 4096, 1 << 20 } };
	struct sender f = sender_open("long", NULL);
	(void)state;
	for (uint64_t i = 0; i < COUNT(tries); i++) {
		unsigned char *buffer =
			cay_alloc(f.port, tries[i].room + 64, 0);
		assert_true(buffer != NULL);
		memset(buffer, 0xee, tries[i].room + 64);
		assert_int_equal(
			cay_receive_post(f.port, buffer, tries[i].room, i), 0);
		sender_send(&f, SEND, tries[i].length, i, 0);
		expect_posted(
			f.port, i, buffer, tries[i].room, tries[i].length, i);
		for (unsigned k = 0; k < 64; k++)
			assert_int_equal(buffer[tries[i].room + k], 0xee);
		cay_free(f.port, buffer);
	}
	sender_close(&f);
}

/* ---- memory that is not from cay_alloc() ---- */

static void private_memory_receives(void **state)
{
	struct sender f = sender_open("private", NULL);
	unsigned char *buffer = malloc((1 << 20) + 64);
	(void)state;
	for (uint64_t i = 0; i < 2 * COUNT(sizes); i++) {
		/* Of every other message the last byte does not fit. */
		size_t length = sizes[i / 2], room = length - i % 2;
		memset(buffer, 0xee, length + 64);
		assert_int_equal(
			cay_receive_post(f.port, buffer, room, 1000 + i), 0);
		sender_send(&f, i % 4 / 2 ? SEND_ALLOC : SEND, length, i, 0);
		expect_posted(f.port, i, buffer, room, length, 1000 + i);
		assert_int_equal(buffer[room], 0xee);
		/* A slot that held private memory holds memory of the arena. */
		void *arena = post(f.port, 100, i);
		sender_send(&f, SEND, 100, i, 0);
		expect_posted(f.port, i, arena, 100, 100, i);
		cay_free(f.port, arena);
	}
	assert_int_equal(port_stats(f.port).rdr_used, 0);
	free(buffer);
	sender_close(&f);
}

/* The application has withdrawn it: the message goes elsewhere. */
static void withdrawn_memory_is_not_written(void **state)
{
	struct sender f = sender_open("unmapped", NULL);
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)state;
	assert_int_equal(cay_receive_post(f.port, page, 4096, 1), 0);
	/* Not unmapped: another mapping could take its place. */
	assert_int_equal(mprotect(page, 4096, PROT_NONE), 0);
	sender_send(&f, SEND, 100, 1, 0);
	expect_message(f.port, 1, 100, 1);
	assert_int_equal(cay_receive_mode(f.port, CAY_RECEIVE_POSTED_ONLY), 0);
	sender_send(&f, SEND, 100, 2, -EAGAIN);
	assert_int_equal(cay_receive_cancel(f.port, 1), 1);
	munmap(page, 4096);
	sender_close(&f);
}

/* Refuses process_vm_writev() to this sender, as a sandbox does. */
static void private_memory_needs_the_kernel(void **state)
{
	struct sender f = sender_open("denied", NULL);
	static unsigned char buffer[4096];
	(void)state;
	assert_int_equal(cay_receive_post(f.port, buffer, 4096, 1), 0);
	child_send(&f.child, DENY);
	sender_send(&f, SEND, 100, 1, 0);
	expect_message(f.port, 1, 100, 1);
	/* Memory of the arena behind it still receives. */
	void *arena = post(f.port, 4096, 2);
	sender_send(&f, SEND, 100, 2, 0);
	expect_posted(f.port, 2, arena, 4096, 100, 2);
	assert_int_equal(cay_receive_mode(f.port, CAY_RECEIVE_POSTED_ONLY), 0);
	sender_send(&f, SEND, 100, 3, -EAGAIN);
	/* The slot is left to other senders. */
	assert_int_equal(cay_receive_cancel(f.port, 1), 1);
	cay_free(f.port, arena);
	sender_close(&f);
}

/* ---- nothing posted ---- */

static void without_a_buffer_the_rdr_is_used(void **state)
{
	struct sender f = sender_open("fallback", NULL);
	(void)state;
	void *buffer = post(f.port, 1 << 20, 5);
	sender_send(&f, SEND, 100, 1, 0);
	sender_send(&f, SEND, 100, 2, 0);
	sender_send(&f, SEND, 8192, 3, 0);
	expect_posted(f.port, 1, buffer, 1 << 20, 100, 5);
	expect_message(f.port, 2, 100, 2);
	expect_message(f.port, 3, 8192, 3);
	/* By reference: the sender waits for the receiver. */
	sender_send(&f, SEND, 65536, 4, 0);
	expect_message(f.port, 4, 65536, 4);
	check_empty(f.port);
	assert_int_equal(cay_receive_post(f.port, buffer, 1 << 20, 6), 0);
	sender_send(&f, SEND, 65536, 5, 0);
	expect_posted(f.port, 5, buffer, 1 << 20, 65536, 6);
	assert_int_equal(port_stats(f.port).posted, 2);
	cay_free(f.port, buffer);
	sender_close(&f);
}

static void posted_only_refuses_senders(void **state)
{
	struct sender f = sender_open("held", NULL);
	(void)state;
	assert_int_equal(cay_receive_mode(f.port, CAY_RECEIVE_POSTED_ONLY), 0);
	for (uint64_t i = 0; i < COUNT(sizes); i++)
		sender_send(
			&f, i % 2 ? SEND : SEND_ALLOC, sizes[i], i, -EAGAIN);
	void *buffer = post(f.port, 1 << 20, 1);
	sender_send(&f, SEND, 1 << 20, 100, 0);
	sender_send(&f, SEND, 41, 101, -EAGAIN);
	expect_posted(f.port, 100, buffer, 1 << 20, 1 << 20, 1);
	/* The buffer belongs to the receiver until it is posted again. */
	sender_send(&f, SEND, 41, 102, -EAGAIN);
	cay_free(f.port, buffer);
	sender_close(&f);
}

static void posting_wakes_waiting_senders(void **state)
{
	struct sender f = sender_open("waits", NULL);
	(void)state;
	assert_int_equal(cay_receive_mode(f.port, CAY_RECEIVE_POSTED_ONLY), 0);
	for (uint64_t i = 0; i < 20; i++) {
		size_t length = i % 2 ? 65536 : 100;
		sender_tell(&f, SEND_WAIT, length, i);
		child_receive(&f.child);
		nap_ns(i * NS_PER_MS);
		check_empty(f.port);
		void *buffer = post(f.port, 65536, i);
		expect_posted(f.port, i, buffer, 65536, length, i);
		assert_int_equal((int)child_receive(&f.child), 0);
		cay_free(f.port, buffer);
	}
	sender_close(&f);
}

static void mode_can_change(void **state)
{
	struct sender f = sender_open("mode", NULL);
	(void)state;
	assert_int_equal(cay_receive_mode(f.port, 2), -EINVAL);
	assert_int_equal(
		cay_receive_mode(f.port, (enum cay_receive_mode) - 1), -EINVAL);
	sender_send(&f, SEND, 100, 1, 0); /* no mode was ever set */
	expect_message(f.port, 1, 100, 1);
	for (uint64_t i = 2; i < 12; i += 2) {
		assert_int_equal(
			cay_receive_mode(f.port, CAY_RECEIVE_POSTED_ONLY), 0);
		sender_send(&f, SEND, 100, i, -EAGAIN);
		sender_tell(&f, SEND_WAIT, 100, i);
		child_receive(&f.child);
		nap_ns(2 * NS_PER_MS);
		assert_int_equal(cay_receive_mode(f.port, CAY_RECEIVE_RDR), 0);
		expect_message(f.port, i, 100, i);
		assert_int_equal((int)child_receive(&f.child), 0);
		sender_send(&f, SEND, 65536, i + 1, 0);
		expect_message(f.port, i + 1, 65536, i + 1);
	}
	sender_close(&f);
}

/* A message in a posted buffer wakes a sleeping receiver. */
static void sleeper_is_woken(void **state)
{
	struct sender f = sender_open("sleeper", NULL);
	(void)state;
	void *buffer = post(f.port, 4096, 1);
	assert_int_equal(
		cay_wait(f.port, now_ns() + 50 * NS_PER_MS), -ETIMEDOUT);
	sender_tell(&f, SEND, 4096, 9);
	assert_int_equal(cay_wait(f.port, soon()), 0);
	expect_posted(f.port, 9, buffer, 4096, 4096, 1);
	assert_int_equal((int)child_receive(&f.child), 0);
	cay_free(f.port, buffer);
	sender_close(&f);
}

/* ---- results of the calls ---- */

static void invalid_buffers_are_refused(void **state)
{
	struct cay_port *port = open_port(NULL);
	char *memory = cay_alloc(port, 4096, 0);
	static char ordinary[4096];
	(void)state;
	assert_int_equal(cay_receive_post(port, memory, 0, 1), -EINVAL);
	assert_int_equal(cay_receive_post(port, NULL, 0, 1), -EINVAL);
	assert_int_equal(cay_receive_post(port, NULL, 64, 1), -EFAULT);
	assert_int_equal(cay_receive_post(port, memory, 4097, 1), -EFAULT);
	assert_int_equal(cay_receive_post(port, memory, SIZE_MAX, 1), -EFAULT);
	assert_int_equal(
		cay_receive_post(port, memory, SIZE_MAX / 2, 1), -EFAULT);
	assert_int_equal(
		cay_receive_post(port, ordinary, SIZE_MAX / 2, 1), -EFAULT);
	void *page =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_int_equal(cay_receive_post(port, page, 64, 1), -EFAULT);
	assert_int_equal(mprotect(page, 4096, PROT_NONE), 0);
	assert_int_equal(cay_receive_post(port, page, 64, 1), -EFAULT);
	munmap(page, 4096);
	assert_int_equal(cay_receive_cancel(port, 1), 0);
	assert_int_equal(cay_receive_post(port, memory, 4096, 1), 0);
	assert_int_equal(cay_receive_cancel(port, 1), 1);
	assert_int_equal(cay_receive_cancel(port, 1), 0);
	cay_free(port, memory);
	close_port(port);
}

/* The queue has the requested size, rounded up to a power of two. */
static void queue_is_limited(void **state)
{
	static const struct {
		uint32_t asked, entries;
	} ports[] = { { 0, 64 }, { 2, 2 }, { 5, 8 }, { 1000, 1024 } };
	(void)state;
	for (unsigned i = 0; i < COUNT(ports); i++) {
		struct cay_port *port = open_port(
			&(struct cay_port_options){ .posted = ports[i].asked });
		char *memory = cay_alloc(port, 4096, 0);
		for (uint32_t k = 0; k < ports[i].entries; k++)
			assert_int_equal(
				cay_receive_post(port, memory, 64, k % 2), 0);
		assert_int_equal(
			cay_receive_post(port, memory, 64, 3), -EAGAIN);
		assert_int_equal(
			cay_receive_cancel(port, 1), ports[i].entries / 2);
		assert_int_equal(cay_receive_post(port, memory, 64, 3), 0);
		assert_int_equal(
			cay_receive_cancel(port, 0), ports[i].entries / 2);
		assert_int_equal(cay_receive_cancel(port, 3), 1);
		cay_free(port, memory);
		close_port(port);
	}
}

static void cancelled_buffers_stay_unchanged(void **state)
{
	struct sender f = sender_open("cancelled", NULL);
	(void)state;
	unsigned char *first = post(f.port, 4096, 1);
	unsigned char *second = post(f.port, 4096, 2);
	assert_int_equal(cay_receive_cancel(f.port, 1), 1);
	sender_send(&f, SEND, 4096, 5, 0);
	expect_posted(f.port, 5, second, 4096, 4096, 2);
	sender_send(&f, SEND, 4096, 6, 0);
	expect_message(f.port, 6, 4096, 6);
	for (unsigned i = 0; i < 4096; i++)
		assert_int_equal(first[i], 0);
	cay_free(f.port, first);
	cay_free(f.port, second);
	sender_close(&f);
}

/* Freed memory is not written any more. */
static void freed_buffers_are_cancelled(void **state)
{
	struct sender f = sender_open("freed", NULL);
	(void)state;
	char *memory = cay_alloc(f.port, 3 * 4096, 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(
			cay_receive_post(f.port, memory + i * 4096, 4096, i),
			0);
	void *other = post(f.port, 64, 9);
	cay_free(f.port, memory);
	sender_send(&f, SEND, 64, 1, 0);
	expect_posted(f.port, 1, other, 64, 64, 9);
	sender_send(&f, SEND, 64, 2, 0);
	expect_message(f.port, 2, 64, 2);
	assert_int_equal(cay_receive_cancel(f.port, 0), 0);
	cay_free(f.port, other);
	sender_close(&f);
}

/* A message that was stored but not polled is lost with the memory. */
static void freed_before_it_was_polled(void **state)
{
	struct sender f = sender_open("early", NULL);
	(void)state;
	void *buffer = post(f.port, 4096, 1);
	sender_send(&f, SEND, 4096, 1, 0);
	sender_send(&f, SEND, 8, 2, 0);
	cay_free(f.port, buffer);
	expect_message(f.port, 2, 8, 2);
	/* The slot is free again. */
	for (uint32_t i = 0; i < 64; i++)
		post(f.port, 64, 3);
	assert_int_equal(cay_receive_cancel(f.port, 3), 64);
	sender_close(&f);
}

static void child_has_no_port(void **state)
{
	struct cay_port *port = open_port(NULL);
	char *memory = cay_alloc(port, 4096, 0);
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		bool right = cay_receive_mode(port, CAY_RECEIVE_POSTED_ONLY) ==
				     -ECHILD &&
			     cay_receive_post(port, memory, 64, 1) == -ECHILD &&
			     cay_receive_cancel(port, 1) == -ECHILD &&
			     cay_trigger(port, CAY_ISSUE_POSTED, 1).accepted ==
				     0;
		_exit(right ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	cay_free(port, memory);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_size_arrives_in_its_buffer),
		TEST(inline_messages_use_no_buffer),
		TEST(longer_messages_are_truncated),
		TEST(private_memory_receives),
		TEST(withdrawn_memory_is_not_written),
		TEST(private_memory_needs_the_kernel),
		TEST(without_a_buffer_the_rdr_is_used),
		TEST(posted_only_refuses_senders),
		TEST(posting_wakes_waiting_senders),
		TEST(mode_can_change),
		TEST(sleeper_is_woken),
		TEST(invalid_buffers_are_refused),
		TEST(queue_is_limited),
		TEST(cancelled_buffers_stay_unchanged),
		TEST(freed_buffers_are_cancelled),
		TEST(freed_before_it_was_polled),
		TEST(child_has_no_port),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
