/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An arena that is full: nodes are started with a small one, and all of it is
 * taken by ports, by memory, by op records. And what is given back is free
 * again, for the arena and for the machine.
 */
#include <sys/stat.h>

#include "base/bits.h"
#include "contract/arena.h"
#include "node/node.h"
#include "outside.h"

/* The smallest port that there is. */
static const struct cay_port_options small = { .nq_entries = 16,
	.rdr_bytes = 65536,
	.sdr_bytes = 4096,
	.peers = 4,
	.windows = 4 };

static pid_t server;

static int serve_body(void *argument)
{
	struct node_options o = { .name = harness_name,
		.arena_bytes = *(uint64_t *)argument };
	return -node_serve(&o);
}

static bool listening(void *unused)
{
	(void)unused;
	int s = raw_connect();
	if (s >= 0)
		close(s);
	return s >= 0;
}

static void serve(uint64_t heap_bytes)
{
	uint64_t bytes = ARENA_HEAP_OFFSET + heap_bytes;
	harness_rename();
	server = child_start(serve_body, &bytes);
	assert_true(wait_for(listening, NULL, 5000));
}

/* It ends by itself once nobody is left, and without complaint. */
static void served(void)
{
	assert_int_equal(child_join(server), 0);
}

static unsigned open_all(struct cay_port **list, unsigned most)
{
	unsigned count = 0;
	while (count < most && (list[count] = cay_port_open(&small)) != NULL)
		count++;
	return count;
}

static void there_is_no_further_one(void)
{
	errno = 0;
	assert_null(cay_port_open(&small));
	assert_int_equal(errno, ENOSPC);
}

static void ports_fill_the_arena(void **state)
{
	struct cay_port *list[64];
	(void)state;
	serve(1 << 20);
	unsigned count = open_all(list, ARRAY_COUNT(list));
	assert_int_equal(errno, ENOSPC);
	assert_true(count > 1 && count < ARRAY_COUNT(list));
	struct rest rest = rest_now();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cay_port_close(list[count / 2]), 0);
		list[count / 2] = cay_port_open(&small);
		assert_non_null(list[count / 2]);
		there_is_no_further_one();
		assert_rest(&rest);
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(cay_port_close(list[i]), 0);
	served();
}

static void memory_fills_the_arena(void **state)
{
	void *blocks[64];
	unsigned count = 0;
	(void)state;
	serve(1 << 20);
	struct cay_port *port = cay_port_open(&small);
	assert_non_null(port);
	struct rest rest = rest_now();
	assert_null(cay_alloc(port, 1 << 20, 0));
	assert_int_equal(errno, ENOSPC);
	while (count < 64 && (blocks[count] = cay_alloc(port, 65536, 0)))
		memset(blocks[count++], 0xa5, 65536);
	assert_int_equal(errno, ENOSPC);
	assert_true(count > 4 && count < 64);
	assert_null(cay_port_open(NULL));
	assert_int_equal(errno, ENOSPC);
	for (unsigned i = 0; i < count; i++)
		cay_free(port, blocks[i]);
	assert_rest(&rest);
	/* What comes again is zeroed. */
	unsigned char *again = cay_alloc(port, 65536, 0);
	assert_non_null(again);
	for (unsigned i = 0; i < 65536; i++)
		assert_int_equal(again[i], 0);
	assert_int_equal(cay_port_close(port), 0);
	served();
}

/* A member takes all that is left, page by page. */
static void fill_by_hand(int member)
{
	struct node_request q = { .kind = NODE_ALLOC };
	struct node_reply reply;
	int r;
	q.alloc.bytes = 1 << 20;
	while ((r = raw_call(member, &q, -1, &reply, NULL)) == 0 ||
		q.alloc.bytes > 1)
		if (r)
			q.alloc.bytes /= 2;
	assert_int_equal(r, -ENOSPC);
}

/* Op records need a page of the arena too. */
static void the_second_process_finds_no_room(void **state)
{
	(void)state;
	serve(1 << 20);
	int first = raw_member("default");
	assert_true(first >= 0);
	fill_by_hand(first);
	assert_int_equal(raw_member("default"), -ENOSPC);
	struct node_request q = { .kind = NODE_RECORDS };
	struct node_reply reply;
	assert_int_equal(raw_call(first, &q, -1, &reply, NULL), -ENOSPC);
	/* Another realm has an arena of its own. */
	int other = raw_member("other");
	assert_true(other >= 0);
	raw_leave(other);
	raw_leave(first);
	served();
}

/* Not a page that belongs to the block stays when it is given back. */
static uint64_t arena_blocks(void)
{
	struct stat st;
	int fd = -1;
	struct node_request q = hello_request("default");
	struct node_reply reply;
	int s = raw_connect();
	assert_int_equal(raw_call(s, &q, -1, &reply, &fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	raw_leave(s);
	return (uint64_t)st.st_blocks * 512;
}

static void freed_memory_is_the_machines_again(void **state)
{
	void *blocks[64];
	(void)state;
	harness_rename();
	struct cay_port *port = cay_port_open(&small);
	assert_non_null(port);
	uint64_t before = arena_blocks();
	for (unsigned i = 0; i < ARRAY_COUNT(blocks); i++) {
		size_t bytes = 100 + 4096 * (i % 4);
		blocks[i] = cay_alloc(port, bytes, 0);
		assert_non_null(blocks[i]);
		memset(blocks[i], 0xa5, bytes);
	}
	assert_true(arena_blocks() >= before + 64 * 4096);
	for (unsigned i = 0; i < ARRAY_COUNT(blocks); i++)
		cay_free(port, blocks[i]);
	uint64_t after = arena_blocks();
	if (after > before)
		fail_msg("%llu bytes stay", (unsigned long long)after - before);
	assert_int_equal(cay_port_close(port), 0);
}

/* An arena without room for its own tables is an error, not a crash. */
static void too_small_an_arena_is_refused(void **state)
{
	static uint64_t sizes[] = { 1, ARENA_PAGE, ARENA_HEAP_OFFSET / 2,
		ARENA_HEAP_OFFSET - 1, ARENA_HEAP_OFFSET };
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
		harness_rename();
		assert_int_equal(child_run(serve_body, &sizes[i]), EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_fill_the_arena),
		cmocka_unit_test(memory_fills_the_arena),
		cmocka_unit_test(the_second_process_finds_no_room),
		cmocka_unit_test(freed_memory_is_the_machines_again),
		cmocka_unit_test(too_small_an_arena_is_refused),
	};
	harness_begin("arena");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
