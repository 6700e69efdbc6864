/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node whose n-th allocation fails, for every n of a scenario: the request
 * fails with an errno, succeeds when it comes again, and when all have died
 * everything is given back.
 */
#include "failing.h"

#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HEAP_BYTES (16ull << 20)
#define PEERS	   9  /* more than a table of peers has room for at first */
#define HOLES	   80 /* more than a list of free extents has */
#define N_MAX	   1000

static struct node *node;

/* Once more if a failed allocation explains it. */
static void must_call(
	struct process *p, const struct node_request *q, struct node_reply *r)
{
	int e = inside_call(p, q, -1, r);
	if ((e == -ENOMEM || e == -ENOSPC) && failing_end() > 0)
		e = inside_call(p, q, -1, r);
	if (e)
		fail_msg("request %u: %d", q->kind, e);
}

static struct process *must_join(pid_t pid)
{
	struct node_request q = inside_hello("default");
	struct node_reply reply;
	struct process *p = inside_connect(node, pid);
	if (!p && failing_end() > 0)
		p = inside_connect(node, pid);
	assert_non_null(p);
	must_call(p, &q, &reply);
	return p;
}

static uint16_t must_open(struct process *p)
{
	struct node_request q = { .kind = NODE_OPEN };
	struct node_reply reply;
	q.open.nq_log2 = 4;
	q.open.rdr_log2 = 10;
	q.open.peers = PEERS;
	must_call(p, &q, &reply);
	return reply.open.vpid;
}

static void must_resolve(struct process *p, uint16_t by, uint16_t target)
{
	struct node_request q = { .kind = NODE_RESOLVE };
	struct node_reply reply;
	q.resolve.vpid = by;
	q.resolve.node = node->id;
	q.resolve.target = target;
	for (unsigned i = 0; i < PEERS; i++)
		must_call(p, &q, &reply);
}

/* Every other block goes back: as many holes. */
static void must_scatter(struct process *p)
{
	struct node_request q = { .kind = NODE_ALLOC };
	struct node_reply reply;
	uint64_t offsets[2 * HOLES];
	for (unsigned i = 0; i < 2 * HOLES; i++) {
		q.alloc.bytes = 1;
		must_call(p, &q, &reply);
		offsets[i] = reply.alloc.offset;
	}
	q = (struct node_request){ .kind = NODE_FREE };
	for (unsigned i = 0; i < 2 * HOLES; i += 2) {
		q.free.offset = offsets[i];
		must_call(p, &q, &reply);
	}
}

static void scenario(void)
{
	struct node_request records = { .kind = NODE_RECORDS };
	struct node_reply reply;
	struct process *a = must_join(1), *b = must_join(2);
	uint16_t from = must_open(a), to = must_open(b);
	must_resolve(a, from, to);
	must_resolve(b, to, from);
	must_call(a, &records, &reply);
	must_scatter(a);
	/* One is told that the other is gone. */
	process_exited(a);
	inside_quiet(node);
	process_exited(b);
	inside_check_empty(node);
}

static void every_allocation(bool all)
{
	node = inside_node(HEAP_BYTES);
	scenario();
	long blocks = atomic_load(&failing.blocks), n = 1;
	for (; n < N_MAX; n++) {
		failing_begin(n, all);
		scenario();
		long failed = failing_end();
		if (atomic_load(&failing.blocks) != blocks)
			fail_msg("allocation %ld: %ld blocks stay", n,
				atomic_load(&failing.blocks) - blocks);
		if (failed == 0)
			break;
	}
	print_message("%ld allocations\n", n - 1);
	assert_in_range(n, 10, N_MAX - 1);
	node_end(node);
}

static void each_allocation_fails_once(void **state)
{
	(void)state;
	every_allocation(false);
}

static void each_and_all_after_it_fail(void **state)
{
	(void)state;
	every_allocation(true);
}

/* A realm without room for one more: nothing of the attempt stays. */
static void a_refused_process_leaves_nothing(void **state)
{
	struct node_request q = inside_hello("default");
	struct node_reply reply;
	(void)state;
	node = inside_node(ARENA_PAGE); /* for the records of one */
	struct process *first = must_join(1);
	long blocks = atomic_load(&failing.blocks);
	struct process *second = inside_connect(node, 2);
	assert_non_null(second);
	assert_int_equal(inside_call(second, &q, -1, &reply), -ENOSPC);
	process_disconnect(second);
	inside_quiet(node);
	assert_int_equal(atomic_load(&failing.blocks), blocks);
	process_exited(first);
	inside_check_empty(node);
	node_end(node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_fails_once),
		cmocka_unit_test(each_and_all_after_it_fail),
		cmocka_unit_test(a_refused_process_leaves_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
