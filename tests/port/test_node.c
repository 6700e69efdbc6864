/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The node: direct traffic continues when it is killed, the next port starts a
 * new one, and it exits after the last port.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"
#include "port/port.h"

#define LONG_BYTES 50000ul

static void node_kill(void)
{
	pid_t node = node_process(node_name());
	uint64_t deadline = soon();
	assert_true(node > 0);
	assert_int_equal(kill(node, SIGKILL), 0);
	while (node_socket(node_name()))
		assert_true(now_ns() < deadline);
}

/* ---- traffic without a node ---- */

struct side {
	struct child *other;
	struct cay_port *port;
	struct cay_peer *peer;
	unsigned char *data;
	int epoll;
};

static void side_open(struct side *s, const char *own, const char *other)
{
	struct epoll_event e = { .events = EPOLLIN };
	s->port = open_named(own);
	s->peer = open_peer_named(s->port, other);
	s->data = cay_alloc(s->port, LONG_BYTES, 0);
	content_fill(s->data, LONG_BYTES, 1);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(
		epoll_ctl(s->epoll, EPOLL_CTL_ADD, cay_port_fd(s->port), &e),
		0);
}

static void side_close(struct side *s)
{
	cay_free(s->port, s->data);
	cay_peer_release(s->peer);
	close_port(s->port);
	close(s->epoll);
}

/* Sends while the other side sleeps, so that it fetches the doorbell. */
static void side_send(struct side *s)
{
	static const size_t sizes[] = { 8, 4000, LONG_BYTES };
	assert_int_equal(child_receive(s->other), 1);
	for (unsigned i = 0; i < COUNT(sizes); i++)
		assert_int_equal(cay_send(s->port, s->peer, i, s->data,
					 sizes[i], borrow_long(sizes[i])),
			0);
	expect_complete(s->port, 2, 0);
}

static void side_receive(struct side *s)
{
	struct epoll_event e;
	assert_int_equal(cay_port_arm(s->port), 0);
	child_send(s->other, 1);
	assert_int_equal(
		epoll_wait(s->epoll, &e, 1, (int)(TIMEOUT_NS / NS_PER_MS)), 1);
	expect_message(s->port, 0, 8, 1);
	expect_message(s->port, 1, 4000, 1);
	expect_message(s->port, 2, LONG_BYTES, 1);
}

static void met_child(struct child *parent, void *unused)
{
	struct side s = { .other = parent };
	(void)unused;
	side_open(&s, "right", "left");
	while (child_receive(parent)) {
		side_receive(&s);
		side_send(&s);
	}
	side_close(&s);
}

static void exchange(struct side *s)
{
	child_send(s->other, 1);
	side_send(s);
	side_receive(s);
}

/* Calls that need a node. */
static void check_no_node(struct side *s)
{
	struct cay_peer *peer = NULL;
	struct cay_port *port = s->port;
	assert_int_equal(port_stats(port).node_alive, 0);
	assert_int_equal(cay_peer_resolve(port, cay_peer_addr(s->peer), &peer),
		-ENOTCONN);
	assert_int_equal(
		cay_peer_lookup(port, "right", soon(), &peer), -ENOTCONN);
	assert_true(peer == NULL);
	errno = 0;
	assert_true(cay_alloc(port, 100, 0) == NULL && errno == ENOTCONN);
}

/* A new node does not know the ports of the old one. */
static void open_anew(const struct cay_addr *old)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer(port, port);
	assert_true(cay_port_addr(port).node != old->node);
	assert_int_equal(port_stats(port).node_alive, 1);
	assert_int_equal(cay_send(port, peer, 1, NULL, 0, 0), 0);
	expect_message(port, 1, 0, 0);
	cay_peer_release(peer);
	assert_int_equal(cay_peer_resolve(port, *old, &peer), -EHOSTUNREACH);
	close_port(port);
}

static void fresh_child(struct child *parent, void *argument)
{
	(void)parent;
	open_anew(argument);
}

static void traffic_continues_without_the_node(void **state)
{
	struct child child, fresh;
	struct side s = { .other = &child };
	(void)state;
	child_start(&child, met_child, NULL);
	side_open(&s, "left", "right");
	struct cay_addr old = cay_port_addr(s.port);
	assert_int_equal(port_stats(s.port).node_alive, 1);
	exchange(&s);
	node_kill();
	for (unsigned i = 0; i < 10; i++)
		exchange(&s);
	check_no_node(&s);
	/* From a new process, and from one that used the old node. */
	child_start(&fresh, fresh_child, &old);
	child_join(&fresh);
	open_anew(&old);
	exchange(&s);
	assert_int_equal(port_stats(s.port).node_alive, 0);
	child_send(&child, 0);
	child_join(&child);
	assert_int_equal(cay_send(s.port, s.peer, 0, NULL, 0, 0), -EPIPE);
	side_close(&s);
}

/* No call has noticed the death when the next port is opened. */
static void open_starts_a_new_node(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_addr old = cay_port_addr(port);
	(void)state;
	node_kill();
	open_anew(&old);
	close_port(port);
}

/*
 * The node dies while it replaces the queue of a port: the receiver consumes
 * nothing before, and all published entries afterwards.
 */
static void receiver_decides_without_the_node(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *self = open_peer(port, port);
	_Atomic uint32_t *migration = &port->consumer.own->control->migration;
	struct cay_event e;
	(void)state;
	assert_int_equal(cay_send(port, self, 1, NULL, 0, 0), 0);
	atomic_store(migration, QUEUE_MIGRATING);
	assert_int_equal(cay_poll(port, &e, 1), 0);
	assert_int_equal(atomic_load(migration), QUEUE_MIGRATING);
	node_kill();
	expect_message(port, 1, 0, 0);
	assert_int_equal(atomic_load(migration), QUEUE_UNFENCED);
	assert_int_equal(cay_send(port, self, 2, NULL, 0, 0), 0);
	expect_message(port, 2, 0, 0);
	cay_peer_release(self);
	close_port(port);
}

/* ---- start and exit ---- */

enum {
	VISITORS = 4
};

/* Opens a port again at about the time when the node exits. */
static void visitor(struct child *parent, void *argument)
{
	struct random r = { (uint64_t)getpid() };
	const unsigned *visits = argument;
	(void)parent;
	for (unsigned i = 0; i < *visits; i++) {
		struct cay_port *port = open_port(NULL);
		struct cay_peer *self = open_peer(port, port);
		assert_int_equal(cay_send(port, self, i, NULL, 0, 0), 0);
		expect_message(port, i, 0, 0);
		cay_peer_release(self);
		close_port(port);
		nap_ns(290 * NS_PER_MS + random_below(&r, 80 * NS_PER_MS));
	}
}

static void nodes_start_and_exit(void **state)
{
	struct child children[VISITORS];
	unsigned visits = 8;
	(void)state;
	for (unsigned i = 0; i < VISITORS; i++)
		child_start(&children[i], visitor, &visits);
	for (unsigned i = 0; i < VISITORS; i++)
		child_join(&children[i]);
	assert_true(node_gone_soon(node_name()));
}

/* Concurrent first ports elect one node. */
static void elector(struct child *parent, void *unused)
{
	(void)unused;
	child_receive(parent);
	struct cay_port *port = open_port(NULL);
	child_send(parent, cay_port_addr(port).node);
	child_receive(parent);
	close_port(port);
}

static void one_node_is_elected(void **state)
{
	struct child children[16];
	(void)state;
	assert_true(node_gone_soon(node_name()));
	for (unsigned i = 0; i < COUNT(children); i++)
		child_start(&children[i], elector, NULL);
	for (unsigned i = 0; i < COUNT(children); i++)
		child_send(&children[i], 1);
	uint64_t node = child_receive(&children[0]);
	for (unsigned i = 1; i < COUNT(children); i++)
		assert_int_equal(child_receive(&children[i]), node);
	for (unsigned i = 0; i < COUNT(children); i++)
		child_send(&children[i], 1);
	for (unsigned i = 0; i < COUNT(children); i++)
		child_join(&children[i]);
}

/* ---- no node available ---- */

static void no_program(struct child *parent, void *unused)
{
	(void)parent;
	(void)unused;
	setenv("CAY_NODE", "test-without-program", 1);
	setenv("CAY_NODE_PROGRAM", "/nonexistent/cay", 1);
	errno = 0;
	assert_true(cay_port_open(NULL) == NULL && errno == ENOENT);
}

static void program_must_exist(void **state)
{
	struct child child;
	(void)state;
	child_start(&child, no_program, NULL);
	child_join(&child);
}

/* ---- a process that the node has disconnected ---- */

/* The node closes the ports of a process whose control socket ends. */
static void disconnect(void)
{
	unsigned found = 0;
	for (int fd = 0; fd < 1024; fd++) {
		struct sockaddr_un a = { 0 };
		socklen_t length = sizeof(a) - 1;
		if (getpeername(fd, (struct sockaddr *)&a, &length) != 0 ||
			a.sun_family != AF_UNIX ||
			!memmem(a.sun_path, sizeof(a.sun_path), node_name(),
				strlen(node_name())))
			continue;
		found++;
		assert_int_equal(shutdown(fd, SHUT_RDWR), 0);
	}
	assert_int_equal(found, 1);
}

static void disconnected_child(struct child *parent, void *unused)
{
	struct cay_port *port = open_port(NULL);
	(void)parent, (void)unused;
	disconnect();
	assert_int_equal(cay_wait(port, soon()), -ENOTCONN);
}

static void wait_ends_when_the_node_closes_the_port(void **state)
{
	struct child child;
	(void)state;
	child_start(&child, disconnected_child, NULL);
	child_join(&child);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(traffic_continues_without_the_node),
		TEST(wait_ends_when_the_node_closes_the_port),
		TEST(open_starts_a_new_node),
		TEST(receiver_decides_without_the_node),
		TEST(nodes_start_and_exit),
		TEST(one_node_is_elected),
		TEST(program_must_exist),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
