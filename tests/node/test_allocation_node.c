/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocation failures in a node: for every n, the n-th allocation of a scenario
 * fails. The request fails with an errno and succeeds when it is retried; after
 * the exit of all processes the node is empty.
 */
#include "failing.h"

#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAP_BYTES	(16ull << 20)
#define PEERS		9  /* exceeds the initial size of a peer table */
#define HOLES		80 /* exceeds the initial size of a free list */
#define ALLOCATIONS_MAX 1000

static struct node *node;

/* Retries a request that failed because of an injected failure. */
static void call_retry(
	struct process *p, const struct node_request *q, struct node_reply *r)
{
	int e = inside_call(p, q, r);
	if ((e == -ENOMEM || e == -ENOSPC) && failing_end() > 0)
		e = inside_call(p, q, r);
	if (e)
		fail_msg("request %u: %d", q->kind, e);
}

static struct process *join(pid_t pid)
{
	struct node_request q = inside_hello("default");
	struct node_reply reply;
	struct process *p = inside_connect(node, pid);
	if (!p && failing_end() > 0)
		p = inside_connect(node, pid);
	assert_non_null(p);
	call_retry(p, &q, &reply);
	return p;
}

static uint16_t open_port(struct process *p)
{
	struct node_request q = { .kind = NODE_OPEN };
	struct node_reply reply;
	q.open.nq_log2 = 4;
	q.open.rdr_log2 = 10;
	q.open.peers = PEERS;
	call_retry(p, &q, &reply);
	return reply.open.vpid;
}

static void resolve(struct process *p, uint16_t by, uint16_t target)
{
	struct node_request q = { .kind = NODE_RESOLVE };
	struct node_reply reply;
	q.resolve.vpid = by;
	q.resolve.node = node->id;
	q.resolve.target = target;
	for (unsigned i = 0; i < PEERS; i++)
		call_retry(p, &q, &reply);
}

/* Allocates blocks and frees every other one. */
static void fragment_heap(struct process *p)
{
	struct node_request q = { .kind = NODE_ALLOC };
	struct node_reply reply;
	uint64_t offsets[2 * HOLES];
	for (unsigned i = 0; i < 2 * HOLES; i++) {
		q.alloc.bytes = 1;
		call_retry(p, &q, &reply);
		offsets[i] = reply.alloc.offset;
	}
	q = (struct node_request){ .kind = NODE_FREE };
	for (unsigned i = 0; i < 2 * HOLES; i += 2) {
		q.free.offset = offsets[i];
		call_retry(p, &q, &reply);
	}
}

static void scenario(void)
{
	struct node_request records = { .kind = NODE_RECORDS };
	struct node_reply reply;
	struct process *a = join(1), *b = join(2);
	uint16_t from = open_port(a), to = open_port(b);
	resolve(a, from, to);
	resolve(b, to, from);
	call_retry(a, &records, &reply);
	fragment_heap(a);
	/* `b` is still open and must be notified that `a` is gone. */
	process_exited(a);
	inside_settle(node);
	process_exited(b);
	inside_check_empty(node);
}

static void fail_every_allocation(bool all)
{
	node = inside_node(HEAP_BYTES);
	scenario();
	long blocks = atomic_load(&failing.blocks), n = 1;
	for (; n < ALLOCATIONS_MAX; n++) {
		failing_begin(n, all);
		scenario();
		long failed = failing_end();
		if (atomic_load(&failing.blocks) != blocks)
			fail_msg("allocation %ld: %ld blocks leaked", n,
				atomic_load(&failing.blocks) - blocks);
		if (failed == 0)
			break;
	}
	print_message("%ld allocations\n", n - 1);
	assert_in_range(n, 10, ALLOCATIONS_MAX - 1);
	node_end(node);
}

static void single_allocation_failure(void **state)
{
	(void)state;
	fail_every_allocation(false);
}

static void allocation_failure_until_reset(void **state)
{
	(void)state;
	fail_every_allocation(true);
}

/* The arena has no page for the op records of a second process. */
static void refused_process_leaks_nothing(void **state)
{
	struct node_request q = inside_hello("default");
	struct node_reply reply;
	(void)state;
	node = inside_node(ARENA_PAGE); /* op records of one process */
	struct process *first = join(1);
	long blocks = atomic_load(&failing.blocks);
	struct process *second = inside_connect(node, 2);
	assert_non_null(second);
	assert_int_equal(inside_call(second, &q, &reply), -ENOSPC);
	process_disconnect(second);
	inside_settle(node);
	assert_int_equal(atomic_load(&failing.blocks), blocks);
	process_exited(first);
	inside_check_empty(node);
	node_end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_allocation_failure),
		cmocka_unit_test(allocation_failure_until_reset),
		cmocka_unit_test(refused_process_leaks_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
