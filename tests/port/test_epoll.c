/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of a port: arming, several ports in one epoll, and the lost
 * wake-up test of test_wait.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "exchange.h"

#define SLEEP_MS 8000

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return poll(&p, 1, 0) == 1;
}

static void arming(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *self = open_peer(port, port);
	(void)state;
	assert_int_equal(cay_port_arm(port), -EBADF);
	int fd = cay_port_fd(port);
	assert_true(fd >= 0);
	assert_int_equal(cay_port_fd(port), fd);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(!readable(fd));

	assert_int_equal(cay_port_arm(port), 0);
	assert_int_equal(cay_port_arm(port), 0);
	assert_true(!readable(fd));
	assert_int_equal(cay_send(port, self, 1, NULL, 0, 0), 0);
	assert_true(readable(fd));
	assert_int_equal(cay_port_arm(port), -EAGAIN);
	expect_message(port, 1, 0, 0);

	/* Not armed: no sender rings. */
	assert_int_equal(cay_port_arm(port), 0);
	assert_true(!readable(fd));
	assert_int_equal(cay_send(port, self, 2, NULL, 0, 0), 0);
	expect_message(port, 2, 0, 0);
	assert_int_equal(cay_port_arm(port), 0);
	cay_peer_release(self);
	close_port(port);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* A port may be armed and then waited for, or vice versa. */
static void arming_and_waiting(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *self = open_peer(port, port);
	int fd = cay_port_fd(port);
	(void)state;
	assert_int_equal(cay_port_arm(port), 0);
	assert_int_equal(cay_wait(port, now_ns() + NS_PER_MS), -ETIMEDOUT);
	assert_int_equal(cay_send(port, self, 1, NULL, 0, 0), 0);
	assert_true(readable(fd));
	assert_int_equal(cay_wait(port, soon()), 0);
	expect_message(port, 1, 0, 0);
	assert_int_equal(cay_wait(port, now_ns() + NS_PER_MS), -ETIMEDOUT);
	assert_int_equal(cay_port_arm(port), 0);
	cay_peer_release(self);
	close_port(port);
}

/* ---- sleeping in epoll ---- */

static int epoll_of(struct cay_port **ports, unsigned count)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_true(epoll >= 0);
	for (unsigned i = 0; i < count; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u32 = i };
		int fd = cay_port_fd(ports[i]);
		assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e), 0);
	}
	return epoll;
}

/*
 * Sleeps in epoll until one of the armed ports has an event. Returns its index.
 */
static unsigned epoll_sleep(int epoll)
{
	struct epoll_event e;
	int n;
	do
		n = epoll_wait(epoll, &e, 1, SLEEP_MS);
	while (n < 0 && errno == EINTR);
	assert_int_equal(n, 1);
	return e.data.u32;
}

static void epoll_next(struct exchange *x, struct cay_event *e)
{
	if (!x->epoll)
		x->epoll = epoll_of(&x->port, 1);
	while (!poll_event(x->port, e)) {
		int r = cay_port_arm(x->port);
		if (r == 0)
			epoll_sleep(x->epoll);
		else
			assert_int_equal(r, -EAGAIN);
	}
}

static void no_wake_up_is_lost(void **state)
{
	struct exchange x = {
		.rounds = scaled(10000), .random = { 2 }, .next = epoll_next
	};
	struct child child;
	struct cay_event e;
	(void)state;
	child_start_local(&child, exchange_child, &x);
	exchange_run(&x, "first", "second", true);
	child_join(&child);
	/* The node rings for its notifications, too. */
	epoll_next(&x, &e);
	assert_int_equal(e.kind, CAY_EVENT_GONE);
	cay_release(x.port, &e);
	exchange_close(&x);
}

/* ---- several ports ---- */

enum {
	PORTS = 8
};

static const char *const names[PORTS] = { "p0", "p1", "p2", "p3", "p4", "p5",
	"p6", "p7" };

/*
 * Sends one message at a time to a random port, after the last one was
 * received.
 */
static void scatter_child(struct child *parent, void *argument)
{
	const uint64_t *messages = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peers[PORTS];
	struct random r = { 4 };
	for (unsigned i = 0; i < PORTS; i++)
		peers[i] = open_peer_named(port, names[i]);
	for (uint64_t i = 0; i < *messages; i++) {
		unsigned to = (unsigned)random_below(&r, PORTS);
		random_pause(&r, EXCHANGE_PAUSE_NS);
		assert_int_equal(
			cay_send(port, peers[to], i, &to, sizeof(to), 0), 0);
		child_receive(parent);
	}
	for (unsigned i = 0; i < PORTS; i++)
		cay_peer_release(peers[i]);
	close_port(port);
}

/* Polls the message, if it is at this port. */
static bool scatter_take(struct cay_port *port, unsigned index, uint64_t tag)
{
	struct cay_event e;
	if (!poll_event(port, &e))
		return false;
	assert_int_equal(e.tag, tag);
	assert_int_equal(*(const unsigned *)e.data, index);
	cay_release(port, &e);
	return true;
}

/* Arms all ports. Returns true if a port had the message. */
static bool scatter_arm(struct cay_port **ports, uint64_t tag)
{
	for (unsigned i = 0; i < PORTS; i++)
		while (cay_port_arm(ports[i]) == -EAGAIN)
			if (scatter_take(ports[i], i, tag))
				return true;
	return false;
}

static void several_ports_in_one_epoll(void **state)
{
	struct cay_port *ports[PORTS];
	uint64_t messages = scaled(5000);
	struct child child;
	(void)state;
	child_start_local(&child, scatter_child, &messages);
	for (unsigned i = 0; i < PORTS; i++)
		ports[i] = open_named(names[i]);
	int epoll = epoll_of(ports, PORTS);
	for (uint64_t i = 0; i < messages; i++) {
		while (!scatter_arm(ports, i)) {
			unsigned rung = epoll_sleep(epoll);
			if (scatter_take(ports[rung], rung, i))
				break;
		}
		child_send(&child, i);
	}
	child_join(&child);
	for (unsigned i = 0; i < PORTS; i++)
		close_port(ports[i]);
	close(epoll);
}

/* ---- a sender without free descriptors ---- */

static void poor_child(struct child *parent, void *unused)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "rich");
	int next = dup(0);
	struct rlimit limit = { (rlim_t)next, (rlim_t)next };
	(void)unused;
	assert_true(next > 0);
	close(next);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(dup(0), -1);
	child_send(parent, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(child_receive(parent), i);
		nap_ns(5 * NS_PER_MS);
		assert_int_equal(cay_send(port, peer, i, NULL, 0, 0), 0);
		child_send(parent, i);
	}
	assert_int_equal(cay_port_fd(port), -EMFILE);
	assert_int_equal(cay_send(port, peer, 3, NULL, 0, 0), 0);
	cay_peer_release(peer);
	close_port(port);
}

/* The node rings instead; each time, also if it was stopped meanwhile. */
static void poor_sender(bool stopped)
{
	struct cay_port *port = open_named("rich");
	int epoll = epoll_of(&port, 1);
	pid_t node = node_process(node_name());
	struct child child;
	assert_true(node > 0);
	child_start(&child, poor_child, NULL);
	assert_int_equal(child_receive(&child), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(cay_port_arm(port), 0);
		if (stopped)
			assert_int_equal(kill(node, SIGSTOP), 0);
		child_send(&child, i);
		assert_int_equal(child_receive(&child), i);
		assert_int_equal(kill(node, SIGCONT), 0);
		epoll_sleep(epoll);
		expect_message(port, i, 0, 0);
	}
	expect_message(port, 3, 0, 0);
	child_join(&child);
	close_port(port);
	close(epoll);
}

static void sender_without_descriptors(void **state)
{
	(void)state;
	poor_sender(false);
}

static void sender_without_descriptors_stopped_node(void **state)
{
	(void)state;
	poor_sender(true);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(arming),
		TEST(arming_and_waiting),
		TEST(no_wake_up_is_lost),
		TEST(several_ports_in_one_epoll),
		TEST(sender_without_descriptors),
		TEST(sender_without_descriptors_stopped_node),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
