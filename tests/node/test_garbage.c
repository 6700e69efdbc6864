/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Garbage on the control socket: random bytes, silent and half-closed
 * connections, unread replies, random requests. Meanwhile an ordinary client
 * opens ports, resolves and sends without an error.
 */
#include "garbage.h"
#include "node/client.h"

#include <sys/eventfd.h>

#define FUZZ_MS	       2500
#define FUZZERS	       3
#define SERVICE_MS_MAX 3000
#define CONNECTIONS    2000

/*
 * Ports and memory of a connection that ends without LEAVE are kept until its
 * process exits. The limits keep a fuzzer from exhausting VPIDs, descriptors
 * and the arena.
 */
#define FUZZ_CONNECTIONS 2000

/* ---- ordinary client ---- */

static struct cay_port *anchor;
static pid_t node;
static struct usage usage; /* of the anchor alone */

/* Opens a port, resolves, sends and allocates, within a time limit. */
static void assert_service(void)
{
	uint64_t since = clock_now_ns();
	struct cay_peer *peer;
	struct cay_event e;
	struct cay_port *port = cay_port_open(NULL);
	if (!port)
		fail_msg("cay_port_open: %s", strerror(errno));
	assert_int_equal(
		cay_peer_resolve(port, cay_port_addr(anchor), &peer), 0);
	assert_int_equal(cay_send(port, peer, 5, "served?", 8, 0), 0);
	assert_int_equal(cay_poll(anchor, &e, 1), 1);
	assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
	assert_memory_equal(e.data, "served?", 8);
	cay_release(anchor, &e);
	void *memory = cay_alloc(port, 10000, 0);
	assert_non_null(memory);
	cay_free(port, memory);
	cay_peer_release(peer);
	assert_int_equal(cay_port_close(port), 0);
	assert_true(elapsed_ms(since) < SERVICE_MS_MAX);
}

static int anchor_setup(void **state)
{
	(void)state;
	harness_rename();
	anchor = cay_port_open(NULL);
	node = node_pid();
	if (!anchor || !node)
		return -1;
	usage = usage_now();
	return 0;
}

/* The children have exited: their ports and memory are reclaimed. */
static int anchor_teardown(void **state)
{
	(void)state;
	assert_service();
	assert_usage(&usage);
	assert_int_equal(node_pid(), node);
	return cay_port_close(anchor);
}

/* ---- random bytes ---- */

static int bytes_body(void *argument)
{
	uint64_t seed = *(uint64_t *)argument;
	unsigned char bytes[600];
	for (unsigned i = 0; i < 2000; i++) {
		int s = i % 2 ? raw_connect() : raw_member("default");
		assert_true(s >= 0);
		random_fill(&seed, bytes, sizeof(bytes));
		size_t count = random_below(&seed, sizeof(bytes));
		assert_true(
			send(s, bytes, count, MSG_NOSIGNAL) == (ssize_t)count);
		struct node_reply reply;
		int fd, r = raw_reply(s, &reply, &fd);
		assert_true(r == -EPROTO || r == -ENOTCONN);
		close(s);
	}
	return 0;
}

static void random_bytes(void **state)
{
	uint64_t seed = random_seed();
	(void)state;
	pid_t child = child_start(bytes_body, &seed);
	for (unsigned i = 0; i < 50; i++)
		assert_service();
	assert_int_equal(child_join(child), 0);
}

/* Requests of wrong length. */
static int lengths_body(void *unused)
{
	struct node_request q[2] = { hello_request("default") };
	(void)unused;
	for (size_t count = 1; count < sizeof(q); count += 3) {
		struct node_reply reply;
		int fd, s = raw_connect();
		if (count == sizeof(q[0]))
			count++;
		assert_true(s >= 0);
		assert_true(send(s, q, count, MSG_NOSIGNAL) == (ssize_t)count);
		assert_true(raw_reply(s, &reply, &fd) == -EPROTO);
		close(s);
	}
	return 0;
}

static void wrong_lengths(void **state)
{
	(void)state;
	pid_t child = child_start(lengths_body, NULL);
	assert_service();
	assert_int_equal(child_join(child), 0);
}

/* ---- connections ---- */

static bool fd_limit_raise(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static int silent_body(void *argument)
{
	int *ready = argument;
	assert_true(fd_limit_raise());
	for (unsigned i = 0; i < CONNECTIONS; i++)
		assert_true(raw_connect() >= 0);
	signal_ready(ready[1]);
	pause();
	return 1;
}

static void silent_connections(void **state)
{
	int ready[2];
	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid_t child = child_start(silent_body, ready);
	assert_service();
	assert_true(wait_ready(ready[0]));
	for (unsigned i = 0; i < 10; i++)
		assert_service();
	child_kill(child);
	close(ready[0]);
	close(ready[1]);
}

static int half_closed_body(void *unused)
{
	struct node_request q = hello_request("default");
	struct node_request open = { .kind = NODE_OPEN };
	struct node_reply reply;
	(void)unused;
	for (unsigned i = 0; i < 400; i++) {
		int fd = -1, s = i & 4 ? raw_member("half") : raw_connect();
		assert_true(s >= 0);
		if (i & 4)
			raw_call(s, &open, -1, &reply, NULL);
		if (i & 1)
			wire_send(s, &q, sizeof(q), -1, 0);
		shutdown(s, i & 2 ? SHUT_WR : SHUT_RD);
		raw_reply(s, &reply, &fd);
		if (fd >= 0)
			close(fd);
		close(s);
	}
	return 0;
}

static void half_closed_connections(void **state)
{
	(void)state;
	pid_t child = child_start(half_closed_body, NULL);
	for (unsigned i = 0; i < 20; i++)
		assert_service();
	assert_int_equal(child_join(child), 0);
}

/* Sends requests without reading replies until the socket is full. */
static int unread_body(void *unused)
{
	struct node_request q = { .kind = NODE_STATUS };
	(void)unused;
	for (unsigned i = 0; i < 20; i++) {
		int s = raw_member("default");
		assert_true(s >= 0);
		unsigned sent = 0;
		while (sent < 100000 &&
			wire_send(s, &q, sizeof(q), -1, MSG_DONTWAIT) == 0)
			sent++;
		close(s);
	}
	return 0;
}

static void unread_replies(void **state)
{
	(void)state;
	pid_t child = child_start(unread_body, NULL);
	for (unsigned i = 0; i < 20; i++)
		assert_service();
	assert_int_equal(child_join(child), 0);
}

/* ---- random requests ---- */

static int fuzz_connection(uint64_t *seed, int surplus)
{
	int s = random_below(seed, 3) ? raw_member("default") : raw_connect();
	if (s < 0)
		return s;
	for (int r = 0; r != -ENOTCONN && r != -EPROTO;) {
		struct node_request q;
		struct node_reply reply;
		random_request(
			seed, random_below(seed, 2) ? "default" : "fuzz", &q);
		if (!node_request_has_reply(q.kind))
			r = client_post(s, &q);
		else
			r = raw_call(s, &q,
				random_below(seed, 64) ? -1 : surplus, &reply,
				NULL);
		if (r == -ETIMEDOUT)
			return r;
		if (random_below(seed, 64) == 0)
			break;
	}
	if (random_below(seed, 2))
		raw_leave(s);
	else
		close(s);
	return 0;
}

static int fuzz_body(void *argument)
{
	uint64_t seed = *(uint64_t *)argument;
	uint64_t deadline = clock_after_ns(FUZZ_MS * CLOCK_NS_PER_MS);
	int surplus = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(surplus >= 0);
	for (unsigned i = 0; i < FUZZ_CONNECTIONS; i++) {
		assert_true(fuzz_connection(&seed, surplus) == 0);
		if (clock_passed(deadline))
			break;
	}
	return 0;
}

static void random_requests(void **state)
{
	uint64_t seed = random_seed(), seeds[FUZZERS];
	uint64_t deadline = clock_after_ns(FUZZ_MS * CLOCK_NS_PER_MS);
	pid_t children[FUZZERS];
	(void)state;
	for (unsigned i = 0; i < FUZZERS; i++) {
		seeds[i] = seed + i;
		children[i] = child_start(fuzz_body, &seeds[i]);
	}
	while (!clock_passed(deadline))
		assert_service();
	for (unsigned i = 0; i < FUZZERS; i++)
		assert_int_equal(child_join(children[i]), 0);
}

#define WITH_ANCHOR(test) \
	cmocka_unit_test_setup_teardown(test, anchor_setup, anchor_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ANCHOR(random_bytes),
		WITH_ANCHOR(wrong_lengths),
		WITH_ANCHOR(silent_connections),
		WITH_ANCHOR(half_closed_connections),
		WITH_ANCHOR(unread_replies),
		WITH_ANCHOR(random_requests),
	};
	harness_begin("garbage");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
