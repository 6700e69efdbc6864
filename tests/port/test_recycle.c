/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recycled VPIDs. Another process holds all but a few of the 65,535 ports, so
 * that these are recycled at once; an old peer handle must never reach the new
 * port.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "status.h"

enum {
	LEFT = 3
};

static const struct cay_port_options smallest = { .nq_entries = 1,
	.wq_entries = 1,
	.sdr_bytes = 1,
	.rdr_bytes = 1,
	.windows = 1,
	.peers = 4 };

/* Opens all ports except LEFT, which remain for the parent. */
static void occupant(struct child *parent, void *unused)
{
	enum {
		OCCUPIED = CAY_VPIDS - 1 - 1 - LEFT
	};
	uint64_t deadline = now_ns() + 4 * TIMEOUT_NS;
	(void)unused;
	for (unsigned i = 0; i < OCCUPIED; i++) {
		assert_true(cay_port_open(&smallest) != NULL);
		assert_true(i % 256 || now_ns() < deadline);
		if (i % 4096 == 0)
			child_send(parent, 0);
	}
	child_send(parent, 1);
	child_receive(parent);
}

static void occupied(struct child *child)
{
	child_start(child, occupant, NULL);
	while (!child_receive(child))
		;
}

static void no_more_than_all(struct cay_port *port)
{
	struct cay_port *last[LEFT];
	(void)port;
	for (unsigned i = 0; i < LEFT; i++)
		last[i] = open_port(&smallest);
	assert_int_equal(status_read().ports, CAY_VPIDS - 1);
	errno = 0;
	assert_true(cay_port_open(&smallest) == NULL && errno == ENOSPC);
	for (unsigned i = 0; i < LEFT; i++)
		close_port(last[i]);
}

/* Opens ports until one has this VPID, and closes the others. */
static struct cay_port *reopen(uint16_t vpid)
{
	for (unsigned i = 0; i < 4 * LEFT; i++) {
		struct cay_port *port = open_port(&smallest);
		if (cay_port_addr(port).vpid == vpid)
			return port;
		close_port(port);
		status_settled();
	}
	fail_msg("the number comes round");
	return NULL;
}

/* VCIs use the peer table, whose epoch is checked, too. */
static void check_raw_gone(struct cay_port *port, struct cay_peer *old)
{
	struct cay_vci v = { { 0 } };
	v.word[CAY_VCI_WORD_COMMAND] = CAY_FAST_SEND | CAY_VCI_ROUTE_LOCAL |
				       (uint64_t)cay_peer_route(old)
					       << CAY_VCI_ROUTING_OFFSET_SHIFT;
	v.word[CAY_VCI_WORD_TARGET] = cay_peer_addr(old).vpid;
	v.word[CAY_VCI_WORD_TAG] = 5;
	assert_int_equal(cay_vci_post(port, &v), 0);
	assert_int_equal(cay_trigger(port, CAY_ISSUE_VCI, 1).accepted, 1);
	expect_complete(port, 5, CAY_ERROR_GONE);
}

static void check_old(struct cay_port *port, struct cay_peer *old)
{
	static unsigned char data[CAY_EAGER_MAX + 1];
	assert_int_equal(cay_send(port, old, 1, NULL, 0, 0), -EPIPE);
	assert_int_equal(cay_send(port, old, 1, data, 100, CAY_NOTIFY), -EPIPE);
	assert_int_equal(cay_send(port, old, 1, data, sizeof(data), 0), -EPIPE);
	assert_int_equal(
		cay_send_wait(port, old, 1, NULL, 0, 0, soon()), -EPIPE);
	check_raw_gone(port, old);
}

/* Both parities of the epoch, and the first one again. */
static void old_handle_never_reaches(struct cay_port *port)
{
	struct cay_port *now = open_port(&smallest);
	uint16_t vpid = cay_port_addr(now).vpid;
	struct cay_peer *old[4], *to;
	for (unsigned i = 0; i < COUNT(old); i++) {
		old[i] = open_peer(port, now);
		assert_int_equal(cay_send(port, old[i], i, NULL, 0, 0), 0);
		expect_message(now, i, 0, 0);
		close_port(now);
		expect_gone(port, vpid);
		status_settled();
		now = reopen(vpid);
		for (unsigned j = 0; j <= i; j++)
			check_old(port, old[j]);
		check_empty(now);
		/* The recycled VPID works for its new port. */
		to = open_peer(port, now);
		assert_int_equal(cay_send(port, to, 7, NULL, 0, 0), 0);
		expect_message(now, 7, 0, 0);
		cay_peer_release(to);
	}
	check_empty(now);
	close_port(now);
	for (unsigned i = 0; i < COUNT(old); i++)
		cay_peer_release(old[i]);
}

/*
 * A port gets no VPID that an event names which its receiver has not released:
 * a reply to it would reach the new port.
 */
static void unreleased_event_keeps_vpid(struct cay_port *port)
{
	struct cay_port *sender = open_port(&smallest), *other[LEFT - 1];
	uint16_t vpid = cay_port_addr(sender).vpid;
	struct cay_peer *to = open_peer(sender, port);
	struct cay_event e;
	check_empty(port);
	assert_int_equal(cay_send(sender, to, 1, NULL, 0, 0), 0);
	cay_peer_release(to);
	close_port(sender);
	status_settled();
	/* Once while the message is in the queue, once while it is polled. */
	for (unsigned polled = 0; polled < 2; polled++) {
		if (polled)
			next_event(port, &e);
		for (unsigned i = 0; i < COUNT(other); i++) {
			other[i] = open_port(&smallest);
			assert_int_not_equal(
				cay_port_addr(other[i]).vpid, vpid);
		}
		errno = 0;
		assert_true(!cay_port_open(&smallest) && errno == ENOSPC);
		for (unsigned i = 0; i < COUNT(other); i++)
			close_port(other[i]);
		status_settled();
	}
	assert_int_equal(e.peer.vpid, vpid);
	assert_int_equal(cay_reply(port, &e, 2, NULL, 0, 0), -EPIPE);
	cay_release(port, &e);
	check_empty(port);
	sender = reopen(vpid);
	check_empty(sender);
	close_port(sender);
}

/* Starts a node that lets one process take all ports. */
static void node_start(void)
{
	char command[512];
	int n = snprintf(command, sizeof(command),
		"exec %s node serve --background --quota process-ports=65535 "
		"--quota realm-ports=65536 %s",
		getenv("CAY_NODE_PROGRAM"), getenv("CAY_NODE"));
	assert_in_range(n, 1, sizeof(command) - 1);
	assert_int_equal(system(command), 0);
}

static void vpids_are_recycled(void **state)
{
	node_start();
	struct cay_port *port = open_port(NULL);
	struct child child;
	(void)state;
	occupied(&child);
	no_more_than_all(port);
	old_handle_never_reaches(port);
	unreleased_event_keeps_vpid(port);
	child_kill(&child);
	assert_int_equal(status_settled().ports, 1);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(vpids_are_recycled),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
