/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member that speaks to the node by hand, beside one that is well served: for
 * tests of what no library sends. One program each.
 */
#ifndef CAY_TESTS_NODE_HOSTILE_H
#define CAY_TESTS_NODE_HOSTILE_H

#include "outside.h"

static struct cay_port *anchor; /* somebody else, who is well served */
static pid_t node;
static int node_fds;
/*
 * Members that were hung up on, each with a pidfd: what they had mapped may be
 * in use, so the node remembers them until their process has exited.
 */
static int hung_up;
static int s; /* a member of the anchor's realm that does as it likes */
static struct node_reply reply;

static inline int member_open(void **state)
{
	(void)state;
	hung_up = 0;
	harness_rename();
	anchor = cay_port_open(NULL);
	node = node_pid();
	if (!anchor || !node)
		return -1;
	fd_settle(node);
	node_fds = fd_count(node);
	s = raw_member("default");
	return s >= 0 ? 0 : -1;
}

/* It closes what it has done with in its own time. */
static inline bool fds_as_before(void *unused)
{
	(void)unused;
	return fd_count(node) == node_fds + hung_up;
}

/* The same node, with no descriptor more than before, and still polite. */
static inline int member_close(void **state)
{
	(void)state;
	raw_leave(s);
	struct cay_port *port = cay_port_open(NULL);
	int r = port ? cay_port_close(port) : -1;
	if (node_pid() != node)
		r = -1;
	if (!wait_for(fds_as_before, NULL, HARNESS_TIMEOUT_MS)) {
		print_error("the node had %d descriptors and has %d\n",
			node_fds, fd_count(node));
		r = -1;
	}
	cay_port_close(anchor);
	return r;
}

static inline int call(const struct node_request *q)
{
	return raw_call(s, q, -1, &reply, NULL);
}

/* A port of `s`, opened by hand. */
static inline uint16_t port_open(void)
{
	struct node_request q = { .kind = NODE_OPEN };
	assert_int_equal(call(&q), 0);
	return reply.open.vpid;
}

#define WITH_MEMBER(test) \
	cmocka_unit_test_setup_teardown(test, member_open, member_close)

#endif
