/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of processes: many ports, names, realms and nodes, errors of resolving,
 * and cleanup on close.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "status.h"

/* ---- many ports ---- */

enum {
	PORTS = 300,
	SAMPLE = 10
};

struct ports {
	struct cay_port *port[PORTS];
	struct cay_peer *peer[PORTS][SAMPLE];
	unsigned to[PORTS][SAMPLE];
	unsigned expected[PORTS];
};

static void ports_open(struct ports *c)
{
	struct random r = { 300 };
	for (unsigned i = 0; i < PORTS; i++)
		c->port[i] = open_small(NULL, 16);
	for (unsigned i = 0; i < PORTS; i++)
		for (unsigned j = 0; j < SAMPLE; j++) {
			unsigned to = (unsigned)random_below(&r, PORTS);
			c->to[i][j] = to;
			c->peer[i][j] = open_peer(c->port[i], c->port[to]);
			assert_int_equal(
				cay_peer_path(c->peer[i][j]), CAY_PATH_DIRECT);
		}
}

/* Messages that a port has received so far. */
static void ports_receive(struct ports *c, unsigned i)
{
	struct cay_event e;
	while (poll_event(c->port[i], &e)) {
		assert_int_equal(e.kind, CAY_EVENT_MESSAGE);
		assert_int_equal((uint32_t)e.tag, i);
		assert_int_equal(
			e.peer.vpid, cay_port_addr(c->port[e.tag >> 32]).vpid);
		assert_true(content_fits(e.data, e.length, e.tag));
		cay_release(c->port[i], &e);
		c->expected[i]--;
	}
}

static void ports_send(struct ports *c, unsigned i, unsigned j)
{
	unsigned char data[200];
	unsigned to = c->to[i][j];
	uint64_t tag = (uint64_t)i << 32 | to;
	size_t length = (i + j) % 5 ? 24 : sizeof(data);
	content_fill(data, length, tag);
	int r = cay_send(c->port[i], c->peer[i][j], tag, data, length, 0);
	if (r == -EAGAIN) {
		ports_receive(c, to);
		r = cay_send(c->port[i], c->peer[i][j], tag, data, length, 0);
	}
	assert_int_equal(r, 0);
	c->expected[to]++;
}

static void ports_close(struct ports *c)
{
	for (unsigned i = 0; i < PORTS; i++)
		for (unsigned j = 0; j < SAMPLE; j++)
			cay_peer_release(c->peer[i][j]);
	for (unsigned i = 0; i < PORTS; i++)
		close_port(c->port[i]);
}

static void hundreds_of_ports(void **state)
{
	struct cay_port *last = open_port(NULL);
	struct ports *c = calloc(1, sizeof(*c));
	uint64_t heap_used = status_read().heap_used;
	(void)state;
	ports_open(c);
	for (unsigned repeat = 0; repeat < 5; repeat++)
		for (unsigned i = 0; i < PORTS; i++)
			for (unsigned j = 0; j < SAMPLE; j++)
				ports_send(c, i, j);
	for (unsigned i = 0; i < PORTS; i++) {
		ports_receive(c, i);
		assert_int_equal(c->expected[i], 0);
	}
	ports_close(c);
	free(c);
	assert_int_equal(status_settled().heap_used, heap_used);
	assert_int_equal(status_read().ports, 1);
	close_port(last);
}

/* ---- close ---- */

static void gone_comes_last(void **state)
{
	struct cay_port *a = open_port(NULL), *b = open_named("closing");
	struct cay_peer *to_a = open_peer(b, a), *to_b = open_peer(a, b);
	struct cay_peer *also_b = open_peer(a, b);
	uint16_t vpid = cay_port_addr(b).vpid;
	struct cay_peer *found;
	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(cay_send(b, to_a, i, NULL, 0, 0), 0);
	cay_peer_release(to_a);
	close_port(b);

	assert_int_equal(cay_send(a, to_b, 0, NULL, 0, 0), -EPIPE);
	assert_int_equal(cay_send(a, to_b, 0, "", 1, CAY_NOTIFY), -EPIPE);
	assert_int_equal(cay_send_wait(a, to_b, 0, NULL, 0, 0, soon()), -EPIPE);
	assert_int_equal(cay_peer_lookup(a, "closing", 0, &found), -ENXIO);
	struct cay_addr gone = cay_peer_addr(to_b);
	assert_int_equal(gone.vpid, vpid);
	assert_int_equal(cay_peer_resolve(a, gone, &found), -ENXIO);
	/* The name is free at once for another port. */
	b = open_named("closing");
	assert_true(cay_port_addr(b).vpid != vpid);
	assert_int_equal(cay_send(a, to_b, 0, NULL, 0, 0), -EPIPE);
	check_empty(b);

	for (unsigned i = 0; i < 100; i++)
		expect_message(a, i, 0, 0);
	expect_gone(a, vpid);
	expect_gone(a, vpid); /* resolved twice */
	check_empty(a);
	assert_int_equal(port_stats(a).completed, 0);
	cay_peer_release(to_b);
	cay_peer_release(also_b);
	close_port(a);
	close_port(b);
}

/* A port with a full queue receives GONE as soon as an entry is free. */
static void gone_is_delivered_after_backpressure(void **state)
{
	struct cay_port *a = open_small(NULL, 16), *b = open_port(NULL);
	struct cay_peer *to_b = open_peer(a, b), *to_a = open_peer(b, a);
	uint16_t vpid = cay_port_addr(b).vpid;
	uint64_t sent = 0;
	(void)state;
	while (cay_send(b, to_a, sent, NULL, 0, 0) == 0)
		sent++;
	cay_peer_release(to_a);
	close_port(b);
	for (uint64_t i = 0; i < sent; i++)
		expect_message(a, i, 0, 0);
	expect_gone(a, vpid);
	cay_peer_release(to_b);
	close_port(a);
}

/* ---- names ---- */

static int open_error(const struct cay_port_options *options)
{
	struct cay_port *port = cay_port_open(options);
	int e = errno;
	if (port)
		close_port(port);
	return port ? 0 : e;
}

static int name_error(const char *name)
{
	return open_error(&(struct cay_port_options){ .name = name });
}

static void names(void **state)
{
	char longest[64], longer[65];
	struct cay_port *port = open_named("taken");
	struct cay_peer *peer = NULL;
	(void)state;
	memset(longest, 'n', 63);
	memset(longer, 'n', 64);
	longest[63] = longer[64] = 0;
	assert_int_equal(name_error("taken"), EEXIST);
	assert_int_equal(name_error("Taken"), 0);
	assert_int_equal(name_error(longest), 0);
	assert_int_equal(name_error(longer), EINVAL);
	assert_int_equal(name_error(""), EINVAL);
	assert_int_equal(name_error("a b"), EINVAL);
	assert_int_equal(name_error("a/b"), EINVAL);
	assert_int_equal(name_error("\xc3\xa9"), EINVAL);
	assert_int_equal(name_error("a.b_c:d@e+f-0"), 0);
	assert_int_equal(cay_peer_lookup(port, NULL, 0, &peer), -EINVAL);
	assert_int_equal(cay_peer_lookup(port, "", 0, &peer), -EINVAL);
	assert_int_equal(cay_peer_lookup(port, longer, soon(), &peer), -EINVAL);
	assert_int_equal(cay_peer_lookup(port, "nobody", 0, &peer), -ENXIO);
	assert_int_equal(cay_peer_lookup(port, "nobody", 1, &peer), -ETIMEDOUT);
	uint64_t deadline = now_ns() + 30 * NS_PER_MS;
	assert_int_equal(
		cay_peer_lookup(port, "nobody", deadline, &peer), -ETIMEDOUT);
	assert_true(now_ns() >= deadline);
	assert_true(peer == NULL);
	close_port(port);
}

static void late_child(struct child *parent, void *unused)
{
	(void)unused;
	child_receive(parent);
	nap_ns(50 * NS_PER_MS);
	struct cay_port *port = open_named("late");
	expect_message(port, 1, 0, 0);
	close_port(port);
}

static void lookup_waits_for_the_name(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *peer;
	struct child child;
	(void)state;
	child_start(&child, late_child, NULL);
	assert_int_equal(cay_peer_lookup(port, "late", 0, &peer), -ENXIO);
	child_send(&child, 1);
	assert_int_equal(cay_peer_lookup(port, "late", CAY_FOREVER, &peer), 0);
	assert_int_equal(cay_send(port, peer, 1, NULL, 0, 0), 0);
	child_join(&child);
	cay_peer_release(peer);
	close_port(port);
}

/* ---- realms and nodes ---- */

static void realms_are_separate(void **state)
{
	struct cay_port_options other = { .realm = "other", .name = "same" };
	struct cay_port *a = open_named("same"), *b = open_port(&other);
	struct cay_peer *peer = NULL;
	(void)state;
	assert_int_equal(cay_port_addr(a).node, cay_port_addr(b).node);
	assert_true(cay_port_addr(a).vpid != cay_port_addr(b).vpid);
	assert_int_equal(cay_peer_resolve(a, cay_port_addr(b), &peer), -EACCES);
	assert_int_equal(cay_peer_resolve(b, cay_port_addr(a), &peer), -EACCES);
	assert_true(peer == NULL);
	/* A name is looked up in the realm of the caller. */
	peer = open_peer_named(b, "same");
	assert_int_equal(cay_peer_addr(peer).vpid, cay_port_addr(b).vpid);
	cay_peer_release(peer);
	assert_int_equal(
		open_error(&(struct cay_port_options){ .realm = "a b" }),
		EINVAL);
	setenv("CAY_REALM", "other", 1);
	assert_int_equal(name_error("same"), EEXIST);
	struct cay_port *c = open_port(NULL);
	unsetenv("CAY_REALM");
	peer = open_peer(c, b);
	cay_peer_release(peer);
	close_port(a);
	close_port(b);
	close_port(c);
}

static void nodes_are_separate(void **state)
{
	char name[64];
	snprintf(name, sizeof(name), "%s-other", node_name());
	struct cay_port_options other = { .node = name };
	struct cay_port *a = open_port(NULL), *b = open_port(&other);
	struct cay_addr to = cay_port_addr(b);
	struct cay_peer *peer = NULL;
	(void)state;
	assert_true(cay_port_addr(a).node != to.node);
	assert_int_equal(cay_peer_resolve(a, to, &peer), -EHOSTUNREACH);
	to = cay_port_addr(a);
	to.vpid = CAY_VPID_NODE;
	assert_int_equal(cay_peer_resolve(a, to, &peer), -ENXIO);
	to.vpid = UINT16_MAX;
	assert_int_equal(cay_peer_resolve(a, to, &peer), -ENXIO);
	assert_true(peer == NULL);
	assert_int_equal(
		open_error(&(struct cay_port_options){ .node = "a/b" }),
		EINVAL);
	close_port(a);
	close_port(b);
	assert_true(node_gone_soon(name));
}

/* ---- tables and options ---- */

static void peer_table_is_limited(void **state)
{
	struct cay_port_options two = { .peers = 2 };
	struct cay_port *port = open_port(&two);
	struct cay_peer *first = open_peer(port, port);
	struct cay_peer *second = open_peer(port, port), *third = NULL;
	(void)state;
	assert_true(cay_peer_route(first) != cay_peer_route(second));
	assert_int_equal(
		cay_peer_resolve(port, cay_port_addr(port), &third), -ENOSPC);
	assert_true(third == NULL);
	cay_peer_release(first);
	third = open_peer(port, port);
	assert_int_equal(cay_send(port, third, 3, NULL, 0, 0), 0);
	assert_int_equal(cay_send(port, second, 2, NULL, 0, 0), 0);
	expect_message(port, 3, 0, 0);
	expect_message(port, 2, 0, 0);
	cay_peer_release(second);
	cay_peer_release(third);
	cay_peer_release(NULL);
	close_port(port);
}

static void options_are_checked(void **state)
{
	struct cay_port_options o = { .size = sizeof(o) };
	(void)state;
	assert_int_equal(open_error(&o), 0);
	o.size = offsetof(struct cay_port_options, flags);
	o.flags = ~0ull; /* beyond the size that the caller gives */
	assert_int_equal(open_error(&o), 0);
	o.size = sizeof(o) + 8;
	o.flags = 0;
	assert_int_equal(open_error(&o), EINVAL);
	o.size = 1;
	assert_int_equal(open_error(&o), EINVAL);
	o = (struct cay_port_options){ .flags = 1ull << 40 };
	assert_int_equal(open_error(&o), EINVAL);
	o = (struct cay_port_options){ .flags = CAY_PORT_GUARDED };
	assert_int_equal(open_error(&o), EOPNOTSUPP);
	o = (struct cay_port_options){ .flags = CAY_PORT_WORD_MODE };
	assert_int_equal(open_error(&o), 0);
	o = (struct cay_port_options){ .flags = CAY_PORT_HUGE };
	assert_int_equal(open_error(&o), 0);
	o = (struct cay_port_options){ .nq_entries = UINT32_MAX };
	assert_int_equal(open_error(&o), EINVAL);
	o = (struct cay_port_options){ .rdr_bytes = SIZE_MAX };
	assert_int_equal(open_error(&o), EINVAL);
	o = (struct cay_port_options){ .peers = CAY_VPIDS + 1 };
	assert_int_equal(open_error(&o), EINVAL);
	o = (struct cay_port_options){ .windows = CAY_VPIDS + 1 };
	assert_int_equal(open_error(&o), EINVAL);
	o = (struct cay_port_options){ .posted = UINT32_MAX };
	assert_int_equal(open_error(&o), EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(hundreds_of_ports),
		TEST(gone_comes_last),
		TEST(gone_is_delivered_after_backpressure),
		TEST(names),
		TEST(lookup_waits_for_the_name),
		TEST(realms_are_separate),
		TEST(nodes_are_separate),
		TEST(peer_table_is_limited),
		TEST(options_are_checked),
	};
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
