/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths that are set up without waiting: beside calls that wait, given up
 * at every step, and while the node does not reply.
 */
#include <signal.h>
#include <unistd.h>

#include "status.h"
#include "ultra.h"

static struct cay_ultra *accept_start(
	struct cay_port *port, struct cay_addr from)
{
	struct cay_ultra *u;
	assert_int_equal(cay_ultra_accept_start(port, from, 0, &u), 0);
	return u;
}

static struct cay_ultra *connect_start(
	struct cay_port *port, struct cay_addr to)
{
	struct cay_ultra *u;
	assert_int_equal(cay_ultra_connect_start(port, to, &u), 0);
	return u;
}

static void finish(struct cay_ultra *u)
{
	uint64_t deadline = soon();
	int r;
	while ((r = cay_ultra_continue(u)) == -EAGAIN)
		assert_true(now_ns() < deadline);
	assert_int_equal(r, 0);
	assert_int_equal(cay_ultra_continue(u), 0);
}

static void expect_no_paths(void)
{
	uint64_t deadline = soon();
	while (status_process(getpid()).paths) {
		assert_true(now_ns() < deadline);
		nap_ns(NS_PER_MS);
	}
}

static void messages_after_both_have_finished(void **state)
{
	(void)state;
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_ultra_status s = { .size = sizeof(s) };
	const void *data;
	char byte;
	struct cay_ultra *out = connect_start(a, cay_port_addr(b));
	/* Nothing is offered yet. */
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(cay_ultra_continue(out), -EAGAIN);
	struct cay_ultra *in = accept_start(b, cay_port_addr(a));
	assert_int_equal(cay_ultra_send(out, 0, "", 0, 0), -EINVAL);
	assert_int_equal(cay_ultra_recv(in, NULL, &byte, 1), -EINVAL);
	assert_int_equal(cay_ultra_peek(in, NULL, &data), -EINVAL);
	cay_ultra_release(in);
	assert_int_equal(cay_ultra_status(in, &s), -EINVAL);
	assert_int_equal(cay_ultra_status(out, &s), -EINVAL);
	assert_int_equal(cay_wait(b, 0), -EAGAIN);
	finish(in);
	finish(out);
	for (uint64_t i = 0; i < 2000; i++) {
		assert_int_equal(ultra_send_number(out, i, i % 49, 0), 0);
		assert_int_equal(ultra_recv_number(in, i), i % 49);
	}
	assert_int_equal(cay_ultra_close(out), 0);
	uint64_t deadline = soon();
	while (ultra_recv_number(in, 0) == -EAGAIN)
		assert_true(now_ns() < deadline);
	assert_int_equal(cay_ultra_close(in), 0);
	expect_no_paths();
	close_port(a);
	close_port(b);
}

/* Other calls receive the replies meanwhile, in their order. */
static void beside_calls_that_wait(void **state)
{
	(void)state;
	struct cay_port *a = open_port(NULL), *b = open_named("named");
	struct cay_ultra *in[4], *out[4];
	struct cay_peer *peer;
	for (unsigned i = 0; i < COUNT(in); i++) {
		in[i] = accept_start(b, cay_port_addr(a));
		cay_ultra_continue(in[i]);
		peer = open_peer_named(a, "named");
		cay_peer_release(peer);
	}
	for (unsigned i = 0; i < COUNT(in); i++)
		finish(in[i]);
	for (unsigned i = 0; i < COUNT(in); i++) {
		out[i] = connect_start(a, cay_port_addr(b));
		cay_ultra_continue(out[i]);
		peer = open_peer_named(a, "named");
		cay_peer_release(peer);
	}
	for (unsigned i = 0; i < COUNT(in); i++) {
		finish(out[i]);
		assert_int_equal(ultra_send_number(out[i], i, 8, 0), 0);
		assert_int_equal(ultra_recv_number(in[i], i), 8);
	}
	/* The ports close their paths. */
	close_port(a);
	close_port(b);
	struct cay_port *c = open_port(NULL);
	expect_no_paths();
	close_port(c);
}

/* Gives up after so many calls that have found no reply, and some that have. */
static void given_up(unsigned naps, bool origin, bool port)
{
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_ultra *in = NULL, *u;
	if (origin)
		in = ultra_accept(b, cay_port_addr(a), 0);
	u = origin ? connect_start(a, cay_port_addr(b))
		   : accept_start(b, cay_port_addr(a));
	for (unsigned i = 0; i < naps; i++) {
		cay_ultra_continue(u);
		nap_ns(NS_PER_MS);
	}
	if (!port)
		assert_int_equal(cay_ultra_close(u), 0);
	if (in && naps > 1) {
		uint64_t deadline = soon();
		if (port)
			close_port(a);
		/* It was connected, and so it ends. */
		while (ultra_recv_number(in, 0) != -EPIPE)
			assert_true(now_ns() < deadline);
		if (port)
			a = open_port(NULL);
	}
	if (in)
		assert_int_equal(cay_ultra_close(in), 0);
	close_port(a);
	close_port(b);
	struct cay_port *c = open_port(NULL);
	expect_no_paths();
	close_port(c);
}

static void given_up_at_every_step(void **state)
{
	(void)state;
	for (unsigned naps = 0; naps < 6; naps++)
		for (unsigned i = 0; i < 4; i++)
			given_up(naps, i & 1, i & 2);
}

/* ---- a node that does not reply ---- */

static void node_signal(int signal)
{
	assert_int_equal(kill(node_process(node_name()), signal), 0);
}

static void no_call_waits_for_the_node(void **state)
{
	(void)state;
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_ultra *kept = accept_start(b, cay_port_addr(a));
	finish(kept);
	node_signal(SIGSTOP);
	/* Each would return after the node continues, and so never. */
	struct cay_ultra *in[200];
	for (unsigned i = 0; i < COUNT(in); i++) {
		in[i] = accept_start(b, cay_port_addr(a));
		for (unsigned n = 0; n < 10; n++)
			assert_int_equal(cay_ultra_continue(in[i]), -EAGAIN);
	}
	for (unsigned i = 1; i < COUNT(in); i++)
		assert_int_equal(cay_ultra_close(in[i]), 0);
	assert_int_equal(cay_ultra_close(kept), 0);
	node_signal(SIGCONT);
	finish(in[0]);
	uint64_t deadline = soon();
	while (status_process(getpid()).paths != 1) {
		/* Later calls undo what was left. */
		cay_peer_release(open_peer(a, b));
		assert_true(now_ns() < deadline);
	}
	assert_int_equal(cay_ultra_close(in[0]), 0);
	close_port(a);
	close_port(b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(messages_after_both_have_finished),
		TEST(beside_calls_that_wait),
		TEST(given_up_at_every_step),
		TEST(no_call_waits_for_the_node),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
