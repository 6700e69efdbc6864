/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Death of either side of an ULTRA path, and hostile sides: all that was sent
 * is received, then -EPIPE, then GONE; a side that scribbles over its memory
 * harms only its path.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "port/ultra.h"
#include "status.h"
#include "ultra.h"

struct plan {
	struct cay_addr to;
	uint64_t messages;
	bool hostile;
};

/* Scribbles over memory until it is killed. */
static void scribble(void *memory, size_t bytes)
{
	struct random random = { (uint64_t)getpid() };
	uint64_t *word = memory;
	for (;;)
		word[random_below(&random, bytes / 8)] =
			random_below(&random, 4)
				? random_next(&random)
				: random_below(&random, 1 << 20);
}

/* ---- death of the origin ---- */

static void origin_run(struct child *parent, void *argument)
{
	const struct plan *plan = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *out = ultra_connect(port, plan->to);
	child_send(parent, cay_port_addr(port).vpid);
	child_receive(parent);
	for (uint64_t i = 0; i < plan->messages; i++)
		assert_int_equal(ultra_send_number(out, i, 48, 0), 0);
	child_send(parent, 1);
	if (plan->hostile)
		scribble(out->slices, out->slices_bytes);
	child_receive(parent);
}

static void origin_dies_with(uint64_t messages)
{
	struct cay_port *port = open_port(NULL);
	struct plan plan = { cay_port_addr(port), messages, false };
	struct cay_ultra *in = ultra_accept(port, ANY, 64);
	struct child child;
	child_start(&child, origin_run, &plan);
	uint16_t vpid = (uint16_t)child_receive(&child);
	struct cay_peer *peer;
	assert_int_equal(
		cay_peer_resolve(
			port, (struct cay_addr){ plan.to.node, vpid }, &peer),
		0);
	child_send(&child, 1);
	child_receive(&child);
	child_kill(&child);
	/* GONE is held until the path is drained. */
	while (!ultra_status(in).gone)
		nap_ns(NS_PER_MS);
	for (uint64_t i = 0; i < messages; i++) {
		struct cay_event e;
		if (i % 8 == 0)
			nap_ns(NS_PER_MS);
		assert_false(poll_event(port, &e));
		assert_int_equal(cay_wait(port, soon()), 0);
		assert_int_equal(ultra_recv_number(in, i), 48);
	}
	assert_int_equal(ultra_recv_number(in, 0), -EPIPE);
	assert_int_equal(ultra_recv_number(in, 0), -EPIPE);
	assert_int_equal(cay_wait(port, soon()), 0);
	expect_gone(port, vpid);
	check_empty(port);
	assert_int_equal(cay_wait(port, 0), -EAGAIN);
	cay_peer_release(peer);
	cay_ultra_close(in);
	close_port(port);
}

static void origin_dies(void **state)
{
	(void)state;
	origin_dies_with(0);
	origin_dies_with(1);
	origin_dies_with(100);
}

/* Closing the path delivers GONE too. */
static void closing_releases_gone(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct cay_port *origin = open_port(NULL);
	struct cay_ultra *in = ultra_accept(port, cay_port_addr(origin), 64);
	struct cay_ultra *out = ultra_connect(origin, cay_port_addr(port));
	struct cay_peer *peer = open_peer(port, origin);
	struct cay_event e;
	assert_int_equal(ultra_send_number(out, 1, 8, 0), 0);
	close_port(origin);
	assert_false(poll_event(port, &e));
	assert_int_equal(cay_ultra_close(in), 0);
	expect_gone(port, cay_peer_addr(peer).vpid);
	cay_peer_release(peer);
	close_port(port);
}

/* A sleeping target is woken by the death. */
static void death_wakes_the_target(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct plan plan = { cay_port_addr(port), 0, false };
	struct cay_ultra *in = ultra_accept(port, ANY, 64);
	struct child child;
	child_start(&child, origin_run, &plan);
	child_receive(&child);
	child_send(&child, 1);
	child_receive(&child);
	kill(child.pid, SIGKILL);
	assert_int_equal(cay_wait(port, soon()), 0);
	assert_int_equal(ultra_recv_number(in, 0), -EPIPE);
	child_kill(&child);
	close_port(port);
}

/* ---- death of the target ---- */

static void target_run(struct child *parent, void *argument)
{
	const struct plan *plan = argument;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *in = ultra_accept(port, plan->to, 64);
	child_send(parent, cay_port_addr(port).vpid);
	for (uint64_t i = 0; i < plan->messages;) {
		int r = ultra_recv_number(in, i);
		if (r == -EAGAIN)
			assert_int_equal(cay_wait(port, soon()), 0);
		else
			i++;
	}
	child_send(parent, 1);
	if (plan->hostile)
		scribble(&in->in.page->position, 8);
	child_receive(parent);
}

static void target_dies(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct plan plan = { cay_port_addr(port), 2, false };
	struct child child;
	child_start(&child, target_run, &plan);
	struct cay_addr to = { plan.to.node, (uint16_t)child_receive(&child) };
	struct cay_ultra *out = ultra_connect(port, to);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(ultra_send_number(out, i, 48, CAY_ACK), 0);
	child_receive(&child);
	kill(child.pid, SIGKILL);
	for (uint64_t i = 0; i < 4; i++)
		expect_ultra(
			port, i, CAY_ULTRA_ACK, i < 2 ? 0 : CAY_ERROR_GONE, i);
	assert_int_equal(ultra_send_number(out, 5, 48, 0), -EPIPE);
	assert_int_equal(ultra_send_number(out, 5, 48, CAY_ACK), -EPIPE);
	check_empty(port);
	child_kill(&child);
	close_port(port);
}

/* An origin that waits for room learns that there never will be. */
static void target_dies_with_a_full_path(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct plan plan = { cay_port_addr(port), 0, false };
	struct child child;
	child_start(&child, target_run, &plan);
	struct cay_addr to = { plan.to.node, (uint16_t)child_receive(&child) };
	struct cay_ultra *out = ultra_connect(port, to);
	child_receive(&child);
	int r;
	while ((r = ultra_send_number(out, 0, 8, 0)) == 0)
		;
	assert_int_equal(r, -EAGAIN);
	kill(child.pid, SIGKILL);
	assert_int_equal(cay_wait(port, soon()), 0);
	assert_int_equal(ultra_send_number(out, 0, 8, 0), -EPIPE);
	child_kill(&child);
	close_port(port);
}

/* ---- hostile sides ---- */

/* Counts what arrives by a second path and by the port, in order. */
static void hostile_origin(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL), *friend = open_port(NULL);
	struct plan plan = { cay_port_addr(port), 10, true };
	struct cay_ultra *victim = ultra_accept(port, ANY, 64);
	struct child child;
	child_start(&child, origin_run, &plan);
	child_receive(&child);
	struct cay_ultra *in = ultra_accept(port, cay_port_addr(friend), 64);
	struct cay_ultra *out = ultra_connect(friend, cay_port_addr(port));
	struct cay_peer *peer = open_peer(friend, port);
	child_send(&child, 1);
	child_receive(&child);
	for (uint64_t i = 0; i < scaled(200000); i++) {
		unsigned char data[64];
		memset(data, 0xa5, sizeof(data));
		int r = cay_ultra_recv(victim, NULL, data, 48);
		assert_true(
			r == -EAGAIN || r == -EBADMSG || (r >= 0 && r <= 48));
		assert_int_equal(data[48], 0xa5);
		assert_int_equal(ultra_send_number(out, i, 16, 0), 0);
		assert_int_equal(ultra_recv_number(in, i), 16);
		if (i % 64)
			continue;
		assert_int_equal(cay_send(friend, peer, i, NULL, 0, 0), 0);
		expect_message(port, i, 0, 0);
		/* The path pretends to have something: that is all. */
		int w = cay_wait(port, 0);
		assert_true(w == 0 || w == -EAGAIN);
	}
	child_kill(&child);
	assert_int_equal(cay_ultra_close(victim), 0);
	assert_int_equal(ultra_send_number(out, 0, 16, 0), 0);
	assert_int_equal(cay_wait(port, soon()), 0);
	assert_int_equal(ultra_recv_number(in, 0), 16);
	cay_peer_release(peer);
	close_port(friend);
	close_port(port);
}

/* A damaged path is reported once, and does not keep its port awake. */
static void damaged_path(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *in = ultra_accept(port, ANY, 64);
	struct cay_ultra *out = ultra_connect(port, cay_port_addr(port));
	const void *data;
	/* The status of the first slice: too long. */
	uint64_t *status = (uint64_t *)(void *)(out->out.next.base + 56);
	*status = 1ull << CAY_ULTRA_GENERATION_SHIFT | 49;
	assert_int_equal(cay_wait(port, 0), 0);
	assert_int_equal(ultra_recv_number(in, 0), -EBADMSG);
	assert_int_equal(cay_ultra_peek(in, NULL, &data), -EBADMSG);
	assert_int_equal(cay_wait(port, 0), -EAGAIN);
	close_port(port);
}

static void hostile_target(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct plan plan = { cay_port_addr(port), 0, true };
	struct child child;
	child_start(&child, target_run, &plan);
	struct cay_addr to = { plan.to.node, (uint16_t)child_receive(&child) };
	struct cay_ultra *out = ultra_connect(port, to);
	child_receive(&child);
	unsigned damaged = 0;
	for (uint64_t i = 0; i < scaled(200000) || !damaged; i++) {
		int r = ultra_send_number(out, i, 48, 0);
		assert_true(r == 0 || r == -EAGAIN || r == -EBADMSG);
		damaged += r == -EBADMSG;
	}
	child_kill(&child);
	assert_int_equal(cay_ultra_close(out), 0);
	close_port(port);
}

/* A target cannot write the slices, and no one can map them writable again. */
static void protection(void **state)
{
	(void)state;
	struct cay_port *port = open_port(NULL);
	struct cay_ultra *in = ultra_accept(port, ANY, 64);
	struct cay_ultra *out = ultra_connect(port, cay_port_addr(port));
	assert_int_equal(
		mprotect(in->slices, in->slices_bytes, PROT_READ | PROT_WRITE),
		-1);
	assert_int_equal(
		mprotect(out->page, ULTRA_PAGE, PROT_READ | PROT_WRITE), -1);
	assert_int_equal(
		madvise(out->slices, out->slices_bytes, MADV_REMOVE), -1);
	assert_int_equal(madvise(in->page, ULTRA_PAGE, MADV_REMOVE), -1);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(origin_dies),
		TEST(closing_releases_gone),
		TEST(death_wakes_the_target),
		TEST(target_dies),
		TEST(target_dies_with_a_full_path),
		TEST(hostile_origin),
		TEST(damaged_path),
		TEST(hostile_target),
		TEST(protection),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
