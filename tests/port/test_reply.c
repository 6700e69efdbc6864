/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles in events, the data pointer of a peer, and cay_reply(). */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "harness.h"
#include "status.h"

/* ---- handles and data ---- */

static void check_next_handle(
	struct cay_port *port, enum cay_event_kind kind, struct cay_peer *peer)
{
	struct cay_event e;
	next_event(port, &e);
	assert_int_equal(e.kind, kind);
	assert_ptr_equal(e.handle, peer);
	cay_release(port, &e);
}

static void event_has_handle_of_resolved_peer(void **state)
{
	static unsigned char data[100];
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_peer *to = open_peer(other, port);
	(void)state;
	assert_int_equal(cay_send(other, to, 1, data, 8, 0), 0);
	check_next_handle(port, CAY_EVENT_MESSAGE, NULL);

	struct cay_peer *back = open_peer(port, other);
	for (size_t length = 8; length <= sizeof(data); length += 92) {
		assert_int_equal(cay_send(other, to, 1, data, length, 0), 0);
		check_next_handle(port, CAY_EVENT_MESSAGE, back);
	}
	assert_int_equal(cay_send(port, back, 1, data, 8, CAY_NOTIFY), 0);
	check_next_handle(port, CAY_EVENT_COMPLETE, back);
	check_next_handle(other, CAY_EVENT_MESSAGE, to);

	cay_peer_release(back);
	assert_int_equal(cay_send(other, to, 1, data, 8, 0), 0);
	check_next_handle(port, CAY_EVENT_MESSAGE, NULL);
	cay_peer_release(to);
	close_port(other);
	close_port(port);
}

/* The oldest handle of a port is in its events; GONE names each once. */
static void event_has_oldest_handle(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_peer *to = open_peer(other, port);
	struct cay_peer *peer[3];
	(void)state;
	for (unsigned i = 0; i < COUNT(peer); i++)
		peer[i] = open_peer(port, other);
	assert_int_equal(cay_send(other, to, 1, NULL, 0, 0), 0);
	check_next_handle(port, CAY_EVENT_MESSAGE, peer[0]);
	cay_peer_release(peer[1]);
	cay_peer_release(peer[0]);
	peer[0] = open_peer(port, other);
	assert_int_equal(cay_send(other, to, 1, NULL, 0, 0), 0);
	check_next_handle(port, CAY_EVENT_MESSAGE, peer[2]);

	assert_int_equal(cay_send(other, to, 1, NULL, 0, 0), 0);
	cay_peer_release(to);
	close_port(other);
	check_next_handle(port, CAY_EVENT_MESSAGE, peer[2]);
	check_next_handle(port, CAY_EVENT_GONE, peer[2]);
	check_next_handle(port, CAY_EVENT_GONE, peer[0]);
	check_empty(port);
	cay_peer_release(peer[0]);
	cay_peer_release(peer[2]);
	close_port(port);
}

static void peer_keeps_data(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *first = open_peer(port, port);
	struct cay_peer *second = open_peer(port, port);
	int mine;
	(void)state;
	assert_null(cay_peer_data(first));
	cay_peer_set_data(first, &mine);
	assert_ptr_equal(cay_peer_data(first), &mine);
	assert_null(cay_peer_data(second));
	cay_peer_set_data(first, NULL);
	assert_null(cay_peer_data(first));
	cay_peer_release(second);
	cay_peer_release(first);
	close_port(port);
}

/* ---- reply ---- */

enum {
	REQUESTS = 5
};

/* Sends requests, the last one long, and waits for the reply to each. */
static void client(struct child *parent, void *unused)
{
	static unsigned char data[20000];
	struct cay_port *port = open_port(NULL);
	struct cay_peer *server = open_peer_named(port, "server");
	(void)parent, (void)unused;
	for (unsigned i = 0; i < REQUESTS; i++) {
		size_t length = i == REQUESTS - 1 ? sizeof(data) : 8 * i;
		content_fill(data, length, i);
		assert_int_equal(
			cay_send_wait(port, server, i, data, length, 0, soon()),
			0);
		struct cay_event e;
		do {
			next_event(port, &e);
			cay_release(port, &e);
		} while (e.kind == CAY_EVENT_COMPLETE);
		assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
		assert_int_equal(e.tag, 1000 + i);
		assert_int_equal(e.length, 2 * sizeof(uint64_t));
		assert_ptr_equal(e.handle, server);
	}
	cay_peer_release(server);
	close_port(port);
}

/* Replies to a message; returns true at the end of a client. */
static bool serve_one(struct cay_port *port)
{
	struct cay_event e;
	next_event(port, &e);
	bool gone = e.kind == CAY_EVENT_GONE;
	if (!gone) {
		uint64_t answer[2] = { e.tag, e.length };
		assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
		/* From the first reply on the port has a handle. */
		assert_true((e.tag == 0) == (e.handle == NULL));
		assert_int_equal(cay_reply(port, &e, 1000 + e.tag, answer,
					 sizeof(answer), 0),
			0);
	} else {
		assert_non_null(e.handle);
		assert_int_equal(cay_reply(port, &e, 0, NULL, 0, 0), -EPIPE);
	}
	cay_release(port, &e);
	return gone;
}

static void replies_reach_unresolved_senders(void **state)
{
	struct cay_port *port = open_named("server");
	struct child clients[3];
	unsigned gone = 0;
	(void)state;
	for (unsigned i = 0; i < COUNT(clients); i++)
		child_start(&clients[i], client, NULL);
	while (gone < COUNT(clients))
		gone += serve_one(port);
	for (unsigned i = 0; i < COUNT(clients); i++)
		child_join(&clients[i]);
	check_empty(port);
	close_port(port);
}

/* The port releases the peers that it has resolved: none is left of four. */
static void peer_table_does_not_fill_up(void **state)
{
	struct cay_port *port =
		open_port(&(struct cay_port_options){ .peers = 4 });
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct cay_port *other = open_port(NULL);
		struct cay_peer *to = open_peer(other, port);
		assert_int_equal(cay_send(other, to, 0, NULL, 0, 0), 0);
		assert_false(serve_one(port));
		check_next_handle(other, CAY_EVENT_MESSAGE, to);
		cay_peer_release(to);
		close_port(other);
		assert_true(serve_one(port));
	}
	close_port(port);
}

/* A handle that cay_reply() made may be used and released like others. */
static void handle_of_reply_can_be_released(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_peer *to = open_peer(other, port);
	struct cay_event e;
	(void)state;
	assert_int_equal(cay_send(other, to, 0, NULL, 0, 0), 0);
	assert_false(serve_one(port));
	assert_int_equal(cay_send(other, to, 1, NULL, 0, 0), 0);
	next_event(port, &e);
	assert_non_null(e.handle);
	assert_int_equal(cay_peer_addr(e.handle).vpid, e.peer.vpid);
	assert_int_equal(cay_send(port, e.handle, 7, NULL, 0, 0), 0);
	cay_peer_release(e.handle);
	cay_release(port, &e);
	assert_int_equal(cay_send(other, to, 0, NULL, 0, 0), 0);
	assert_false(serve_one(port));
	close_port(port);
	cay_peer_release(to);
	close_port(other);
}

static void reply_to_gone_sender_fails(void **state)
{
	struct cay_port *port = open_port(NULL), *other = open_port(NULL);
	struct cay_peer *to = open_peer(other, port);
	struct cay_event e;
	(void)state;
	assert_int_equal(cay_send(other, to, 0, NULL, 0, 0), 0);
	cay_peer_release(to);
	close_port(other);
	next_event(port, &e);
	assert_null(e.handle);
	assert_int_equal(cay_reply(port, &e, 1, NULL, 0, 0), -EPIPE);
	cay_release(port, &e);
	check_empty(port);
	close_port(port);
}

static void reply_checks_arguments(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_event none = { 0 };
	struct cay_event status = { .kind = CAY_EVENT_STATUS };
	struct cay_event foreign = { .kind = CAY_EVENT_MESSAGE,
		.peer = { cay_port_addr(port).node + 1, 1 } };
	struct cay_event self = { .kind = CAY_EVENT_MESSAGE,
		.peer = cay_port_addr(port) };
	(void)state;
	assert_int_equal(cay_reply(port, NULL, 1, NULL, 0, 0), -EINVAL);
	assert_int_equal(cay_reply(port, &none, 1, NULL, 0, 0), -EINVAL);
	assert_int_equal(cay_reply(port, &status, 1, NULL, 0, 0), -EINVAL);
	assert_int_equal(
		cay_reply(port, &foreign, 1, NULL, 0, 0), -EHOSTUNREACH);
	assert_int_equal(cay_reply(port, &self, 1, NULL, 1, 0), -EFAULT);
	assert_int_equal(cay_reply(port, &self, 1, NULL, 0, 1u << 31), -EINVAL);
	close_port(port);
}

/* ---- several consuming threads ---- */

static void *serve_thread(void *argument)
{
	struct cay_port *port = argument;
	struct cay_event e;
	for (;;) {
		assert_int_equal(cay_wait(port, soon()), 0);
		if (cay_poll(port, &e, 1) != 1)
			continue;
		bool end = e.kind == CAY_EVENT_MESSAGE && e.tag == 99;
		if (e.kind == CAY_EVENT_MESSAGE && !end) {
			uint64_t answer[2] = { e.tag, e.length };
			assert_int_equal(cay_reply(port, &e, 1000 + e.tag,
						 answer, sizeof(answer), 0),
				0);
		}
		cay_release(port, &e);
		if (end)
			return NULL;
	}
}

static void threads_reply_on_shared_port(void **state)
{
	struct cay_port *port = open_port(&(struct cay_port_options){
		.name = "server", .flags = CAY_PORT_SHARED });
	struct cay_peer *self = open_peer(port, port);
	struct child clients[4];
	pthread_t threads[3];
	(void)state;
	for (unsigned i = 0; i < COUNT(threads); i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, serve_thread, port),
			0);
	for (unsigned i = 0; i < COUNT(clients); i++)
		child_start(&clients[i], client, NULL);
	for (unsigned i = 0; i < COUNT(clients); i++)
		child_join(&clients[i]);
	for (unsigned i = 0; i < COUNT(threads); i++)
		assert_int_equal(cay_send(port, self, 99, NULL, 0, 0), 0);
	for (unsigned i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	cay_peer_release(self);
	close_port(port);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(event_has_handle_of_resolved_peer),
		TEST(event_has_oldest_handle),
		TEST(peer_keeps_data),
		TEST(replies_reach_unresolved_senders),
		TEST(peer_table_does_not_fill_up),
		TEST(handle_of_reply_can_be_released),
		TEST(reply_to_gone_sender_fails),
		TEST(reply_checks_arguments),
		TEST(threads_reply_on_shared_port),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
