/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocation failures in a client: for every n, the n-th allocation between
 * opening and closing a port fails. Each call succeeds anyway, or fails with a
 * documented error and succeeds when it is retried. Neither the client nor the
 * node leaks anything.
 */
#include "failing.h"

#include <pthread.h>

#include "outside.h"

#define LONG_BYTES	100000
#define ALLOCATIONS_MAX 1000 /* exceeds the allocations of the scenario */

static unsigned char source[LONG_BYTES];

/*
 * Returns true if the call failed with the expected error because of an
 * injected failure. Disables further failures.
 */
static bool alloc_failed(int r, int expected)
{
	if (r != -expected)
		return false;
	return failing_end() > 0;
}

static struct cay_port *open_retry(const struct cay_port_options *o)
{
	struct cay_port *port = cay_port_open(o);
	if (!port && alloc_failed(-errno, ENOMEM))
		port = cay_port_open(o);
	return port;
}

static int resolve_retry(
	struct cay_port *by, struct cay_port *to, struct cay_peer **peer)
{
	int r = cay_peer_resolve(by, cay_port_addr(to), peer);
	if (alloc_failed(r, ENOMEM))
		r = cay_peer_resolve(by, cay_port_addr(to), peer);
	return r;
}

/* ENOBUFS: the thread has no op record, as if there were too many threads. */
static int send_retry(struct cay_port *port, struct cay_peer *peer,
	uint64_t tag, const void *data, size_t length, unsigned flags)
{
	int r = cay_send(port, peer, tag, data, length, flags);
	if (alloc_failed(r, ENOMEM) || alloc_failed(r, ENOBUFS) ||
		alloc_failed(r, EAGAIN))
		r = cay_send(port, peer, tag, data, length, flags);
	return r;
}

/* Polls one event and checks its kind, tag and data. */
static int expect_event(
	struct cay_port *port, enum cay_event_kind kind, uint64_t tag)
{
	struct cay_event e;
	int r = cay_poll(port, &e, 1);
	if (alloc_failed(r, ENOMEM))
		r = cay_poll(port, &e, 1);
	assert_true(r == 1);
	assert_true(e.error == 0);
	assert_true(e.kind == kind);
	assert_true(e.tag == tag);
	if (kind == CAY_EVENT_MESSAGE)
		assert_true(memcmp(e.data, source, e.length) == 0);
	cay_release(port, &e);
	return 0;
}

static int send_borrowed(struct cay_port *a, struct cay_port *b,
	struct cay_peer *peer, uint64_t tag, const void *from)
{
	assert_true(
		send_retry(a, peer, tag, from, LONG_BYTES, CAY_BORROW) == 0);
	assert_true(expect_event(b, CAY_EVENT_MESSAGE, tag) == 0);
	assert_true(expect_event(a, CAY_EVENT_COMPLETE, tag) == 0);
	return 0;
}

/*
 * Inline, through the RDR, copied, borrowed from ordinary and cay_alloc()
 * memory.
 */
static int send_all_sizes(
	struct cay_port *a, struct cay_port *b, struct cay_peer *peer)
{
	assert_true(send_retry(a, peer, 1, source, 8, 0) == 0);
	assert_true(expect_event(b, CAY_EVENT_MESSAGE, 1) == 0);
	assert_true(send_retry(a, peer, 2, source, 4000, 0) == 0);
	assert_true(expect_event(b, CAY_EVENT_MESSAGE, 2) == 0);
	assert_true(send_retry(a, peer, 8, source, LONG_BYTES, 0) == 0);
	assert_true(expect_event(b, CAY_EVENT_MESSAGE, 8) == 0);
	assert_true(send_borrowed(a, b, peer, 3, source) == 0);
	assert_true(send_borrowed(a, b, peer, 4, source) == 0);
	void *mapped = cay_alloc(a, LONG_BYTES, 0);
	if (!mapped && alloc_failed(-errno, ENOMEM))
		mapped = cay_alloc(a, LONG_BYTES, 0);
	assert_true(mapped);
	memcpy(mapped, source, LONG_BYTES);
	assert_true(send_borrowed(a, b, peer, 5, mapped) == 0);
	cay_free(a, mapped);
	return 0;
}

/* The node rings the doorbell if the sender cannot. */
static int wake_up(
	struct cay_port *a, struct cay_port *b, struct cay_peer *peer)
{
	struct pollfd p = { .fd = cay_port_fd(b), .events = POLLIN };
	assert_true(p.fd >= 0);
	assert_true(cay_port_arm(b) == 0);
	assert_true(send_retry(a, peer, 6, source, 8, 0) == 0);
	assert_true(poll(&p, 1, 5000) == 1);
	assert_true(expect_event(b, CAY_EVENT_MESSAGE, 6) == 0);
	return 0;
}

/* Issued operations are counted per port, not per thread. */
static int count_issued(struct cay_port *a, struct cay_port *b)
{
	struct cay_peer *back;
	struct cay_stats stats;
	assert_true(resolve_retry(b, a, &back) == 0);
	assert_true(send_retry(b, back, 7, source, 8, 0) == 0);
	assert_true(expect_event(a, CAY_EVENT_MESSAGE, 7) == 0);
	cay_peer_release(back);
	assert_true(cay_port_stats(a, &stats) == 0);
	assert_true(cay_port_stats(b, &stats) == 0);
	assert_true(stats.issued == 1);
	return 0;
}

static int scenario(void)
{
	struct cay_peer *peer;
	struct cay_port *a = open_retry(NULL);
	assert_true(a);
	struct cay_port *b =
		open_retry(&(struct cay_port_options){ .name = "b" });
	assert_true(b);
	assert_true(resolve_retry(a, b, &peer) == 0);
	assert_true(send_all_sizes(a, b, peer) == 0);
	assert_true(wake_up(a, b, peer) == 0);
	assert_true(count_issued(a, b) == 0);
	cay_peer_release(peer);
	assert_true(cay_port_close(b) == 0);
	assert_true(cay_port_close(a) == 0);
	return 0;
}

/* ---- failures ---- */

struct attempt {
	long n;
	bool all;
	long failed;
	int result;
};

/* Runs in a separate thread, whose exit frees per-thread state. */
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
			a->all ? " and all later ones" : "");
}

/* Keeps the node running while the test process joins and leaves. */
static int anchor_body(void *unused)
{
	(void)unused;
	assert_true(cay_port_open(NULL));
	child_ready();
	pause();
	return 1;
}

static void fail_every_allocation(bool all)
{
	struct attempt first = { .n = 0 };
	harness_rename();
	pid_t anchor = child_start_ready(anchor_body, NULL);
	/* One run without failures makes the one-time allocations. */
	attempt(&first);
	struct usage usage = usage_now();
	assert_usage(&usage);
	int fds = fd_count(getpid());
	long blocks = atomic_load(&failing.blocks), n = 1;
	for (; n < ALLOCATIONS_MAX; n++) {
		struct attempt a = { .n = n, .all = all };
		attempt(&a);
		if (atomic_load(&failing.blocks) != blocks)
			fail_msg("allocation %ld: %ld blocks leaked", n,
				atomic_load(&failing.blocks) - blocks);
		assert_int_equal(fd_count(getpid()), fds);
		assert_usage(&usage);
		if (a.failed == 0)
			break;
	}
	print_message("%ld allocations\n", n - 1);
	assert_in_range(n, 10, ALLOCATIONS_MAX - 1);
	child_kill(anchor);
}

static void single_allocation_failure(void **state)
{
	(void)state;
	fail_every_allocation(false);
}

static void allocation_failure_until_reset(void **state)
{
	(void)state;
	fail_every_allocation(true);
}

/* ---- joining repeatedly ---- */

static void *rejoin_run(void *argument)
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

static void rejoining_does_not_leak_memory(void **state)
{
	long bytes[2] = { 0, -1 };
	pthread_t thread;
	(void)state;
	harness_rename();
	assert_int_equal(pthread_create(&thread, NULL, rejoin_run, bytes), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_not_equal(bytes[1], -1);
	if (bytes[1] != bytes[0])
		fail_msg("%ld bytes leaked in 289 runs", bytes[1] - bytes[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_allocation_failure),
		cmocka_unit_test(allocation_failure_until_reset),
		cmocka_unit_test(rejoining_does_not_leak_memory),
	};
	harness_begin("allocation");
	for (unsigned i = 0; i < LONG_BYTES; i++)
		source[i] = (unsigned char)(i * 7 + i / 256);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
