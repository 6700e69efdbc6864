/* SPDX-License-Identifier: BSD-2-Clause */
/* cay_alloc() and cay_free(): zeroed memory, checked arguments, no leaks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "status.h"

#define PAGE 4096ul
#define KIB  1024ul
#define MIB  (KIB * KIB)

static bool all_zero(const unsigned char *p, size_t bytes)
{
	return bytes == 0 || (p[0] == 0 && memcmp(p, p + 1, bytes - 1) == 0);
}

static void errors(void **state)
{
	struct cay_port *port = open_port(NULL);
	(void)state;
	errno = 0;
	assert_true(cay_alloc(port, 0, 0) == NULL && errno == EINVAL);
	errno = 0;
	assert_true(cay_alloc(port, 100, CAY_ALLOC_HUGE << 1) == NULL &&
		    errno == EINVAL);
	errno = 0;
	assert_true(cay_alloc(port, SIZE_MAX, 0) == NULL && errno == EINVAL);
	errno = 0;
	assert_true(
		cay_alloc(port, SIZE_MAX / 2, 0) == NULL && errno == ENOSPC);
	errno = 0;
	assert_true(cay_alloc(port, 1ul << 45, 0) == NULL && errno == ENOSPC);
	cay_free(port, NULL);
	close_port(port);
}

/* Without huge pages the flag has no effect, except on the alignment. */
static void huge(void **state)
{
	struct cay_port *port = open_port(NULL);
	uint64_t heap_used = status_read().heap_used;
	unsigned char *small = cay_alloc(port, 1, 0);
	unsigned char *p = cay_alloc(port, 3 * MIB + 1, CAY_ALLOC_HUGE);
	(void)state;
	assert_true(small && p && (uintptr_t)p % (2 * MIB) == 0);
	assert_true(all_zero(p, 3 * MIB + 1));
	content_fill(p, 3 * MIB + 1, 5);
	assert_true(all_zero(small, PAGE));
	assert_true(content_fits(p, 3 * MIB + 1, 5));
	cay_free(port, p);
	cay_free(port, small);
	assert_int_equal(status_read().heap_used, heap_used);
	close_port(port);
}

/* Other memory, and addresses inside an allocation, are not freed. */
static void only_allocations_are_freed(void **state)
{
	struct cay_port *port = open_port(NULL);
	unsigned char *p = cay_alloc(port, 3 * PAGE, 0);
	uint64_t heap_used = status_read().heap_used;
	int own;
	(void)state;
	content_fill(p, 3 * PAGE, 1);
	cay_free(port, p + PAGE);
	cay_free(port, &own);
	assert_int_equal(status_read().heap_used, heap_used);
	assert_true(content_fits(p, 3 * PAGE, 1));
	cay_free(port, p);
	cay_free(port, p);
	assert_int_equal(status_read().heap_used, heap_used - 3 * PAGE);
	close_port(port);
}

enum {
	BLOCKS = 64
};

static void zeroed_aligned_and_disjoint(void **state)
{
	struct cay_port *port = open_port(NULL);
	uint64_t heap_used = status_read().heap_used;
	unsigned char *block[BLOCKS];
	size_t bytes[BLOCKS];
	struct random r = { 21 };
	(void)state;
	for (unsigned lap = 0; lap < 10; lap++) {
		for (unsigned i = 0; i < BLOCKS; i++) {
			bytes[i] = 1 + random_below(&r, 64 * KIB);
			block[i] = cay_alloc(port, bytes[i], 0);
			assert_true(block[i] != NULL);
			assert_int_equal((uintptr_t)block[i] % PAGE, 0);
			assert_true(all_zero(block[i], bytes[i]));
			content_fill(block[i], bytes[i], i);
		}
		for (unsigned i = 0; i < BLOCKS; i++)
			assert_true(content_fits(block[i], bytes[i], i));
		for (unsigned i = 0; i < BLOCKS; i++)
			cay_free(port, block[i]);
	}
	assert_int_equal(status_read().heap_used, heap_used);
	close_port(port);
}

/* The memory belongs to the process: another port can send from it in place. */
static void outlives_the_port(void **state)
{
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(b, b);
	unsigned char *data = cay_alloc(a, MIB, 0);
	(void)state;
	content_fill(data, MIB, 2);
	close_port(a);
	assert_true(content_fits(data, MIB, 2));
	assert_int_equal(
		cay_send(b, peer, 1, data + 100, MIB - 100, CAY_BORROW), 0);
	struct cay_event e;
	next_event(b, &e);
	assert_int_equal(e.length, MIB - 100);
	assert_true(e.data == data + 100);
	cay_release(b, &e);
	expect_complete(b, 1, 0);
	assert_int_equal(port_stats(b).sent_mapped, 1);
	cay_free(b, data);
	cay_peer_release(peer);
	close_port(b);
}

/*
 * Memory freed while a reader holds it is reclaimed when the reader releases
 * it.
 */
static void reader_child(struct child *parent, void *unused)
{
	struct cay_port *port = open_named("reader");
	struct cay_event e;
	(void)unused;
	next_event(port, &e);
	assert_int_equal(e.length, MIB);
	child_send(parent, 1);
	child_receive(parent);
	assert_true(content_fits(e.data, MIB, 3));
	cay_release(port, &e);
	child_receive(parent);
	close_port(port);
}

static void freed_when_the_last_reader_releases(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct child child;
	(void)state;
	child_start(&child, reader_child, NULL);
	struct cay_peer *peer = open_peer_named(port, "reader");
	uint64_t heap_used = status_read().heap_used;
	unsigned char *data = cay_alloc(port, MIB, 0);
	content_fill(data, MIB, 3);
	assert_int_equal(cay_send(port, peer, 1, data, MIB, CAY_BORROW), 0);
	child_receive(&child);
	cay_free(port, data);
	assert_true(status_read().heap_used >= heap_used + MIB);
	child_send(&child, 1);
	expect_complete(port, 1, 0);
	uint64_t deadline = soon();
	while (status_read().heap_used >= heap_used + MIB)
		assert_true(now_ns() < deadline);
	child_send(&child, 1);
	child_join(&child);
	cay_peer_release(peer);
	close_port(port);
}

/* Staging memory is reused and bounded. */
static void staging_is_bounded(void **state)
{
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	unsigned char *own = malloc(MIB);
	struct iovec pieces[2] = { { own, MIB / 2 },
		{ own + MIB / 2, MIB / 2 } };
	uint64_t heap_used = 0;
	(void)state;
	content_fill(own, MIB, 4);
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(
			cay_sendv(a, peer, i, pieces, 2, CAY_BORROW), 0);
		expect_message(b, i, MIB, 4);
		expect_complete(a, i, 0);
		if (i == 10)
			heap_used = status_read().heap_used;
	}
	assert_int_equal(port_stats(a).sent_staged, 50);
	assert_int_equal(status_read().heap_used, heap_used);
	free(own);
	cay_peer_release(peer);
	close_port(a);
	close_port(b);
}

/*
 * From ordinary memory that the target can read, long messages are staged if
 * that is faster, and none is if the staging memory does not suffice.
 */
static void short_borrowed_messages_are_staged(void **state)
{
	static const size_t sizes[] = { 8193, 64 * KIB, MIB, 4 * MIB };
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_peer *peer = open_peer(a, b);
	unsigned char *own = malloc(4 * MIB);
	uint64_t staged = 0, process = 0, sent = 0;
	(void)state;
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < COUNT(sizes); i++, sent++) {
			content_fill(own, sizes[i], sent);
			assert_int_equal(cay_send(a, peer, sent, own, sizes[i],
						 CAY_BORROW),
				0);
			/* It is complete when the target has released it. */
			check_empty(a);
			expect_message(b, sent, sizes[i], sent);
			expect_complete(a, sent, 0);
			bool read = sent > 0 && sizes[i] >= MIB &&
				    strcmp(cay_peer_bulk(peer), "process") == 0;
			process += read;
			staged += !read;
			assert_int_equal(port_stats(a).sent_process, process);
			assert_int_equal(port_stats(a).sent_staged, staged);
		}
	free(own);
	cay_peer_release(peer);
	close_port(a);
	close_port(b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(errors),
		TEST(huge),
		TEST(only_allocations_are_freed),
		TEST(zeroed_aligned_and_disjoint),
		TEST(outlives_the_port),
		TEST(freed_when_the_last_reader_releases),
		TEST(staging_is_bounded),
		TEST(short_borrowed_messages_are_staged),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
