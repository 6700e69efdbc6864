/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths within one process: messages of every length in order, full
 * paths, events, receiving in place, and errors.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "status.h"
#include "ultra.h"

/* Two ports and a path from one to the other. */
struct pair {
	struct cay_port *origin, *target;
	struct cay_ultra *out, *in;
};

static struct pair pair_open(size_t slice)
{
	struct pair p = { open_port(NULL), open_port(NULL), NULL, NULL };
	p.in = ultra_accept(p.target, cay_port_addr(p.origin), slice);
	p.out = ultra_connect(p.origin, cay_port_addr(p.target));
	return p;
}

static void pair_close(struct pair *p)
{
	assert_int_equal(cay_ultra_close(p->out), 0);
	assert_int_equal(cay_ultra_close(p->in), 0);
	close_port(p->origin);
	close_port(p->target);
}

static void every_length(size_t slice)
{
	struct pair p = pair_open(slice);
	size_t max = ultra_status(p.out).slice_bytes - CAY_ULTRA_TRAILER;
	uint64_t number = 0;
	for (unsigned round = 0; round < 40; round++)
		for (size_t length = 0; length <= max;
			length += max > 48 ? 61 : 1) {
			assert_int_equal(
				ultra_send_number(p.out, number, length, 0), 0);
			assert_int_equal(
				ultra_recv_number(p.in, number), length);
			number++;
		}
	assert_int_equal(ultra_send_number(p.out, 0, max + 1, 0), -EMSGSIZE);
	assert_int_equal(ultra_recv_number(p.in, 0), -EAGAIN);
	assert_int_equal(ultra_status(p.out).position, number);
	assert_int_equal(ultra_status(p.in).position, number);
	pair_close(&p);
}

static void messages_of_every_length(void **state)
{
	(void)state;
	every_length(0);
	every_length(64);
	every_length(65);
	every_length(512);
	every_length(4096);
}

static void status_of_both_ends(void **state)
{
	(void)state;
	struct cay_port *origin = open_port(NULL), *target = open_port(NULL);
	struct cay_ultra *in = ultra_accept(target, ANY, 100);
	struct cay_ultra_status s = ultra_status(in);
	assert_true(s.target && !s.connected && !s.gone);
	assert_int_equal(s.slice_bytes, 128);
	assert_int_equal(s.peer.vpid, 0);
	assert_true(s.upid != 0);
	struct cay_ultra *out = ultra_connect(origin, cay_port_addr(target));
	struct cay_ultra_status o = ultra_status(out);
	s = ultra_status(in);
	assert_true(s.connected && o.connected && !o.target);
	assert_int_equal(s.peer.vpid, cay_port_addr(origin).vpid);
	assert_int_equal(o.peer.vpid, cay_port_addr(target).vpid);
	assert_int_equal(s.peer_upid, o.upid);
	assert_int_equal(o.peer_upid, s.upid);
	assert_int_equal(o.slices, s.slices);
	assert_int_equal(status_process(getpid()).paths, 2);
	assert_int_equal(cay_ultra_close(in), 0);
	assert_int_equal(status_process(getpid()).paths, 1);
	assert_true(ultra_status(out).gone);
	assert_int_equal(cay_ultra_close(out), 0);
	close_port(origin);
	close_port(target);
}

/* The position is returned lazily, and a full path refuses. */
static void full_path(void **state)
{
	(void)state;
	struct pair p = pair_open(64);
	uint32_t slices = ultra_status(p.out).slices;
	for (unsigned lap = 0; lap < 3; lap++) {
		uint64_t first = lap * (uint64_t)slices;
		for (uint32_t i = 0; i < slices; i++)
			assert_int_equal(
				ultra_send_number(p.out, first + i, 8, 0), 0);
		assert_int_equal(ultra_send_number(p.out, 0, 8, 0), -EAGAIN);
		assert_int_equal(cay_wait(p.origin, 0), -EAGAIN);
		for (uint32_t i = 0; i < slices / 4 - 1; i++)
			assert_int_equal(ultra_recv_number(p.in, first + i), 8);
		assert_int_equal(ultra_status(p.out).returned, first);
		assert_int_equal(ultra_send_number(p.out, 0, 8, 0), -EAGAIN);
		for (uint32_t i = slices / 4 - 1; i < slices; i++)
			assert_int_equal(ultra_recv_number(p.in, first + i), 8);
		assert_int_equal(ultra_status(p.out).returned, first + slices);
		assert_int_equal(cay_wait(p.origin, 0), 0);
		assert_int_equal(cay_wait(p.origin, 0), -EAGAIN);
	}
	assert_int_equal(port_stats(p.origin).refused, 6);
	pair_close(&p);
}

static void events(void **state)
{
	(void)state;
	struct pair p = pair_open(64);
	uint32_t slices = ultra_status(p.out).slices;
	assert_int_equal(ultra_send_number(p.out, 7, 3, CAY_NOTIFY), 0);
	expect_ultra(p.origin, 7, CAY_ULTRA_NOTIFY, 0, 0);
	assert_int_equal(
		ultra_send_number(p.out, 8, 48, CAY_NOTIFY | CAY_ACK), 0);
	expect_ultra(p.origin, 8, CAY_ULTRA_NOTIFY, 0, 1);
	assert_int_equal(ultra_send_number(p.out, 9, 48, CAY_ACK), 0);
	check_empty(p.origin);
	assert_int_equal(ultra_recv_number(p.in, 7), 3);
	check_empty(p.origin);
	/* A message with CAY_ACK is returned at once. */
	assert_int_equal(ultra_recv_number(p.in, 8), 48);
	expect_ultra(p.origin, 8, CAY_ULTRA_ACK, 0, 1);
	check_empty(p.origin);
	assert_int_equal(ultra_recv_number(p.in, 9), 48);
	assert_int_equal(cay_wait(p.origin, soon()), 0);
	expect_ultra(p.origin, 9, CAY_ULTRA_ACK, 0, 2);
	for (uint32_t i = 0; i < slices; i++)
		assert_int_equal(ultra_send_number(p.out, i, 8, 0), 0);
	assert_int_equal(ultra_send_number(p.out, 1, 8, CAY_NOTIFY), -EAGAIN);
	expect_ultra(p.origin, 1, CAY_ULTRA_NOTIFY, CAY_ERROR_NO_RESOURCES,
		slices + 3);
	check_empty(p.origin);
	pair_close(&p);
}

/* As many acknowledgements as slices, many times, then those that are lost. */
static void acknowledgements(void **state)
{
	(void)state;
	struct pair p = pair_open(4096);
	uint32_t slices = ultra_status(p.out).slices;
	uint64_t sent = 0, received = 0, acknowledged = 0;
	struct random random = { 42 };
	while (acknowledged < 2000) {
		uint64_t n = random_below(&random, slices + 1);
		while (n-- && ultra_send_number(p.out, sent, 100, CAY_ACK) == 0)
			sent++;
		n = random_below(&random, slices + 1);
		while (n-- && ultra_recv_number(p.in, received) == 100)
			received++;
		struct cay_event e;
		while (poll_event(p.origin, &e)) {
			assert_int_equal(e.tag, acknowledged++);
			assert_int_equal(e.error, 0);
			cay_release(p.origin, &e);
		}
		assert_int_equal(acknowledged, received);
	}
	while (sent < received + 3) {
		assert_int_equal(
			ultra_send_number(p.out, sent, 100, CAY_ACK), 0);
		sent++;
	}
	assert_int_equal(cay_ultra_close(p.in), 0);
	assert_int_equal(ultra_send_number(p.out, 0, 100, CAY_ACK), -EPIPE);
	while (acknowledged < sent) {
		expect_ultra(p.origin, acknowledged, CAY_ULTRA_ACK,
			CAY_ERROR_GONE, acknowledged);
		acknowledged++;
	}
	check_empty(p.origin);
	assert_int_equal(cay_ultra_close(p.out), 0);
	close_port(p.origin);
	close_port(p.target);
}

/* The origin's end is closed: the promised events come at once. */
static void close_with_acknowledgements(void **state)
{
	(void)state;
	struct pair p = pair_open(64);
	assert_int_equal(ultra_send_number(p.out, 1, 8, CAY_ACK), 0);
	assert_int_equal(ultra_send_number(p.out, 2, 8, CAY_ACK), 0);
	assert_int_equal(ultra_recv_number(p.in, 1), 8);
	assert_int_equal(cay_ultra_close(p.out), 0);
	expect_ultra(p.origin, 1, CAY_ULTRA_ACK, 0, 0);
	expect_ultra(p.origin, 2, CAY_ULTRA_ACK, CAY_ERROR_GONE, 1);
	assert_int_equal(ultra_recv_number(p.in, 2), 8);
	assert_int_equal(ultra_recv_number(p.in, 0), -EPIPE);
	assert_int_equal(cay_ultra_close(p.in), 0);
	close_port(p.origin);
	close_port(p.target);
}

/* Without room for the event in the queue, the message is not sent. */
static void event_without_room(void **state)
{
	(void)state;
	struct cay_port *port = open_small(NULL, 8);
	struct cay_ultra *in = ultra_accept(port, ANY, 64);
	struct cay_ultra *out = ultra_connect(port, cay_port_addr(port));
	int sent = 0, r;
	while ((r = ultra_send_number(out, 0, 8, CAY_NOTIFY)) == 0)
		sent++;
	assert_int_equal(r, -EAGAIN);
	assert_true(sent > 0);
	assert_int_equal(ultra_status(out).position, sent);
	for (int i = 0; i < sent; i++)
		expect_ultra(port, 0, CAY_ULTRA_NOTIFY, 0, (uint64_t)i);
	check_empty(port);
	assert_int_equal(ultra_send_number(out, 0, 8, CAY_NOTIFY), 0);
	cay_ultra_close(out);
	cay_ultra_close(in);
	close_port(port);
}

static void in_place(void **state)
{
	(void)state;
	struct pair p = pair_open(256);
	uint32_t slices = ultra_status(p.out).slices;
	const void *data;
	uint64_t tag;
	cay_ultra_release(p.in);
	assert_int_equal(cay_ultra_peek(p.in, &tag, &data), -EAGAIN);
	for (uint64_t i = 0; i < 3ull * slices; i++) {
		size_t length = i % 241;
		assert_int_equal(ultra_send_number(p.out, i, length, 0), 0);
		assert_int_equal(cay_ultra_peek(p.in, NULL, &data), length);
		assert_int_equal(cay_ultra_peek(p.in, &tag, &data), length);
		assert_int_equal(tag, i);
		assert_int_equal((uintptr_t)data % 8, 0);
		assert_true(content_fits(data, length, i));
		cay_ultra_release(p.in);
		cay_ultra_release(p.in);
	}
	assert_int_equal(ultra_status(p.in).position, 3ull * slices);
	pair_close(&p);
}

static void too_small_a_buffer(void **state)
{
	(void)state;
	struct pair p = pair_open(64);
	char buffer[10];
	assert_int_equal(ultra_send_number(p.out, 5, 11, 0), 0);
	assert_int_equal(cay_ultra_recv(p.in, NULL, buffer, 10), -EMSGSIZE);
	assert_int_equal(cay_ultra_recv(p.in, NULL, NULL, 0), -EMSGSIZE);
	assert_int_equal(cay_ultra_recv(p.in, NULL, NULL, 10), -EFAULT);
	assert_int_equal(ultra_recv_number(p.in, 5), 11);
	assert_int_equal(ultra_send_number(p.out, 6, 0, 0), 0);
	assert_int_equal(cay_ultra_recv(p.in, NULL, NULL, 0), 0);
	pair_close(&p);
}

static void invalid_arguments(void **state)
{
	(void)state;
	struct pair p = pair_open(64);
	struct cay_ultra *u;
	const void *data;
	struct cay_addr addr = cay_port_addr(p.target);
	assert_int_equal(cay_ultra_accept(NULL, ANY, 0, &u), -EINVAL);
	assert_int_equal(cay_ultra_accept(p.target, ANY, 0, NULL), -EFAULT);
	assert_int_equal(cay_ultra_accept(p.target, ANY, 4097, &u), -EINVAL);
	addr.vpid = 60000;
	assert_int_equal(cay_ultra_accept(p.target, addr, 0, &u), -ENXIO);
	assert_int_equal(cay_ultra_connect(p.target, addr, 0, &u), -ENXIO);
	addr.node++;
	assert_int_equal(
		cay_ultra_accept(p.target, addr, 0, &u), -EHOSTUNREACH);
	assert_int_equal(
		cay_ultra_connect(p.target, addr, 0, &u), -EHOSTUNREACH);
	addr = cay_port_addr(p.target);
	assert_int_equal(cay_ultra_connect(p.origin, addr, 0, &u), -EAGAIN);
	assert_int_equal(cay_ultra_connect(p.origin, addr, now_ns() + 1, &u),
		-ETIMEDOUT);
	assert_int_equal(cay_ultra_connect(p.origin, addr, 0, NULL), -EFAULT);
	assert_int_equal(cay_ultra_send(NULL, 0, NULL, 0, 0), -EINVAL);
	assert_int_equal(cay_ultra_send(p.in, 0, NULL, 0, 0), -EINVAL);
	assert_int_equal(cay_ultra_send(p.out, 0, NULL, 1, 0), -EFAULT);
	assert_int_equal(
		cay_ultra_send(p.out, 0, NULL, 0, CAY_BORROW), -EINVAL);
	assert_int_equal(cay_ultra_recv(NULL, NULL, NULL, 0), -EINVAL);
	assert_int_equal(cay_ultra_recv(p.out, NULL, NULL, 0), -EINVAL);
	assert_int_equal(cay_ultra_peek(p.out, NULL, &data), -EINVAL);
	assert_int_equal(cay_ultra_peek(p.in, NULL, NULL), -EFAULT);
	assert_int_equal(cay_ultra_status(p.in, NULL), -EINVAL);
	assert_int_equal(cay_ultra_close(NULL), 0);
	cay_ultra_release(NULL);
	pair_close(&p);
}

/* A certain origin, or any; each path has one origin. */
static void who_may_connect(void **state)
{
	(void)state;
	struct cay_port *a = open_port(NULL), *b = open_port(NULL);
	struct cay_port *target = open_port(NULL);
	struct cay_addr to = cay_port_addr(target);
	struct cay_ultra *from_b = ultra_accept(target, cay_port_addr(b), 64);
	struct cay_ultra *u, *any;
	assert_int_equal(cay_ultra_connect(a, to, 0, &u), -EAGAIN);
	any = ultra_accept(target, ANY, 64);
	/* Its own offer first. */
	struct cay_ultra *b_out = ultra_connect(b, to);
	struct cay_ultra *a_out = ultra_connect(a, to);
	assert_int_equal(cay_ultra_connect(a, to, 0, &u), -EAGAIN);
	assert_int_equal(ultra_send_number(a_out, 1, 8, 0), 0);
	assert_int_equal(ultra_send_number(b_out, 2, 8, 0), 0);
	assert_int_equal(ultra_recv_number(any, 1), 8);
	assert_int_equal(ultra_recv_number(from_b, 2), 8);
	assert_int_equal(ultra_recv_number(any, 1), -EAGAIN);
	/* A named origin that is closed can never connect. */
	struct cay_ultra *never = ultra_accept(target, cay_port_addr(a), 64);
	cay_ultra_close(b_out);
	close_port(a);
	assert_int_equal(ultra_recv_number(never, 0), -EPIPE);
	assert_int_equal(ultra_recv_number(any, 0), -EPIPE);
	assert_int_equal(ultra_recv_number(from_b, 0), -EPIPE);
	/* The port closes the ends that are left. */
	close_port(target);
	close_port(b);
}

/* Another realm needs the target's consent. */
static void across_realms(void **state)
{
	(void)state;
	struct cay_port *target = open_port(NULL);
	struct cay_port *foreign =
		open_port(&(struct cay_port_options){ .realm = "elsewhere" });
	struct cay_addr to = cay_port_addr(target);
	struct cay_ultra *u;
	struct cay_ultra *any = ultra_accept(target, ANY, 64);
	assert_int_equal(cay_ultra_connect(foreign, to, 0, &u), -EAGAIN);
	struct cay_ultra *in = ultra_accept(target, cay_port_addr(foreign), 64);
	struct cay_ultra *out = ultra_connect(foreign, to);
	for (uint64_t i = 0; i < 2000; i++) {
		unsigned flags = i % 3 ? 0 : CAY_ACK;
		assert_int_equal(ultra_send_number(out, i, 40, flags), 0);
		assert_int_equal(ultra_recv_number(in, i), 40);
		if (flags)
			expect_ultra(foreign, i, CAY_ULTRA_ACK, 0, i);
	}
	cay_ultra_close(out);
	assert_int_equal(ultra_recv_number(in, 0), -EPIPE);
	assert_int_equal(ultra_recv_number(any, 0), -EAGAIN);
	cay_ultra_close(in);
	cay_ultra_close(any);
	close_port(foreign);
	close_port(target);
}

static void forked_child(void **state)
{
	(void)state;
	struct pair p = pair_open(64);
	assert_int_equal(ultra_send_number(p.out, 1, 8, 0), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const void *data;
		struct cay_ultra_status s = { .size = sizeof(s) };
		bool right = cay_ultra_send(p.out, 0, NULL, 0, 0) == -ECHILD &&
			     cay_ultra_recv(p.in, NULL, NULL, 0) == -ECHILD &&
			     cay_ultra_peek(p.in, NULL, &data) == -ECHILD &&
			     cay_ultra_status(p.in, &s) == -ECHILD &&
			     cay_ultra_close(p.in) == -ECHILD &&
			     cay_ultra_close(p.out) == -ECHILD;
		_exit(right ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ultra_recv_number(p.in, 1), 8);
	pair_close(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(messages_of_every_length),
		TEST(status_of_both_ends),
		TEST(full_path),
		TEST(events),
		TEST(acknowledgements),
		TEST(close_with_acknowledgements),
		TEST(event_without_room),
		TEST(in_place),
		TEST(too_small_a_buffer),
		TEST(invalid_arguments),
		TEST(who_may_connect),
		TEST(across_realms),
		TEST(forked_child),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
