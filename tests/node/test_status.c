/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Status reports of a node with 60,000 ports: the node writes them in steps of
 * limited work and serves other clients in between. One report serves all
 * requests that came before it began; the end of a client or of a process does
 * not disturb it.
 */
#include "inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "cay/port.h"
#include "node/pages.h"
#include "node/wire.h"

#define PORTS	   60000u
#define MEMBERS	   20u
#define HEAP_BYTES (16ull << 30)
#define STEP_WORK  (65536u + 1024u) /* a step, and the port that exceeds it */
#define STEPS_MIN  50u		    /* of one report */
#define STEPS_MAX  1000u

static struct node *node;
static struct process *members[MEMBERS];

static int port_close(struct process *p, uint16_t vpid)
{
	struct node_request q = { .kind = NODE_CLOSE };
	struct node_reply reply;
	q.close.vpid = vpid;
	return inside_call(p, &q, &reply);
}

/* A client that waits for its reply on a socket. */
struct client {
	struct process *process;
	int socket;
};

static struct client client_connect_to(pid_t pid)
{
	int ends[2];
	struct client c = { .process = inside_connect(node, pid) };
	assert_non_null(c.process);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	c.process->socket = ends[0];
	c.socket = ends[1];
	return c;
}

static void client_ask(struct client *c)
{
	struct node_request q = { .kind = NODE_STATUS };
	assert_int_equal(wire_send(c->socket, &q, sizeof(q), -1, 0), 0);
	assert_int_equal(request_handle(c->process), 0);
}

/* Returns the number of ports in the report, or -1 if there is none yet. */
static int client_answer(struct client *c)
{
	struct node_reply reply;
	struct node_status s;
	int fd;
	ssize_t n = wire_receive(
		c->socket, &reply, sizeof(reply), &fd, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return -1;
	assert_int_equal(n, sizeof(reply));
	assert_int_equal(reply.error, 0);
	assert_int_equal(pread(fd, &s, sizeof(s), 0), sizeof(s));
	assert_int_equal(lseek(fd, 0, SEEK_END), reply.status.bytes);
	/* Other clients receive the same descriptor. */
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(pwrite(fd, &s, 1, 0), -1);
	assert_int_equal(s.magic, NODE_MAGIC);
	assert_int_equal(s.ports, reply.status.ports);
	assert_int_equal(s.processes, reply.status.processes);
	close(fd);
	return (int)reply.status.ports;
}

static void client_close(struct client *c)
{
	process_disconnect(c->process);
	close(c->socket);
}

/* Ticks until the client has its report; counts steps. */
static unsigned steps_until(struct client *c, int *ports)
{
	unsigned steps = 0;
	while ((*ports = client_answer(c)) < 0) {
		node_tick(node);
		assert_true(node->report_work <= STEP_WORK);
		assert_true(++steps < STEPS_MAX);
	}
	return steps;
}

static int setup(void **state)
{
	struct node_options o = { .arena_bytes =
					  ARENA_HEAP_OFFSET + HEAP_BYTES };
	uint16_t vpid;
	(void)state;
	o.quota.realm[QUOTA_PORTS] = CAY_VPIDS;
	node = calloc(1, sizeof(*node));
	assert_non_null(node);
	node_init(node, &o);
	for (unsigned i = 0; i < MEMBERS; i++)
		members[i] = inside_join(node, (pid_t)(1000 + i), "default");
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(
			inside_port_open(members[i % MEMBERS], 4, 0, &vpid), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MEMBERS; i++)
		process_exited(members[i]);
	for (unsigned i = 0; i < 4096 && node_tick(node); i++)
		continue;
	inside_check_empty(node);
	node_end(node);
	return 0;
}

/* ---- tests ---- */

/* Requests of others are executed between the steps of a report. */
static void others_are_served(void **state)
{
	struct client c = client_connect_to(1);
	uint16_t vpid;
	unsigned steps = 0;
	int ports;
	(void)state;
	client_ask(&c);
	assert_true(node->report_work <= STEP_WORK);
	while ((ports = client_answer(&c)) < 0) {
		/* One request, as between two rounds of the event loop. */
		assert_int_equal(inside_port_open(members[0], 4, 0, &vpid), 0);
		assert_int_equal(port_close(members[0], vpid), 0);
		node_tick(node);
		assert_true(node->report_work <= STEP_WORK);
		assert_true(++steps < STEPS_MAX);
	}
	print_message("%u steps\n", steps);
	assert_in_range(steps, STEPS_MIN, STEPS_MAX);
	assert_in_range(ports, PORTS, PORTS + 1);
	client_close(&c);
}

/* Requests in a loop by many cost as much as those of one. */
static void reports_are_shared(void **state)
{
	struct client c[10];
	int ports;
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(c); i++)
		c[i] = client_connect_to((pid_t)(10 + i));
	client_ask(&c[0]);
	for (unsigned i = 1; i < ARRAY_COUNT(c); i++)
		client_ask(&c[i]);
	unsigned first = steps_until(&c[0], &ports);
	assert_int_equal(ports, PORTS);
	/* The others asked while it was written, and share the next one. */
	assert_int_equal(client_answer(&c[1]), -1);
	unsigned second = steps_until(&c[1], &ports);
	for (unsigned i = 2; i < ARRAY_COUNT(c); i++)
		assert_int_equal(client_answer(&c[i]), PORTS);
	assert_in_range(second, first - 2, first + 2);
	assert_null(node->report);
	for (unsigned i = 0; i < ARRAY_COUNT(c); i++)
		client_close(&c[i]);
}

/* A second request before the reply violates the protocol. */
static void one_request_at_a_time(void **state)
{
	struct client c = client_connect_to(1);
	struct node_request q = { .kind = NODE_STATUS };
	(void)state;
	client_ask(&c);
	assert_int_equal(wire_send(c.socket, &q, sizeof(q), -1, 0), 0);
	assert_int_equal(request_handle(c.process), -EPROTO);
	client_close(&c);
	while (node->report)
		node_tick(node);
}

/* Clients and processes may end while a report is written. */
static void ends_do_not_disturb(void **state)
{
	struct client gone = client_connect_to(1), c = client_connect_to(2);
	struct process *dead = inside_join(node, 3, "default");
	uint16_t vpid;
	int ports;
	(void)state;
	assert_int_equal(inside_port_open(dead, 4, 0, &vpid), 0);
	client_ask(&gone);
	client_ask(&c);
	client_close(&gone);
	process_exited(dead);
	steps_until(&c, &ports);
	assert_int_equal(ports, PORTS);
	client_close(&c);
}

/* A realm that ends during a report may leave its address to another one. */
static void pages_are_of_the_realm_not_of_its_address(void **state)
{
	struct realm r = { .serial = 1, .fd = memfd_create("a", MFD_CLOEXEC) };
	struct pages p = { .fd = -1 };
	int second = memfd_create("b", MFD_CLOEXEC);
	(void)state;
	assert_int_equal(ftruncate(r.fd, ARENA_PAGE), 0);
	assert_int_equal(ftruncate(second, ARENA_PAGE), 0);
	assert_int_equal(pwrite(second, "x", 1, 0), 1);
	assert_true(pages_of(&p, &r));
	assert_false(page_exists(&p, 0));
	close(r.fd);
	r = (struct realm){ .serial = 2, .fd = second };
	assert_true(pages_of(&p, &r));
	assert_true(page_exists(&p, 0));
	pages_end(&p);
	close(second);
	/* The node gives each realm a number of its own. */
	struct process *a = inside_join(node, 4, "x");
	uint64_t serial = a->realm->serial;
	process_exited(a);
	while (node_tick(node))
		continue;
	a = inside_join(node, 4, "x");
	assert_int_not_equal(a->realm->serial, serial);
	assert_int_not_equal(a->realm->serial, members[0]->realm->serial);
	process_exited(a);
}

/*
 * The watchers of a port are counted when they come and go, not by the report:
 * a port may have a million.
 */
static void watchers_are_counted(void **state)
{
	struct process *p = inside_join(node, 4, "x");
	struct node_request resolve = { .kind = NODE_RESOLVE };
	struct node_request release = { .kind = NODE_RELEASE };
	struct node_reply reply;
	uint16_t target, by[3];
	(void)state;
	assert_int_equal(
		inside_port_open(p, 4, CAY_PORT_TELL_GONE, &target), 0);
	resolve.resolve.node = node->id;
	resolve.resolve.target = target;
	for (unsigned i = 0; i < ARRAY_COUNT(by); i++) {
		assert_int_equal(inside_port_open(p, 4, 0, &by[i]), 0);
		resolve.resolve.vpid = by[i];
		assert_int_equal(inside_call(p, &resolve, &reply), 0);
		assert_int_equal(node->ports[target]->watcher_count, i + 1);
	}
	release.release.vpid = by[0];
	assert_int_equal(inside_call(p, &release, &reply), 0);
	assert_int_equal(node->ports[target]->watcher_count, 2);
	assert_int_equal(port_close(p, by[1]), 0);
	assert_int_equal(node->ports[target]->watcher_count, 1);
	/* A watch of a port that is gone is released later. */
	assert_int_equal(port_close(p, target), 0);
	assert_null(node->ports[target]);
	release.release.vpid = by[2];
	assert_int_equal(inside_call(p, &release, &reply), 0);
	process_exited(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_are_served),
		cmocka_unit_test(reports_are_shared),
		cmocka_unit_test(one_request_at_a_time),
		cmocka_unit_test(ends_do_not_disturb),
		cmocka_unit_test(pages_are_of_the_realm_not_of_its_address),
		cmocka_unit_test(watchers_are_counted),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
