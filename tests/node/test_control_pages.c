/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A realm whose control blocks have a page each: ports of two processes
 * exchange messages and access memory, and a killed process is repaired.
 */
#include <sys/mman.h>

#include "node/node.h"
#include "outside.h"

#define HEAP_BYTES (64ull << 20)
#define MESSAGES   1000

static int serve_body(void *unused)
{
	struct node_options o = { .name = harness_name,
		.arena_bytes = ARENA_SIZE_FOR(HEAP_BYTES, ARENA_STRIDE_PAGE),
		.control_stride = ARENA_STRIDE_PAGE };
	(void)unused;
	return -node_serve(&o);
}

static struct cay_event event_next(struct cay_port *port)
{
	struct cay_event e;
	while (cay_poll(port, &e, 1) == 0)
		assert_int_equal(cay_wait(port, cay_deadline_s(20)), 0);
	return e;
}

/* Sends to the named port until it is killed. */
static int sender_body(void *unused)
{
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *peer = NULL;
	(void)unused;
	assert_non_null(port);
	assert_int_equal(
		cay_peer_lookup(port, "receiver", cay_deadline_s(20), &peer),
		0);
	for (uint64_t i = 0; i < MESSAGES; i++)
		while (cay_send(port, peer, i, &i, sizeof(i), 0) == -EAGAIN)
			clock_nap_ns(CLOCK_NS_PER_MS);
	pause();
	return 1;
}

/* The header has the stride, and the controls follow the heap. */
static void assert_header(void)
{
	struct arena_header h;
	struct node_request q = hello_request("default");
	struct node_reply reply;
	int s = raw_connect(), fd = -1;
	assert_int_equal(raw_call(s, &q, -1, &reply, &fd), 0);
	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(arena_header_valid(&h, reply.hello.arena_bytes), 0);
	assert_int_equal(h.control_stride, ARENA_STRIDE_PAGE);
	assert_int_equal(h.heap_end, ARENA_HEAP_OFFSET + HEAP_BYTES);
	assert_int_equal(h.control_offset[0], h.heap_end);
	close(fd);
	raw_leave(s);
}

static void ports_work(void **state)
{
	struct cay_port_options o = { .name = "receiver",
		.flags = CAY_PORT_TELL_GONE };
	(void)state;
	server_start(serve_body, NULL);
	struct cay_port *port = cay_port_open(&o);
	assert_non_null(port);
	assert_header();
	pid_t sender = child_start(sender_body, NULL);
	for (uint64_t i = 0; i < MESSAGES; i++) {
		struct cay_event e = event_next(port);
		assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
		assert_int_equal(e.tag, i);
		assert_memory_equal(e.data, &i, sizeof(i));
		cay_release(port, &e);
	}
	child_kill(sender);
	struct cay_event e = event_next(port);
	assert_int_equal(e.kind, CAY_EVENT_GONE);
	cay_release(port, &e);
	assert_int_equal(cay_port_close(port), 0);
	server_join();
}

/* Memory of cay_alloc() up to the end of the heap, which controls follow. */
static void heap_ends_before_the_controls(void **state)
{
	(void)state;
	server_start(serve_body, NULL);
	struct cay_port *port = cay_port_open(NULL), *other;
	assert_non_null(port);
	unsigned blocks = 0;
	unsigned char *last;
	while ((last = cay_alloc(port, 1 << 20, 0)) != NULL) {
		memset(last, 0xff, 1 << 20);
		blocks++;
	}
	assert_in_range(blocks, 1, HEAP_BYTES >> 20);
	other = port_open_small();
	if (other)
		assert_int_equal(cay_port_close(other), 0);
	struct node_status s;
	assert_int_equal(status_get(&s), 0);
	assert_int_equal(s.heap_bytes, HEAP_BYTES);
	assert_int_equal(cay_port_close(port), 0);
	server_join();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_work),
		cmocka_unit_test(heap_ends_before_the_controls),
	};
	harness_begin("control_pages");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
