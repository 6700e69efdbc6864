/* SPDX-License-Identifier: BSD-2-Clause */
/* cay_peer_resolve_start() and CAY_EVENT_RESOLVED. */
#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "harness.h"
#include "status.h"

static struct cay_peer *expect_resolved(struct cay_port *port,
	struct cay_addr addr, void *data, enum cay_error error)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_RESOLVED);
	assert_int_equal(e.error, error);
	assert_int_equal(e.peer.vpid, addr.vpid);
	assert_int_equal(e.tag, (uintptr_t)data);
	assert_true((e.handle == NULL) == (error != CAY_ERROR_NONE));
	if (e.handle) {
		assert_ptr_equal(cay_peer_data(e.handle), data);
		assert_int_equal(cay_peer_addr(e.handle).vpid, addr.vpid);
	}
	cay_release(port, &e);
	return e.handle;
}

static void resolution_ends_in_an_event(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_addr addr = cay_port_addr(other);
	int mine;
	(void)state;
	assert_int_equal(cay_peer_resolve_start(port, addr, &mine), 0);
	struct cay_peer *peer = expect_resolved(port, addr, &mine, 0);
	/* The handle is like any other. */
	assert_int_equal(cay_send(port, peer, 5, NULL, 0, 0), 0);
	expect_message(other, 5, 0, 0);
	struct cay_peer *back = open_peer(other, port);
	assert_int_equal(cay_send(other, back, 6, NULL, 0, 0), 0);
	struct cay_event e;
	next_event(port, &e);
	assert_ptr_equal(e.handle, peer);
	cay_release(port, &e);
	cay_peer_release(back);
	close_port(other);
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_GONE);
	assert_ptr_equal(e.handle, peer);
	cay_release(port, &e);
	cay_peer_release(peer);
	close_port(port);
}

static void failures_end_in_an_event(void **state)
{
	struct cay_port *port =
		open_port(&(struct cay_port_options){ .peers = 1 });
	struct cay_port *realm =
		open_port(&(struct cay_port_options){ .realm = "other" });
	struct cay_addr self = cay_port_addr(port);
	struct cay_addr none = { self.node, 60000 };
	struct cay_addr far = { self.node + 1, self.vpid };
	int mine;
	(void)state;
	assert_int_equal(cay_peer_resolve_start(port, none, &mine), 0);
	expect_resolved(port, none, &mine, CAY_ERROR_TARGET_VPID);
	assert_int_equal(cay_peer_resolve_start(port, far, &mine), 0);
	expect_resolved(port, far, &mine, CAY_ERROR_UNREACHABLE);
	struct cay_addr outside = cay_port_addr(realm);
	assert_int_equal(cay_peer_resolve_start(port, outside, NULL), 0);
	expect_resolved(port, outside, NULL, CAY_ERROR_REALM);
	/* The table has one entry. */
	assert_int_equal(cay_peer_resolve_start(port, self, &mine), 0);
	assert_int_equal(cay_peer_resolve_start(port, self, NULL), 0);
	struct cay_peer *peer = expect_resolved(port, self, &mine, 0);
	expect_resolved(port, self, NULL, CAY_ERROR_NO_RESOURCES);
	cay_peer_release(peer);
	check_empty(port);
	close_port(realm);
	close_port(port);
}

/* An application that sleeps in poll() is woken by the descriptor. */
static void descriptor_announces_the_event(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_addr addr = cay_port_addr(other);
	struct pollfd fd = { .fd = cay_port_fd(port), .events = POLLIN };
	(void)state;
	assert_true(fd.fd >= 0);
	assert_int_equal(cay_port_arm(port), 0);
	assert_int_equal(cay_peer_resolve_start(port, addr, NULL), 0);
	assert_int_equal(poll(&fd, 1, (int)(TIMEOUT_NS / NS_PER_MS)), 1);
	cay_peer_release(expect_resolved(port, addr, NULL, 0));
	close_port(other);
	close_port(port);
}

/* Many at once: the limit is reported, and each one ends once. */
static void many_resolutions(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_addr addr = cay_port_addr(other);
	static char marks[1000];
	unsigned started = 0, ended = 0;
	int r;
	(void)state;
	kill(node_process(node_name()), SIGSTOP);
	while ((r = cay_peer_resolve_start(port, addr, &marks[started])) == 0)
		started++;
	assert_int_equal(r, -EAGAIN);
	assert_true(started >= 16);
	check_empty(port);
	kill(node_process(node_name()), SIGCONT);
	for (; ended < COUNT(marks); ended++) {
		cay_peer_release(expect_resolved(port, addr, &marks[ended], 0));
		if (started < COUNT(marks) && cay_peer_resolve_start(port, addr,
						      &marks[started]) == 0)
			started++;
	}
	assert_int_equal(started, COUNT(marks));
	check_empty(port);
	close_port(other);
	close_port(port);
}

static void port_may_close_before_the_end(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_addr addr = cay_port_addr(other);
	(void)state;
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(cay_peer_resolve_start(port, addr, NULL), 0);
	close_port(port);
	assert_int_equal(status_settled().ports, 1);
	check_empty(other);
	close_port(other);
}

/* The target closes while the event is in the queue: GONE follows. */
static void target_may_close_before_the_event_is_polled(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_addr addr = cay_port_addr(other);
	(void)state;
	assert_int_equal(cay_peer_resolve_start(port, addr, NULL), 0);
	assert_int_equal(cay_wait(port, soon()), 0);
	close_port(other);
	struct cay_peer *peer = expect_resolved(port, addr, NULL, 0);
	assert_int_equal(cay_send(port, peer, 1, NULL, 0, 0), -EPIPE);
	expect_gone(port, addr.vpid);
	cay_peer_release(peer);
	close_port(port);
}

/* A node that exits without an answer does not leave a program waiting. */
static void node_may_exit(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_addr addr = cay_port_addr(port);
	pid_t node = node_process(node_name());
	(void)state;
	kill(node, SIGSTOP);
	assert_int_equal(cay_peer_resolve_start(port, addr, NULL), 0);
	kill(node, SIGKILL);
	/* Without waiting, too. */
	uint64_t deadline = soon();
	while (cay_wait(port, 0) == -EAGAIN)
		assert_true(now_ns() < deadline);
	expect_resolved(port, addr, NULL, CAY_ERROR_UNREACHABLE);
	assert_int_equal(cay_wait(port, 0), -EAGAIN);
	assert_int_equal(cay_peer_resolve_start(port, addr, NULL), -ENOTCONN);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(resolution_ends_in_an_event),
		TEST(failures_end_in_an_event),
		TEST(descriptor_announces_the_event),
		TEST(many_resolutions),
		TEST(port_may_close_before_the_end),
		TEST(target_may_close_before_the_event_is_polled),
		TEST(node_may_exit),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
