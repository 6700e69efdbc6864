/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that peers write must lie in one block that cay_alloc() gave to this
 * process: posted receives, windows, and offsets for the raw API. A payload
 * lies in the RDR.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define PAGE 4096ul

/* Returns the address of the arena, which cay_offset() reveals. */
static unsigned char *arena_of(struct cay_port *port, unsigned char *block)
{
	uint64_t offset;
	assert_int_equal(cay_offset(port, block, 1, &offset), 0);
	return block - offset;
}

static int post(struct cay_port *port, void *memory, size_t bytes)
{
	int r = cay_receive_post(port, memory, bytes, 1);
	if (r == 0)
		assert_int_equal(cay_receive_cancel(port, 1), 1);
	return r;
}

static int window(struct cay_port *port, void *memory, size_t bytes)
{
	struct cay_window *w;
	int r = cay_window_open(port, memory, bytes, CAY_RIGHT_WRITE, &w);
	if (r == 0)
		assert_int_equal(cay_window_close(w), 0);
	return r;
}

struct ports {
	struct cay_port *port, *raw;
	uint32_t next; /* slot of the raw port's ring */
	unsigned char *arena;
};

/* Returns the reason for which the device refuses a posted receive, or 0. */
static unsigned raw(struct ports *p, uint64_t offset, uint64_t bytes)
{
	uint32_t entries;
	struct cay_posted_receive *ring = cay_posted(p->raw, &entries);
	struct cay_posted_receive *slot = &ring[p->next % entries];
	slot->offset = offset;
	slot->length = bytes;
	slot->cookie = 2;
	slot->flags = 0;
	struct cay_answer a = cay_trigger(p->raw, CAY_ISSUE_POSTED, 1);
	p->next += a.accepted;
	if (a.accepted)
		assert_int_equal(cay_receive_cancel(p->raw, 2), 1);
	return a.accepted ? 0 : a.reason;
}

/* Checks that the range is memory for peers, or is refused everywhere. */
static void check(struct ports *p, unsigned char *at, size_t bytes, bool ok)
{
	uint64_t offset = 77;
	assert_int_equal(post(p->port, at, bytes), ok ? 0 : -EFAULT);
	assert_int_equal(window(p->port, at, bytes), ok ? 0 : -EFAULT);
	assert_int_equal(
		cay_offset(p->port, at, bytes, &offset), ok ? 0 : -EFAULT);
	assert_int_equal(offset, ok ? (uint64_t)(at - p->arena) : 77);
	assert_int_equal(raw(p, (uint64_t)(at - p->arena), bytes),
		ok ? 0 : CAY_ERROR_POSTED_ADDRESS);
}

static struct ports ports_open(unsigned char **block, size_t bytes)
{
	struct ports p = { open_port(NULL), open_port(NULL), 0, NULL };
	*block = cay_alloc(p.port, bytes, 0);
	assert_non_null(*block);
	p.arena = arena_of(p.port, *block);
	return p;
}

static void ports_close(struct ports *p)
{
	close_port(p->port);
	close_port(p->raw);
}

static void range_must_lie_in_the_block(void **state)
{
	unsigned char *block;
	struct ports p = ports_open(&block, PAGE);
	(void)state;
	check(&p, block, PAGE, true);
	check(&p, block + 100, PAGE - 100, true);
	check(&p, block + PAGE - 1, 1, true);
	check(&p, block, 405604, false);
	check(&p, block, PAGE + 1, false);
	check(&p, block + 1, PAGE, false);
	check(&p, block - 1, 2, false);
	check(&p, block + PAGE, 1, false);
	check(&p, block, SIZE_MAX / 2, false);
	check(&p, block + 1, (size_t)1 << 40, false);
	cay_free(p.port, block);
	check(&p, block, 1, false);
	ports_close(&p);
}

/* The size is the one that was requested, not that of its pages. */
static void size_is_the_requested_one(void **state)
{
	unsigned char *block;
	struct ports p = ports_open(&block, 100);
	(void)state;
	check(&p, block, 100, true);
	check(&p, block, 101, false);
	cay_free(p.port, block);
	ports_close(&p);
}

static void two_blocks_are_not_one(void **state)
{
	unsigned char *block[64];
	struct ports p = ports_open(&block[0], PAGE);
	unsigned adjacent = 0;
	(void)state;
	for (unsigned i = 1; i < COUNT(block); i++) {
		block[i] = cay_alloc(p.port, PAGE, 0);
		assert_non_null(block[i]);
	}
	for (unsigned i = 0; i < COUNT(block); i++)
		for (unsigned j = 0; j < COUNT(block); j++)
			if (block[j] == block[i] + PAGE) {
				check(&p, block[i], 2 * PAGE, false);
				adjacent++;
			}
	assert_true(adjacent > 0);
	/* Freeing in any order leaves the others valid. */
	for (unsigned i = 0; i < COUNT(block); i++) {
		unsigned at = i * 37 % COUNT(block);
		check(&p, block[at], PAGE, true);
		cay_free(p.port, block[at]);
		check(&p, block[at], PAGE, false);
	}
	ports_close(&p);
}

static void queues_and_controls_are_refused(void **state)
{
	unsigned char *block;
	struct ports p = ports_open(&block, PAGE);
	size_t bytes;
	(void)state;
	/* The header, the directory, the controls and the heap's first page. */
	for (uint64_t at = 0; at < (uint64_t)(block - p.arena); at += 64 * PAGE)
		check(&p, p.arena + at, PAGE, false);
	check(&p, p.arena, PAGE, false);
	check(&p, p.arena, (size_t)(block - p.arena) + 1, false);
	check(&p, cay_sdr(p.port, &bytes), 64, false);
	check(&p, (void *)(uintptr_t)cay_rdr(p.port, &bytes), 64, false);
	cay_free(p.port, block);
	ports_close(&p);
}

static void neighbour(struct child *parent, void *unused)
{
	struct cay_port *port = open_port(NULL);
	unsigned char *block = cay_alloc(port, PAGE, 0);
	uint64_t offset;
	(void)unused;
	assert_non_null(block);
	assert_int_equal(cay_offset(port, block, 1, &offset), 0);
	child_send(parent, offset);
	child_receive(parent);
	/* Nothing was written. */
	for (unsigned i = 0; i < PAGE; i++)
		assert_int_equal(block[i], 0);
	cay_free(port, block);
	close_port(port);
}

static void memory_of_another_process_is_refused(void **state)
{
	unsigned char *block;
	struct ports p = ports_open(&block, PAGE);
	struct child child;
	(void)state;
	child_start(&child, neighbour, NULL);
	uint64_t offset = child_receive(&child);
	check(&p, p.arena + offset, PAGE, false);
	child_send(&child, 1);
	child_join(&child);
	cay_free(p.port, block);
	ports_close(&p);
}

/*
 * Windows and posted receives on ordinary memory; partly in the arena; around
 * all of it.
 */
static void ordinary_memory_has_windows(void **state)
{
	unsigned char *block;
	struct ports p = ports_open(&block, PAGE);
	void *heap = malloc(PAGE);
	(void)state;
	assert_int_equal(window(p.port, heap, PAGE), 0);
	assert_int_equal(post(p.port, heap, PAGE), 0);
	assert_int_equal(window(p.port, p.arena - PAGE, PAGE), 0);
	assert_int_equal(window(p.port, p.arena - PAGE, PAGE + 1), -EFAULT);
	assert_int_equal(window(p.port, p.arena - PAGE,
				 (size_t)(block - p.arena) + 2 * PAGE),
		-EFAULT);
	assert_int_equal(window(p.port, (void *)PAGE, SIZE_MAX / 2), 0);
	free(heap);
	cay_free(p.port, block);
	ports_close(&p);
}

/* Memory that one port has allocated is memory of all ports in its realm. */
static void ports_of_a_process_share_memory(void **state)
{
	unsigned char *block;
	struct ports p = ports_open(&block, PAGE);
	struct cay_port *other = open_port(NULL);
	(void)state;
	assert_int_equal(post(other, block, PAGE), 0);
	assert_int_equal(window(other, block, PAGE), 0);
	cay_free(other, block);
	close_port(other);
	check(&p, block, PAGE, false);
	ports_close(&p);
}

/*
 * A peer can write any entry of a queue: where it says that a payload is, must
 * be checked.
 */
static void payload_must_lie_in_the_rdr(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer(port, port);
	unsigned char data[64] = { 0 };
	struct cay_event e[2];
	size_t bytes;
	(void)state;
	const unsigned char *rdr = cay_rdr(port, &bytes);
	const struct {
		uint64_t start, length;
		bool inside;
	} damaged[] = { { 0, 64, true }, { bytes / 64 - 1, 64, true },
		{ 0, bytes, true }, { 0, bytes + 1, false },
		{ bytes / 64 - 1, 65, false }, { bytes / 64, 0, false },
		{ bytes / 64, 64, false }, { 1, ~0ull, false },
		{ ~0ull, 64, false }, { 1ull << 58, 64, false } };
	for (unsigned i = 0; i < 2 * COUNT(damaged); i++) {
		/* The event of an inline message reveals its entry. */
		assert_int_equal(cay_send(port, peer, 1, data, 8, 0), 0);
		assert_int_equal(cay_send(port, peer, 2, data, 64, 0), 0);
		assert_int_equal(cay_poll(port, &e[0], 1), 1);
		struct cay_nqe *n =
			(struct cay_nqe *)(uintptr_t)((uint64_t *)e[0].data -
						      CAY_NQE_WORD_DATA);
		uint64_t start = damaged[i / 2].start;
		n[1].word[CAY_NQE_WORD_START] = start;
		n[1].word[CAY_NQE_WORD_LENGTH] = damaged[i / 2].length;
		assert_int_equal(cay_poll(port, &e[1], 1 + (int)i % 2), 1);
		assert_int_equal(e[1].kind, CAY_EVENT_MESSAGE);
		if (damaged[i / 2].inside) {
			assert_int_equal(e[1].error, 0);
			assert_ptr_equal(e[1].data, rdr + 64 * start);
		} else {
			assert_int_equal(e[1].error, CAY_ERROR_TARGET_BOUNDS);
			assert_null(e[1].data);
		}
		cay_release(port, &e[i % 2]);
		cay_release(port, &e[1 - i % 2]);
	}
	check_empty(port);
	assert_int_equal(port_stats(port).rdr_used, 0);
	cay_peer_release(peer);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(range_must_lie_in_the_block),
		TEST(size_is_the_requested_one),
		TEST(two_blocks_are_not_one),
		TEST(queues_and_controls_are_refused),
		TEST(memory_of_another_process_is_refused),
		TEST(ordinary_memory_has_windows),
		TEST(ports_of_a_process_share_memory),
		TEST(payload_must_lie_in_the_rdr),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
