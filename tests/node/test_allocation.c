/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client whose n-th allocation fails, for every n from opening a port to
 * closing it: each call fails with the errno that its header names or does
 * without, succeeds when it is tried again, and nothing is left over, neither
 * here nor at the node.
 */
#include "failing.h"

#include <pthread.h>

#include "outside.h"

#define LONG_BYTES 100000
#define N_MAX	   1000 /* more allocations than the scenario has */

static unsigned char source[LONG_BYTES];

/* Is this an error that a failed allocation explains? Then once more. */
static bool again(int r, int expected)
{
	if (r != -expected)
		return false;
	return failing_end() > 0;
}

static struct cay_port *open_port(const struct cay_port_options *o)
{
	struct cay_port *port = cay_port_open(o);
	if (!port && again(-errno, ENOMEM))
		port = cay_port_open(o);
	return port;
}

static int resolve(
	struct cay_port *by, struct cay_port *to, struct cay_peer **peer)
{
	int r = cay_peer_resolve(by, cay_port_addr(to), peer);
	if (again(r, ENOMEM))
		r = cay_peer_resolve(by, cay_port_addr(to), peer);
	return r;
}

/* A thread without a record is told the same as one too many. */
static int send_some(struct cay_port *port, struct cay_peer *peer, uint64_t tag,
	const void *data, size_t length)
{
	int r = cay_send(port, peer, tag, data, length, 0);
	if (again(r, ENOMEM) || again(r, ENOBUFS) || again(r, EAGAIN))
		r = cay_send(port, peer, tag, data, length, 0);
	return r;
}

/* The next event, which must be this one and unharmed. */
static int take(struct cay_port *port, enum cay_event_kind kind, uint64_t tag)
{
	struct cay_event e;
	int r = cay_poll(port, &e, 1);
	if (again(r, ENOMEM))
		r = cay_poll(port, &e, 1);
	NEED(r == 1);
	NEED(e.error == 0);
	NEED(e.kind == kind);
	NEED(e.tag == tag);
	if (kind == CAY_EVENT_MESSAGE)
		NEED(memcmp(e.data, source, e.length) == 0);
	cay_release(port, &e);
	return 0;
}

static int send_long(struct cay_port *a, struct cay_port *b,
	struct cay_peer *peer, uint64_t tag, const void *from)
{
	NEED(send_some(a, peer, tag, from, LONG_BYTES) == 0);
	NEED(take(b, CAY_EVENT_MESSAGE, tag) == 0);
	NEED(take(a, CAY_EVENT_COMPLETE, tag) == 0);
	return 0;
}

/* From cay_alloc() memory, staged, and read where it lies. */
static int send_all_ways(
	struct cay_port *a, struct cay_port *b, struct cay_peer *peer)
{
	NEED(send_some(a, peer, 1, source, 8) == 0);
	NEED(take(b, CAY_EVENT_MESSAGE, 1) == 0);
	NEED(send_some(a, peer, 2, source, 4000) == 0);
	NEED(take(b, CAY_EVENT_MESSAGE, 2) == 0);
	NEED(send_long(a, b, peer, 3, source) == 0);
	NEED(send_long(a, b, peer, 4, source) == 0);
	void *mapped = cay_alloc(a, LONG_BYTES, 0);
	NEED(mapped);
	memcpy(mapped, source, LONG_BYTES);
	NEED(send_long(a, b, peer, 5, mapped) == 0);
	cay_free(a, mapped);
	return 0;
}

/* Whoever sleeps in epoll is woken, if need be by the node. */
static int ring(struct cay_port *a, struct cay_port *b, struct cay_peer *peer)
{
	struct pollfd p = { .fd = cay_port_fd(b), .events = POLLIN };
	NEED(p.fd >= 0);
	NEED(cay_port_arm(b) == 0);
	NEED(send_some(a, peer, 6, source, 8) == 0);
	NEED(poll(&p, 1, 5000) == 1);
	NEED(take(b, CAY_EVENT_MESSAGE, 6) == 0);
	return 0;
}

/* A thread that goes from port to port keeps what it has issued on each. */
static int count(struct cay_port *a, struct cay_port *b)
{
	struct cay_peer *back;
	struct cay_stats stats;
	NEED(resolve(b, a, &back) == 0);
	NEED(send_some(b, back, 7, source, 8) == 0);
	NEED(take(a, CAY_EVENT_MESSAGE, 7) == 0);
	cay_peer_release(back);
	NEED(cay_port_stats(a, &stats) == 0);
	NEED(cay_port_stats(b, &stats) == 0);
	NEED(stats.issued == 1);
	return 0;
}

static int scenario(void)
{
	struct cay_peer *peer;
	struct cay_port *a = open_port(NULL);
	NEED(a);
	struct cay_port *b =
		open_port(&(struct cay_port_options){ .name = "b" });
	NEED(b);
	NEED(resolve(a, b, &peer) == 0);
	NEED(send_all_ways(a, b, peer) == 0);
	NEED(ring(a, b, peer) == 0);
	NEED(count(a, b) == 0);
	cay_peer_release(peer);
	NEED(cay_port_close(b) == 0);
	NEED(cay_port_close(a) == 0);
	return 0;
}

/* ---- every n ---- */

struct attempt {
	long n;
	bool all;
	long failed;
	int result;
};

/* A thread of its own: what belongs to a thread goes when it exits. */
static void *attempt_run(void *argument)
{
	struct attempt *a = argument;
	failing_begin(a->n, a->all);
	a->result = scenario();
	a->failed = failing_end();
	return NULL;
}

static void attempt(struct attempt *a)
{
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, attempt_run, a), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	if (a->result != 0)
		fail_msg("allocation %ld%s", a->n,
			a->all ? " and all after it" : "");
}

/* Another process, so that ours can join and leave as often as it likes. */
static int anchor_body(void *argument)
{
	int *ends = argument;
	struct cay_port *port = cay_port_open(NULL);
	NEED(port);
	signal_ready(ends[1]);
	pause();
	return 1;
}

static void every_allocation(bool all)
{
	struct attempt first = { .n = 0 };
	int ends[2], fds;
	harness_rename();
	assert_int_equal(pipe(ends), 0);
	pid_t anchor = child_start(anchor_body, ends);
	assert_true(wait_ready(ends[0]));
	/* Once without failure: what is made only once is there then. */
	attempt(&first);
	struct rest rest = rest_now();
	assert_rest(&rest);
	fds = fd_count(getpid());
	long blocks = atomic_load(&failing.blocks), n = 1;
	for (; n < N_MAX; n++) {
		struct attempt a = { .n = n, .all = all };
		attempt(&a);
		if (atomic_load(&failing.blocks) != blocks)
			fail_msg("allocation %ld: %ld blocks stay", n,
				atomic_load(&failing.blocks) - blocks);
		assert_int_equal(fd_count(getpid()), fds);
		assert_rest(&rest);
		if (a.failed == 0)
			break;
	}
	print_message("%ld allocations\n", n - 1);
	assert_in_range(n, 10, N_MAX - 1);
	child_kill(anchor);
	close(ends[0]);
	close(ends[1]);
}

static void each_allocation_fails_once(void **state)
{
	(void)state;
	every_allocation(false);
}

static void each_and_all_after_it_fail(void **state)
{
	(void)state;
	every_allocation(true);
}

/* ---- a long life ---- */

static void *lives_run(void *argument)
{
	long *bytes = argument;
	for (unsigned i = 0; i < 300; i++) {
		if (scenario() != 0)
			return NULL;
		if (i == 10)
			bytes[0] = atomic_load(&failing.bytes);
	}
	bytes[1] = atomic_load(&failing.bytes);
	return NULL;
}

/* One thread that comes and goes for ever does not grow. */
static void joining_often_takes_no_more_memory(void **state)
{
	long bytes[2] = { 0, -1 };
	pthread_t thread;
	(void)state;
	harness_rename();
	assert_int_equal(pthread_create(&thread, NULL, lives_run, bytes), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_not_equal(bytes[1], -1);
	if (bytes[1] != bytes[0])
		fail_msg("%ld bytes more after 289 times", bytes[1] - bytes[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation_fails_once),
		cmocka_unit_test(each_and_all_after_it_fail),
		cmocka_unit_test(joining_often_takes_no_more_memory),
	};
	harness_begin("allocation");
	for (unsigned i = 0; i < LONG_BYTES; i++)
		source[i] = (unsigned char)(i * 7 + i / 256);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
