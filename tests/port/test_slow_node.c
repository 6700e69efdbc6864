/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node that does not reply because it is stopped, as one that gets no
 * processor time: calls keep their deadlines, nothing that they
 * have requested remains, and the ports work when the node continues.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "harness.h"
#include "status.h"

static void node_stop(void)
{
	assert_int_equal(kill(node_process(node_name()), SIGSTOP), 0);
}

static void node_continue(void)
{
	assert_int_equal(kill(node_process(node_name()), SIGCONT), 0);
}

static void *continue_later(void *seconds)
{
	nap_ns((uint64_t)(uintptr_t)seconds * NS_PER_S);
	node_continue();
	return NULL;
}

/* Stops the node for so long, in the background. */
static pthread_t node_stop_for(unsigned seconds)
{
	pthread_t thread;
	node_stop();
	assert_int_equal(pthread_create(&thread, NULL, continue_later,
				 (void *)(uintptr_t)seconds),
		0);
	return thread;
}

/* The node reads the status request on another socket than the releases. */
static void peers_released(void)
{
	uint64_t deadline = soon();
	while (status_process(getpid()).peers)
		assert_true(now_ns() < deadline);
}

static void lookup_works(struct cay_port *port, const char *name)
{
	struct cay_peer *peer;
	assert_int_equal(cay_peer_lookup(port, name, soon(), &peer), 0);
	cay_peer_release(peer);
}

/* The reply comes after the deadline: its entry is released. */
static void a_deadline_is_kept(void **state)
{
	struct cay_port *port = open_named("one"), *other = open_named("two");
	struct cay_peer *peer = NULL;
	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		node_stop();
		uint64_t begin = now_ns();
		assert_int_equal(cay_peer_lookup(port, "two",
					 cay_deadline_ms(100), &peer),
			-ETIMEDOUT);
		assert_true(now_ns() - begin >= 100 * NS_PER_MS);
		assert_true(peer == NULL);
		node_continue();
	}
	assert_int_equal(port_stats(port).node_alive, 1);
	lookup_works(port, "two");
	peers_released();
	close_port(other);
	close_port(port);
	assert_int_equal(status_settled().ports, 0);
}

/* Longer than any reply may take of a node that runs. */
static void a_long_deadline_outlasts_the_stop(void **state)
{
	struct cay_port *port = open_named("one"), *other = open_named("two");
	struct cay_peer *peer;
	(void)state;
	pthread_t thread = node_stop_for(12);
	assert_int_equal(
		cay_peer_lookup(port, "two", cay_deadline_s(100), &peer), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(cay_send(port, peer, 5, NULL, 0, 0), 0);
	expect_message(other, 5, 0, 0);
	cay_peer_release(peer);
	peers_released();
	close_port(other);
	close_port(port);
}

/* What is made for calls that have given up is freed. */
static void requests_without_a_reply_are_undone(void **state)
{
	struct cay_port *port = open_named("one");
	(void)state;
	uint64_t before = status_process(getpid()).alloc_bytes;
	node_stop();
	errno = 0;
	assert_true(cay_alloc(port, 10000, 0) == NULL && errno == ETIMEDOUT);
	struct cay_port_options two = { .name = "two" };
	errno = 0;
	assert_true(cay_port_open(&two) == NULL && errno == ETIMEDOUT);
	node_continue();
	lookup_works(port, "one");
	assert_int_equal(status_process(getpid()).alloc_bytes, before);
	/* The name is free again. */
	struct cay_port *other = open_named("two");
	close_port(other);
	assert_int_equal(status_settled().ports, 1);
	close_port(port);
}

static void sender(struct child *parent, void *unused)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer = open_peer_named(port, "one");
	(void)unused;
	child_send(parent, 1);
	while (child_receive(parent)) {
		for (unsigned m = 0; m < 20; m++)
			assert_int_equal(
				cay_send(port, peer, m, NULL, 0, 0), 0);
		child_send(parent, 1);
	}
	cay_peer_release(peer);
	close_port(port);
}

/* A sender does not wait for the node to wake a receiver. */
static void the_node_rings_later(void **state)
{
	struct cay_port *port = open_named("one");
	struct child child;
	struct pollfd p = { .events = POLLIN };
	(void)state;
	p.fd = cay_port_fd(port);
	assert_true(p.fd >= 0);
	child_start(&child, sender, NULL);
	child_receive(&child); /* resolved */
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(cay_port_arm(port), 0);
		node_stop();
		child_send(&child, 1);
		child_receive(&child); /* sent */
		node_continue();
		assert_int_equal(poll(&p, 1, (int)(TIMEOUT_NS / NS_PER_MS)), 1);
		for (unsigned m = 0; m < 20; m++)
			expect_message(port, m, 0, 0);
	}
	child_send(&child, 0);
	child_join(&child);
	close_port(port);
}

/* ---- names without waiting ---- */

static struct cay_peer *expect_resolved(
	struct cay_port *port, const void *data, int error)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, CAY_EVENT_RESOLVED);
	assert_int_equal(e.error, error);
	assert_true(e.tag == (uintptr_t)data);
	assert_true((e.handle == NULL) == (error != 0));
	if (e.handle) {
		assert_int_equal(e.peer.vpid, cay_peer_addr(e.handle).vpid);
		assert_true(cay_peer_data(e.handle) == data);
	}
	cay_release(port, &e);
	return e.handle;
}

static void names_are_looked_up_without_waiting(void **state)
{
	struct cay_port *port = open_named("one"), *other = open_named("two");
	static int a, b, c;
	(void)state;
	assert_int_equal(cay_peer_lookup_start(port, NULL, &a), -EINVAL);
	assert_int_equal(cay_peer_lookup_start(port, "", &a), -EINVAL);
	assert_int_equal(cay_peer_lookup_start(NULL, "two", &a), -EINVAL);
	node_stop();
	assert_int_equal(cay_peer_lookup_start(port, "two", &a), 0);
	assert_int_equal(cay_peer_lookup_start(port, "three", &b), 0);
	assert_int_equal(cay_peer_lookup_start(port, "one", &c), 0);
	check_empty(port);
	node_continue();
	struct cay_peer *two = expect_resolved(port, &a, 0);
	expect_resolved(port, &b, CAY_ERROR_TARGET_VPID);
	struct cay_peer *one = expect_resolved(port, &c, 0);
	assert_int_equal(cay_peer_addr(two).vpid, cay_port_addr(other).vpid);
	assert_int_equal(cay_send(port, two, 5, NULL, 0, 0), 0);
	expect_message(other, 5, 0, 0);
	assert_int_equal(cay_send(port, one, 6, NULL, 0, 0), 0);
	expect_message(port, 6, 0, 0);
	uint16_t vpid = cay_peer_addr(two).vpid;
	close_port(other);
	expect_gone(port, vpid);
	cay_peer_release(one);
	cay_peer_release(two);
	peers_released();
	close_port(port);
}

/* A lock that was granted too late is released before the next request. */
static void a_late_lock_is_released(void **state)
{
	struct cay_port *port = open_port(NULL), *owner = open_port(NULL);
	struct cay_peer *peer = open_peer(port, owner);
	struct cay_window *window;
	struct cay_key key;
	(void)state;
	assert_int_equal(cay_window_open(owner, cay_alloc(owner, 4096, 0), 4096,
				 CAY_RIGHT_WRITE, &window),
		0);
	cay_window_key(window, &key);
	node_stop();
	assert_int_equal(cay_window_lock(port, peer, key, cay_deadline_ms(1)),
		-ETIMEDOUT);
	node_continue();
	assert_int_equal(cay_window_lock(port, peer, key, soon()), 0);
	assert_int_equal(cay_window_unlock(port, peer, key), 0);
	assert_int_equal(cay_window_close(window), 0);
	cay_peer_release(peer);
	close_port(owner);
	close_port(port);
	assert_int_equal(status_settled().ports, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_deadline_is_kept),
		TEST(a_long_deadline_outlasts_the_stop),
		TEST(requests_without_a_reply_are_undone),
		TEST(a_late_lock_is_released),
		TEST(the_node_rings_later),
		TEST(names_are_looked_up_without_waiting),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
