/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fixture for requests that the library never sends: a raw connection that
 * has joined the realm, next to an ordinary port that must not notice. Include
 * it in one file of a program.
 */
#ifndef CAY_TESTS_NODE_HOSTILE_H
#define CAY_TESTS_NODE_HOSTILE_H

#include "outside.h"

#define KIND_LAST NODE_DISABLE

static struct cay_port *anchor; /* ordinary port; keeps the node running */
static pid_t node;
static int node_fds;
/*
 * Members that the node has disconnected. It keeps a pidfd of each until the
 * process exits, since the process may still access the arena.
 */
static int disconnected;
static int member; /* raw connection, in the realm of the anchor */
static struct node_reply reply;

static inline int hostile_setup(void **state)
{
	(void)state;
	disconnected = 0;
	harness_rename();
	anchor = cay_port_open(NULL);
	node = node_pid();
	if (!anchor || !node)
		return -1;
	fd_count_settle(node);
	node_fds = fd_count(node);
	member = raw_member("default");
	return member >= 0 ? 0 : -1;
}

/* The node closes descriptors asynchronously. */
static inline bool node_fds_restored(void *unused)
{
	(void)unused;
	return fd_count(node) == node_fds + disconnected;
}

/* The node is the same, has no additional descriptor, and opens ports. */
static inline int hostile_teardown(void **state)
{
	(void)state;
	raw_leave(member);
	struct cay_port *port = cay_port_open(NULL);
	int r = port ? cay_port_close(port) : -1;
	if (node_pid() != node)
		r = -1;
	if (!wait_for(node_fds_restored, NULL, HARNESS_TIMEOUT_MS)) {
		print_error("the node had %d descriptors and has %d\n",
			node_fds, fd_count(node));
		r = -1;
	}
	cay_port_close(anchor);
	return r;
}

static inline int call(const struct node_request *q)
{
	return raw_call(member, q, -1, &reply, NULL);
}

/* Opens a port on the raw connection. */
static inline uint16_t port_open(void)
{
	struct node_request q = { .kind = NODE_OPEN };
	assert_int_equal(call(&q), 0);
	return reply.open.vpid;
}

#define HOSTILE_TEST(test) \
	cmocka_unit_test_setup_teardown(test, hostile_setup, hostile_teardown)

#endif
