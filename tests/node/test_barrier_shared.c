/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slow memory barriers, which a node needs for members that have not registered
 * for expedited ones, take it 10 ms and more: one of them serves all requests
 * of a round, all ports that were closed before it, and all that wait for a
 * lock.
 */
#include "inside.h"

#include <linux/membarrier.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define MEMBERS	    16
#define SKIP_STATUS 77
#define CAPABILITY  0x1234

static struct node *node;
static struct process *members[MEMBERS];
static uint16_t vpids[MEMBERS];

static int call(unsigned i, const struct node_request *q)
{
	struct node_reply reply;
	int r = inside_call(members[i], q, &reply);
	if (q->kind == NODE_OPEN && r == 0)
		vpids[i] = reply.open.vpid;
	return r;
}

static int setup(void **state)
{
	(void)state;
	node = inside_node(64ull << 20);
	for (unsigned i = 0; i < MEMBERS; i++) {
		struct node_request q = inside_hello("default");
		q.hello.flags = 0;
		members[i] = inside_connect(node, (pid_t)(1000 + i));
		assert_non_null(members[i]);
		assert_int_equal(call(i, &q), 0);
		q = (struct node_request){ .kind = NODE_OPEN };
		q.open.nq_log2 = 4;
		q.open.windows = MEMBERS;
		assert_int_equal(call(i, &q), 0);
	}
	node_tick(node);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MEMBERS; i++)
		process_exited(members[i]);
	inside_check_empty(node);
	node_end(node);
	return 0;
}

static void quiesce_all(void)
{
	struct node_request q = { .kind = NODE_QUIESCE };
	for (unsigned i = 0; i < MEMBERS; i++) {
		q.quiesce.vpid = vpids[i];
		assert_int_equal(call(i, &q), 0);
	}
}

static void requests_of_a_round_share_a_barrier(void **state)
{
	(void)state;
	uint64_t before = node->count.barriers;
	quiesce_all();
	assert_int_equal(node->count.barriers - before, 1);
	/* Those of the next round may be sent after that barrier. */
	node_tick(node);
	quiesce_all();
	assert_int_equal(node->count.barriers - before, 2);
	node_tick(node);
}

/* Each member locks a window of the first port. */
static void locks_share_a_barrier(void **state)
{
	struct vport *target = node->ports[vpids[0]];
	struct cay_window_descriptor *wdt =
		vport_table(target, target->config.wdt_at);
	struct node_request q = { .kind = NODE_LOCK };
	(void)state;
	q.lock.target = vpids[0];
	q.lock.epoch = target->epoch;
	q.lock.capability = CAPABILITY;
	for (unsigned i = 0; i < MEMBERS; i++)
		wdt[i] = (struct cay_window_descriptor){ .rights = 7,
			.capability = CAPABILITY,
			.next = (uint16_t)i,
			.previous = (uint16_t)i };
	uint64_t before = node->count.barriers;
	for (unsigned poll = 0; poll < 2; poll++) {
		for (unsigned i = 0; i < MEMBERS; i++) {
			q.lock.vpid = vpids[i];
			q.lock.window = (uint16_t)i;
			q.lock.poll = (uint16_t)poll;
			assert_int_equal(call(i, &q), poll ? 0 : -EINPROGRESS);
		}
		node_tick(node);
	}
	assert_int_equal(node->count.barriers - before, 1);
}

static void closed_ports_share_a_barrier(void **state)
{
	struct node_request q = { .kind = NODE_CLOSE };
	(void)state;
	uint64_t before = node->count.barriers;
	for (unsigned i = 0; i < MEMBERS; i++) {
		q.close.vpid = vpids[i];
		assert_int_equal(call(i, &q), 0);
	}
	/* Their memory is not reused before the barrier. */
	assert_int_equal(node->count.barriers - before, 0);
	assert_int_equal(node->port_count, MEMBERS);
	node_tick(node);
	assert_int_equal(node->count.barriers - before, 1);
	assert_int_equal(node->port_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_of_a_round_share_a_barrier),
		cmocka_unit_test(locks_share_a_barrier),
		cmocka_unit_test(closed_ports_share_a_barrier),
	};
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) != 0)
		return SKIP_STATUS;
	return cmocka_run_group_tests(tests, setup, teardown);
}
