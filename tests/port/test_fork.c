/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork() and exec(): a child inherits no port, may open its own, and does not
 * disturb the parent; an executed program inherits nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "status.h"

/* The handles of a parent when it forks. */
struct estate {
	struct cay_port *port;
	struct cay_peer *self;
	struct cay_event held;
	unsigned char *memory;
	int fd;
};

static struct estate estate_open(const char *name)
{
	struct estate e;
	e.port = open_named(name);
	e.self = open_peer(e.port, e.port);
	e.memory = cay_alloc(e.port, 100000, 0);
	e.fd = cay_port_fd(e.port);
	content_fill(e.memory, 100000, 1);
	assert_int_equal(
		cay_send(e.port, e.self, 1, e.memory, 100000, CAY_BORROW), 0);
	next_event(e.port, &e.held);
	return e;
}

/* The parent works as before. */
static void estate_check(struct estate *e)
{
	assert_true(content_fits(e->held.data, 100000, 1));
	assert_int_equal(cay_send(e->port, e->self, 2, e->memory, 100, 0), 0);
	expect_message(e->port, 2, 100, 1);
	assert_int_equal(cay_port_arm(e->port), 0);
}

static void estate_close(struct estate *e)
{
	cay_release(e->port, &e->held);
	expect_complete(e->port, 1, 0);
	cay_free(e->port, e->memory);
	cay_peer_release(e->self);
	close_port(e->port);
}

/* ---- inherited handles ---- */

/* Counts open descriptors; with `kept`, only those without FD_CLOEXEC. */
static uint64_t descriptors(bool kept)
{
	DIR *all = opendir("/proc/self/fd");
	struct dirent *entry;
	uint64_t count = 0;
	assert_true(all != NULL);
	while ((entry = readdir(all))) {
		int fd = atoi(entry->d_name);
		if (entry->d_name[0] == '.' || fd == dirfd(all))
			continue;
		count += !kept || !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	closedir(all);
	return count;
}

static void refuse_sends(struct estate *e)
{
	unsigned char data[100] = { 0 };
	struct iovec piece = { data, 100 };
	assert_int_equal(cay_send(e->port, e->self, 0, NULL, 0, 0), -ECHILD);
	assert_int_equal(cay_send(e->port, e->self, 0, data, 100, 0), -ECHILD);
	assert_int_equal(
		cay_send(e->port, e->self, 0, data, 8, CAY_NOTIFY), -ECHILD);
	assert_int_equal(
		cay_send_tagged(e->port, e->self, 0, 0, data, 8, 0), -ECHILD);
	assert_int_equal(cay_sendv(e->port, e->self, 0, &piece, 1, 0), -ECHILD);
	assert_int_equal(cay_sendv_tagged(e->port, e->self, 0, 0, &piece, 1, 0),
		-ECHILD);
	assert_int_equal(cay_send_wait(e->port, e->self, 0, data, 8, 0, soon()),
		-ECHILD);
}

static void refuse_consuming(struct estate *e)
{
	struct cay_event event;
	struct cay_stats stats;
	assert_int_equal(cay_poll(e->port, &event, 1), -ECHILD);
	assert_int_equal(cay_wait(e->port, 0), -ECHILD);
	assert_int_equal(cay_wait(e->port, CAY_FOREVER), -ECHILD);
	assert_int_equal(cay_port_arm(e->port), -ECHILD);
	assert_int_equal(cay_port_fd(e->port), -ECHILD);
	assert_int_equal(cay_port_stats(e->port, &stats), -ECHILD);
	cay_release(e->port, &e->held);
}

static void refuse_set_up(struct estate *e)
{
	struct cay_peer *peer = NULL;
	assert_int_equal(
		cay_peer_resolve(e->port, cay_port_addr(e->port), &peer),
		-ECHILD);
	assert_int_equal(
		cay_peer_lookup(e->port, "parent", soon(), &peer), -ECHILD);
	assert_true(peer == NULL);
	errno = 0;
	assert_true(cay_alloc(e->port, 100, 0) == NULL && errno == ECHILD);
	cay_free(e->port, e->memory);
}

static void refuse_raw(struct estate *e)
{
	struct cay_vci v = { { 0 } };
	assert_int_equal(cay_vci_post(e->port, &v), -ECHILD);
	for (unsigned i = CAY_ISSUE_VCI; i <= CAY_ISSUE_POSTED; i++)
		assert_int_equal(
			cay_trigger(e->port, (enum cay_issue)i, 1).accepted, 0);
	assert_true(cay_nqe_next(e->port) == NULL);
}

static void refuse_all(struct estate *e)
{
	refuse_sends(e);
	refuse_consuming(e);
	refuse_set_up(e);
	refuse_raw(e);
	/* Calls that need no device still work. */
	assert_true(cay_port_addr(e->port).vpid != CAY_VPID_NODE);
	assert_int_equal(
		cay_peer_addr(e->self).vpid, cay_port_addr(e->port).vpid);
	assert_int_equal(cay_peer_path(e->self), CAY_PATH_DIRECT);
}

static void refusing_child(struct child *parent, void *argument)
{
	struct estate *e = argument;
	(void)parent;
	refuse_all(e);
	cay_peer_release(e->self);
	/* The child has a copy of the descriptor only. */
	uint64_t before = descriptors(false);
	assert_int_equal(cay_port_close(e->port), -ECHILD);
	assert_int_equal(descriptors(false), before - 1);
}

static void handles_are_not_inherited(void **state)
{
	struct estate e = estate_open("parent");
	struct child child;
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		child_start(&child, refusing_child, &e);
		child_join(&child);
		estate_check(&e);
	}
	estate_close(&e);
}

/* ---- peers ---- */

static void watched_child(struct child *parent, void *unused)
{
	(void)unused;
	open_named("watched");
	child_send(parent, 1);
	child_receive(parent);
}

static void releasing_child(struct child *parent, void *peer)
{
	(void)parent;
	cay_peer_release(peer);
}

/* The child's handle is a copy: the node still notifies the parent. */
static void release_in_a_child_keeps_the_peer(void **state)
{
	struct cay_port *port = open_port(NULL);
	struct child watched, child;
	(void)state;
	child_start(&watched, watched_child, NULL);
	child_receive(&watched);
	struct cay_peer *peer = open_peer_named(port, "watched");
	child_start(&child, releasing_child, peer);
	child_join(&child);
	assert_int_equal(cay_send(port, peer, 1, NULL, 0, 0), 0);
	child_kill(&watched);
	expect_gone(port, cay_peer_addr(peer).vpid);
	cay_peer_release(peer);
	close_port(port);
}

/* ---- ports of a child ---- */

static void own_port(struct estate *e, uint64_t tag)
{
	struct cay_port *port = open_port(NULL);
	struct cay_peer *to = open_peer_named(port, "parent");
	struct cay_peer *self = open_peer(port, port);
	refuse_all(e);
	assert_int_equal(cay_send(port, self, tag, NULL, 0, 0), 0);
	expect_message(port, tag, 0, 0);
	assert_int_equal(cay_send(port, to, tag, &tag, sizeof(tag), 0), 0);
	cay_peer_release(self);
	cay_peer_release(to);
	close_port(port);
	refuse_all(e);
}

static void grandchild(struct child *parent, void *argument)
{
	(void)parent;
	own_port(argument, 2);
}

static void opening_child(struct child *parent, void *argument)
{
	struct child child;
	(void)parent;
	own_port(argument, 1);
	child_start(&child, grandchild, argument);
	child_join(&child);
	own_port(argument, 3);
}

static void children_open_their_own_ports(void **state)
{
	struct estate e = estate_open("parent");
	struct child child;
	(void)state;
	child_start(&child, opening_child, &e);
	for (uint64_t tag = 1; tag <= 3; tag++) {
		struct cay_event event;
		next_event(e.port, &event);
		assert_int_equal(event.tag, tag);
		cay_release(e.port, &event);
	}
	child_join(&child);
	estate_check(&e);
	estate_close(&e);
}

/* ---- forking while other threads send ---- */

struct busy {
	struct cay_port *port;
	struct cay_peer *self;
	_Atomic bool enough;
};

static void *busy_run(void *argument)
{
	struct busy *b = argument;
	unsigned char *data = malloc(20000);
	content_fill(data, 20000, 1);
	for (uint64_t i = 0; !b->enough; i++) {
		size_t length = i % 50 ? i % 200 : 20000;
		assert_int_equal(cay_send(b->port, b->self, i, data, length,
					 borrow_long(length)),
			0);
		expect_message(b->port, i, length, 1);
		if (length > CAY_EAGER_MAX)
			expect_complete(b->port, i, 0);
	}
	free(data);
	return NULL;
}

static void forked_child(struct child *parent, void *argument)
{
	own_port(argument, child_receive(parent));
}

static void forking_while_threads_send(void **state)
{
	struct estate e = estate_open("parent");
	struct busy b = { .port = open_port(NULL) };
	uint64_t forks = scaled(40) + 4;
	struct child child;
	pthread_t thread;
	(void)state;
	b.self = open_peer(b.port, b.port);
	assert_int_equal(pthread_create(&thread, NULL, busy_run, &b), 0);
	for (uint64_t i = 0; i < forks; i++) {
		struct cay_event event;
		child_start(&child, forked_child, &e);
		child_send(&child, i);
		next_event(e.port, &event);
		assert_int_equal(event.tag, i);
		cay_release(e.port, &event);
		child_join(&child);
	}
	b.enough = true;
	pthread_join(thread, NULL);
	cay_peer_release(b.self);
	close_port(b.port);
	estate_check(&e);
	estate_close(&e);
}

/* ---- exec ---- */

/* The executed program: reports its descriptors, waits, exits. */
static int executed(int fd)
{
	struct child parent = { .fd = fd };
	child_send(&parent, descriptors(false));
	child_receive(&parent);
	return 0;
}

static void executing_child(struct child *parent, void *unused)
{
	char number[16];
	(void)unused;
	assert_int_equal(fcntl(parent->fd, F_SETFD, 0), 0);
	child_send(parent, descriptors(true));
	struct estate e = estate_open("executing");
	struct cay_peer *peer = open_peer_named(e.port, "armed");
	/*
	 * Ringing fetches the descriptor of the armed port into this process.
	 */
	assert_int_equal(cay_send(e.port, peer, 5, NULL, 0, 0), 0);
	child_receive(parent);
	snprintf(number, sizeof(number), "%d", parent->fd);
	execl("/proc/self/exe", "executed", "--executed", number, NULL);
	fail_msg("exec");
}

static void exec_inherits_nothing(void **state)
{
	struct cay_port *port = open_named("armed");
	struct child child;
	(void)state;
	assert_true(cay_port_fd(port) >= 0);
	assert_int_equal(cay_port_arm(port), 0);
	child_start(&child, executing_child, NULL);
	uint64_t before = child_receive(&child);
	struct cay_peer *peer = open_peer_named(port, "executing");
	expect_message(port, 5, 0, 0);
	assert_int_equal(cay_send(port, peer, 0, NULL, 0, 0), 0);
	child_send(&child, 1);
	assert_int_equal(child_receive(&child), before);

	/* The ports are closed, although the process still runs. */
	uint64_t deadline = soon();
	while (cay_send(port, peer, 0, NULL, 0, 0) != -EPIPE) {
		assert_true(now_ns() < deadline);
		nap_ns(NS_PER_MS);
	}
	child_send(&child, 2);
	child_join(&child);
	expect_gone(port, cay_peer_addr(peer).vpid);
	assert_int_equal(status_settled().ports, 1);
	cay_peer_release(peer);
	close_port(port);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(handles_are_not_inherited),
		TEST(release_in_a_child_keeps_the_peer),
		TEST(children_open_their_own_ports),
		TEST(forking_while_threads_send),
		TEST(exec_inherits_nothing),
	};
	if (argc == 3 && strcmp(argv[1], "--executed") == 0)
		return executed(atoi(argv[2]));
	return cmocka_run_group_tests(tests, harness_begin, harness_end);
}
