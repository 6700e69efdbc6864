/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors that a client has got from the node, and those that it sends:
 * whatever it does with them, the node does not wait for it.
 */
#include <netinet/in.h>

#include "base/bits.h"
#include "hostile.h"

#define FDS_MAX 253 /* SCM_MAX_FD of the kernel */

/* ---- doorbells ---- */

static int doorbell_call(enum node_request_kind kind, uint16_t vpid, int *fd)
{
	struct node_request q = { .kind = kind };
	q.doorbell.vpid = vpid;
	q.doorbell.epoch = 1;
	return raw_call(member, &q, -1, &reply, fd);
}

/* Has no reply. */
static void doorbell_ring(uint16_t vpid)
{
	struct node_request q = { .kind = NODE_DOORBELL_RING };
	q.doorbell.vpid = vpid;
	q.doorbell.epoch = 1;
	assert_int_equal(wire_send(member, &q, sizeof(q), -1, 0), 0);
}

static void expect_ring(int reader)
{
	struct pollfd p = { .fd = reader, .events = POLLIN };
	char byte;
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(recv(reader, &byte, 1, 0), 1);
}

static void doorbell_is_made_by_its_port(void **state)
{
	uint16_t own = port_open();
	(void)state;
	assert_int_equal(doorbell_call(NODE_DOORBELL_GET, own, NULL), -ENXIO);
	assert_int_equal(doorbell_call(NODE_DOORBELL_GET, 0, NULL), -ENXIO);
	assert_int_equal(doorbell_call(NODE_DOORBELL_GET, 65535, NULL), -ENXIO);
	doorbell_ring(own);
	doorbell_ring(65535);
	assert_int_equal(doorbell_call(NODE_DOORBELL_GET, own, NULL), -ENXIO);
}

/* The ends of a doorbell of the raw connection. */
struct bell {
	uint16_t vpid;
	int reader, writer;
};

static struct bell bell_make(void)
{
	struct bell b = { .vpid = port_open() };
	assert_int_equal(
		doorbell_call(NODE_DOORBELL_SET, b.vpid, &b.reader), 0);
	assert_int_equal(
		doorbell_call(NODE_DOORBELL_GET, b.vpid, &b.writer), 0);
	assert_true(b.reader >= 0 && b.writer >= 0);
	return b;
}

static void bell_close(const struct bell *b)
{
	close(b->reader);
	close(b->writer);
}

/* Even if a member has made the description blocking and has filled it. */
static void full_doorbell_does_not_block_node(void **state)
{
	struct bell b = bell_make();
	struct cay_port_options other = { .realm = "other" };
	(void)state;
	while (send(b.writer, "x", 1, MSG_DONTWAIT) == 1)
		continue;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(b.writer, F_SETFL, 0), 0);
	assert_int_equal(fcntl(b.reader, F_SETFL, 0), 0);
	/* The port of the other realm does not wait for this request. */
	doorbell_ring(b.vpid);
	struct cay_port *port = cay_port_open(&other);
	assert_non_null(port);
	struct cay_peer *self;
	assert_int_equal(cay_peer_resolve(port, cay_port_addr(port), &self), 0);
	cay_peer_release(self);
	assert_int_equal(cay_port_close(port), 0);
	bell_close(&b);
}

/* Rings arrive at the reading end, and in no other direction. */
static void doorbell_has_one_direction(void **state)
{
	struct bell b = bell_make();
	char byte;
	(void)state;
	doorbell_ring(b.vpid);
	expect_ring(b.reader);
	assert_int_equal(recv(b.reader, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(send(b.reader, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
	bell_close(&b);
}

/* A port that lost the reading end gets another doorbell. */
static void doorbell_is_replaced(void **state)
{
	struct bell b = bell_make();
	int reader = -1;
	char byte;
	(void)state;
	assert_int_equal(doorbell_call(NODE_DOORBELL_SET, b.vpid, &reader), 0);
	doorbell_ring(b.vpid);
	expect_ring(reader);
	assert_int_equal(recv(b.reader, &byte, 1, MSG_DONTWAIT), -1);
	close(b.reader);
	/* A sender that has the old one is told. */
	assert_int_equal(
		send(b.writer, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(b.writer);
	close(reader);
}

/* ---- unexpected descriptors ---- */

/* Sends a record with `count` copies of a descriptor. */
static void send_with_fds(
	int to, const void *q, size_t bytes, int fd, unsigned count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} space = { 0 };
	struct iovec data = { (void *)q, bytes };
	struct msghdr m = { .msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &space,
		.msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	for (unsigned i = 0; i < count; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	assert_int_equal(sendmsg(to, &m, MSG_NOSIGNAL), bytes);
}

/* A descriptor ends the connection, with any request. */
static void descriptors_are_refused(void **state)
{
	static const unsigned counts[] = { 1, 2, 3, FDS_MAX };
	(void)state;
	for (uint32_t kind = 0; kind <= KIND_LAST + 1; kind++)
		for (unsigned i = 0; i < ARRAY_COUNT(counts); i++) {
			struct node_request q = hello_request("default");
			bool hello = kind == NODE_HELLO;
			int fd = -1;
			q.kind = kind;
			int c = hello ? raw_connect() : raw_member("default");
			assert_true(c >= 0);
			send_with_fds(c, &q, sizeof(q), c, counts[i]);
			assert_int_equal(raw_reply(c, &reply, &fd), -EPROTO);
			assert_int_equal(raw_reply(c, &reply, &fd), -ENOTCONN);
			disconnected += !hello;
			close(c);
		}
}

/* A record of 0 bytes looks like end of file but can have a descriptor. */
static void empty_records_leak_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		int fd = -1, c = raw_connect();
		assert_true(c >= 0);
		send_with_fds(c, "", 0, c, 1);
		assert_true(raw_reply(c, &reply, &fd) < 0);
		close(c);
	}
}

/* ---- descriptors whose close blocks ---- */

/*
 * A TCP connection that lingers: the close of the last descriptor waits until
 * the peer has read everything, which it never does.
 */
struct slow {
	int fd, peer;
};

static struct slow slow_make(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct linger linger = { 1, 2 * HARNESS_TIMEOUT_MS / 1000 };
	socklen_t length = sizeof(a);
	struct slow s;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, length), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(
		getsockname(listener, (struct sockaddr *)&a, &length), 0);
	s.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(s.fd, (struct sockaddr *)&a, length), 0);
	s.peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(s.peer >= 0);
	close(listener);
	static const char bytes[65536];
	while (send(s.fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		continue;
	assert_int_equal(setsockopt(s.fd, SOL_SOCKET, SO_LINGER, &linger,
				 sizeof(linger)),
		0);
	return s;
}

/*
 * Sends the last descriptor of the connection with a record. The node is
 * stopped, so that it has the last one.
 */
static void slow_send(int to, const void *record, size_t bytes, int fd)
{
	assert_int_equal(kill(node, SIGSTOP), 0);
	send_with_fds(to, record, bytes, fd, 1);
	close(fd);
	assert_int_equal(kill(node, SIGCONT), 0);
}

static void slow_end(const struct slow *s)
{
	/* Unread data resets the connection, so that the close returns. */
	close(s->peer);
}

/* The calls time out while a close of the node blocks. */
static void assert_node_responds(void)
{
	struct cay_port_options other = { .realm = "other" };
	uint64_t since = clock_now_ns();
	struct cay_port *port = cay_port_open(&other);
	assert_non_null(port);
	assert_int_equal(cay_port_close(port), 0);
	assert_int_equal(node_pid(), node);
	assert_true(elapsed_ms(since) < HARNESS_TIMEOUT_MS);
}

static void slow_descriptor_in_a_request(void **state)
{
	struct slow s = slow_make();
	struct node_request q = { .kind = NODE_RECORDS };
	int fd = -1, c = raw_member("default");
	(void)state;
	slow_send(c, &q, sizeof(q), s.fd);
	assert_int_equal(raw_reply(c, &reply, &fd), -EPROTO);
	disconnected = 1;
	assert_node_responds();
	close(c);
	slow_end(&s);
}

/* Records that the node has not read when it closes the socket. */
static void slow_descriptor_after_a_violation(void **state)
{
	struct slow s = slow_make();
	struct node_request q = { .kind = 0 };
	int fd = -1, c = raw_connect();
	(void)state;
	assert_int_equal(kill(node, SIGSTOP), 0);
	assert_int_equal(wire_send(c, &q, sizeof(q), -1, 0), 0);
	assert_int_equal(send(c, "", 0, MSG_NOSIGNAL), 0);
	assert_int_equal(wire_send(c, &q, sizeof(q), -1, 0), 0);
	slow_send(c, &q, sizeof(q), s.fd);
	assert_int_equal(raw_reply(c, &reply, &fd), -EPROTO);
	assert_node_responds();
	close(c);
	slow_end(&s);
}

static void slow_descriptor_in_an_empty_record(void **state)
{
	struct slow s = slow_make();
	int c = raw_connect();
	(void)state;
	slow_send(c, "", 0, s.fd);
	assert_node_responds();
	close(c);
	slow_end(&s);
}

/* The process exits before the node has read anything. */
static int slow_exit_body(void *argument)
{
	const struct slow *s = argument;
	struct node_request q = hello_request("default");
	int c = raw_connect();
	assert_true(c >= 0);
	assert_int_equal(wire_send(c, &q, sizeof(q), -1, 0), 0);
	send_with_fds(c, &q, sizeof(q), s->fd, 1);
	return 0;
}

static void slow_descriptor_of_an_exited_process(void **state)
{
	struct slow s = slow_make();
	(void)state;
	assert_int_equal(kill(node, SIGSTOP), 0);
	pid_t child = child_start(slow_exit_body, &s);
	close(s.fd);
	assert_int_equal(child_join(child), 0);
	assert_int_equal(kill(node, SIGCONT), 0);
	assert_node_responds();
	slow_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOSTILE_TEST(doorbell_is_made_by_its_port),
		HOSTILE_TEST(full_doorbell_does_not_block_node),
		HOSTILE_TEST(doorbell_has_one_direction),
		HOSTILE_TEST(doorbell_is_replaced),
		HOSTILE_TEST(descriptors_are_refused),
		HOSTILE_TEST(empty_records_leak_nothing),
		HOSTILE_TEST(slow_descriptor_in_a_request),
		HOSTILE_TEST(slow_descriptor_after_a_violation),
		HOSTILE_TEST(slow_descriptor_in_an_empty_record),
		HOSTILE_TEST(slow_descriptor_of_an_exited_process),
	};
	harness_begin("hostile_descriptor");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
