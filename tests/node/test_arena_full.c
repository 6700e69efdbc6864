/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Full arenas: ports, allocations and op records exhaust a small arena with
 * -ENOSPC. Freed memory can be allocated again, and its pages return to the
 * system. A long message that a quota could never allow is refused.
 */
#include <sys/stat.h>

#include "base/bits.h"
#include "contract/arena.h"
#include "node/node.h"
#include "outside.h"

static int serve_body(void *argument)
{
	struct node_options o = { .name = harness_name,
		.arena_bytes = *(uint64_t *)argument };
	/* One process fills the arena. */
	o.quota.process[QUOTA_HEAP] = UINT64_MAX;
	return -node_serve(&o);
}

static int serve_quota_body(void *argument)
{
	struct node_options o = { .name = harness_name,
		.arena_bytes = ARENA_HEAP_OFFSET + (64 << 20),
		.quota = *(struct quota *)argument };
	return -node_serve(&o);
}

static void serve(uint64_t heap_bytes)
{
	uint64_t bytes = ARENA_HEAP_OFFSET + heap_bytes;
	server_start(serve_body, &bytes);
}

static void ports_fill_arena(void **state)
{
	struct cay_port *list[64];
	unsigned count = 0;
	(void)state;
	serve(1 << 20);
	while (count < ARRAY_COUNT(list) &&
		(list[count] = port_open_small()) != NULL)
		count++;
	assert_int_equal(errno, ENOSPC);
	assert_true(count > 1 && count < ARRAY_COUNT(list));
	struct usage usage = usage_now();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cay_port_close(list[count / 2]), 0);
		list[count / 2] = port_open_small();
		assert_non_null(list[count / 2]);
		assert_no_port_left();
		assert_usage(&usage);
	}
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(cay_port_close(list[i]), 0);
	server_join();
}

static void allocations_fill_arena(void **state)
{
	void *blocks[64];
	unsigned count = 0;
	(void)state;
	serve(1 << 20);
	struct cay_port *port = port_open_small();
	assert_non_null(port);
	struct usage usage = usage_now();
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
	assert_usage(&usage);
	/* Reused memory is zeroed. */
	unsigned char *again = cay_alloc(port, 65536, 0);
	assert_non_null(again);
	for (unsigned i = 0; i < 65536; i++)
		assert_int_equal(again[i], 0);
	assert_int_equal(cay_port_close(port), 0);
	server_join();
}

/* Allocates until not even a page is free. */
static void arena_fill(int member)
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

/* Op records are allocated in the arena. */
static void full_arena_refuses_processes(void **state)
{
	(void)state;
	serve(1 << 20);
	int first = raw_member("default");
	assert_true(first >= 0);
	arena_fill(first);
	assert_int_equal(raw_member("default"), -ENOSPC);
	struct node_request q = { .kind = NODE_RECORDS };
	struct node_reply reply;
	assert_int_equal(raw_call(first, &q, -1, &reply, NULL), -ENOSPC);
	/* Another realm has a separate arena. */
	int other = raw_member("other");
	assert_true(other >= 0);
	raw_leave(other);
	raw_leave(first);
	server_join();
}

/* Returns the memory that the arena's memfd occupies. */
static uint64_t arena_bytes(void)
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

static void freed_memory_returns_to_system(void **state)
{
	void *blocks[64];
	(void)state;
	harness_rename();
	struct cay_port *port = port_open_small();
	assert_non_null(port);
	uint64_t before = arena_bytes();
	for (unsigned i = 0; i < ARRAY_COUNT(blocks); i++) {
		size_t bytes = 100 + 4096 * (i % 4);
		blocks[i] = cay_alloc(port, bytes, 0);
		assert_non_null(blocks[i]);
		memset(blocks[i], 0xa5, bytes);
	}
	assert_true(arena_bytes() >= before + 64 * 4096);
	for (unsigned i = 0; i < ARRAY_COUNT(blocks); i++)
		cay_free(port, blocks[i]);
	uint64_t after = arena_bytes();
	if (after > before)
		fail_msg("%llu bytes not returned",
			(unsigned long long)after - before);
	assert_int_equal(cay_port_close(port), 0);
}

static int send_to_self(struct cay_port *port, struct cay_peer *self,
	const void *data, size_t length, unsigned flags)
{
	struct cay_event e;
	int r = cay_send(port, self, 1, data, length, flags);
	if (r)
		return r;
	/* A borrowed message has a completion, too. */
	for (unsigned i = 0; i < (flags & CAY_BORROW ? 2 : 1); i++) {
		while ((r = cay_poll(port, &e, 1)) == 0)
			continue;
		assert_int_equal(r, 1);
		assert_int_equal(e.error, 0);
		assert_int_equal(e.length, length);
		cay_release(port, &e);
	}
	return 0;
}

/*
 * A long message for which a quota could never allow staging memory is refused
 * with -EMSGSIZE, also while others are in flight. One that only its reserve
 * does not fit is sent.
 */
static void messages_beyond_a_quota(void **state)
{
	static struct quota quotas[] = {
		{ .process[QUOTA_HEAP] = 6 << 20 },
		{ .realm[QUOTA_HEAP] = 6 << 20 },
	};
	const size_t never = (6 << 20) + 1, large = 9 << 19;
	unsigned char *data = calloc(1, never);
	struct cay_peer *self;
	struct cay_event e;
	(void)state;
	assert_non_null(data);
	for (unsigned i = 0; i < ARRAY_COUNT(quotas); i++) {
		harness_rename();
		server_start(serve_quota_body, &quotas[i]);
		struct cay_port *port = port_open_small();
		assert_non_null(port);
		assert_int_equal(
			cay_peer_resolve(port, cay_port_addr(port), &self), 0);
		for (unsigned flags = 0; flags <= CAY_BORROW;
			flags += CAY_BORROW) {
			assert_int_equal(
				cay_send(port, self, 1, data, never, flags),
				-EMSGSIZE);
			assert_int_equal(
				send_to_self(port, self, data, large, flags),
				0);
		}
		/* In flight: another time it would fit. */
		assert_int_equal(cay_send(port, self, 1, data, large, 0), 0);
		assert_int_equal(
			cay_send(port, self, 1, data, large, 0), -EAGAIN);
		assert_int_equal(
			cay_send(port, self, 1, data, never, 0), -EMSGSIZE);
		assert_int_equal(cay_poll(port, &e, 1), 1);
		cay_release(port, &e);
		assert_int_equal(send_to_self(port, self, data, large, 0), 0);
		cay_peer_release(self);
		assert_int_equal(cay_port_close(port), 0);
		server_join();
	}
	free(data);
}

/* The arena must be larger than its tables. */
static void too_small_arena_is_refused(void **state)
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
		cmocka_unit_test(ports_fill_arena),
		cmocka_unit_test(allocations_fill_arena),
		cmocka_unit_test(full_arena_refuses_processes),
		cmocka_unit_test(freed_memory_returns_to_system),
		cmocka_unit_test(messages_beyond_a_quota),
		cmocka_unit_test(too_small_arena_is_refused),
	};
	harness_begin("arena");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
