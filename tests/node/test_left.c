/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node counts a process as dead if it exits as a member of a realm, and not
 * if it has left, whichever of its exit and the end of its connection the node
 * sees first. The node runs inside the test.
 */
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void exit_after_leaving_is_no_death(void **state)
{
	struct node *n = inside_node(1 << 20);
	struct process *p = inside_join(n, 1, "default");
	struct node_request q = { .kind = NODE_LEAVE };
	struct node_reply reply;
	(void)state;
	inside_open(p);
	assert_int_equal(inside_call(p, &q, &reply), 0);
	process_exited(p);
	assert_int_equal(n->count.repaired, 0);
	inside_check_empty(n);
	node_end(n);
}

static void exit_of_a_member_is_a_death(void **state)
{
	struct node *n = inside_node(1 << 20);
	struct process *connected = inside_join(n, 1, "default");
	struct process *disconnected = inside_join(n, 2, "default");
	(void)state;
	process_exited(connected);
	process_disconnect(disconnected);
	process_exited(disconnected);
	assert_int_equal(n->count.repaired, 2);
	inside_check_empty(n);
	node_end(n);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_after_leaving_is_no_death),
		cmocka_unit_test(exit_of_a_member_is_a_death),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
