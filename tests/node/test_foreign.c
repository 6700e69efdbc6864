/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other users. Abstract socket names have no permissions: anybody may connect
 * to a node's name, and anybody may take a name before its node does. Needs
 * root, to be two users.
 */
#include "outside.h"

#define STRANGER 65534

/* What a stranger needs was computed before it became one. */
struct meeting {
	struct node_address address;
	int ready[2];
};

static bool become_stranger(void)
{
	bool changed = setresgid(STRANGER, STRANGER, STRANGER) == 0 &&
		       setresuid(STRANGER, STRANGER, STRANGER) == 0;
	child_bind(); /* the kernel forgets it with the old user */
	return changed;
}

static struct meeting meeting_here(void)
{
	struct meeting m;
	assert_int_equal(node_address(harness_name, &m.address), 0);
	assert_int_equal(pipe(m.ready), 0);
	return m;
}

static void meeting_over(struct meeting *m)
{
	close(m->ready[0]);
	close(m->ready[1]);
}

/* ---- a stranger at the door of a node ---- */

static int stranger_body(void *argument)
{
	struct meeting *m = argument;
	struct node_request q = hello_request("default");
	struct node_reply reply;
	NEED(become_stranger());
	for (int i = 0; i < 200; i++) {
		int fd, s = raw_connect_to(&m->address);
		NEED(s >= 0);
		NEED(raw_call(s, &q, -1, &reply, &fd) == -EPERM);
		NEED(fd < 0);
		/* And that was all that it has to say. */
		NEED(raw_call(s, &q, -1, &reply, &fd) == -ENOTCONN);
		close(s);
	}
	return 0;
}

static void a_stranger_is_refused(void **state)
{
	(void)state;
	harness_rename();
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	struct rest rest = rest_now();
	struct meeting m = meeting_here();
	pid_t child = child_start(stranger_body, &m);
	/* Meanwhile those who belong here are served. */
	for (int i = 0; i < 50; i++) {
		struct cay_port *other = cay_port_open(NULL);
		assert_non_null(other);
		assert_int_equal(cay_port_close(other), 0);
	}
	assert_int_equal(child_join(child), 0);
	assert_rest(&rest);
	struct node_status status;
	assert_int_equal(status_get(&status), 0);
	assert_true(status.refused >= 200);
	meeting_over(&m);
	assert_int_equal(cay_port_close(port), 0);
}

/* ---- a stranger under the name of a node ---- */

static int squatter_body(void *argument)
{
	struct meeting *m = argument;
	NEED(become_stranger());
	int s = raw_listen(&m->address);
	NEED(s >= 0);
	signal_ready(m->ready[1]);
	/* It would answer, with whatever it likes. */
	for (;;) {
		struct node_reply reply = { 0 };
		int c = accept(s, NULL, NULL);
		if (c >= 0)
			send(c, &reply, sizeof(reply), MSG_NOSIGNAL);
	}
}

static void a_squatted_name_is_not_trusted(void **state)
{
	(void)state;
	harness_rename();
	struct meeting m = meeting_here();
	pid_t child = child_start(squatter_body, &m);
	assert_true(wait_ready(m.ready[0]));
	for (int i = 0; i < 20; i++) {
		uint64_t since = clock_now_ns();
		assert_null(cay_port_open(NULL));
		assert_int_equal(errno, EPERM);
		assert_true(elapsed_ms(since) < 2000);
	}
	child_kill(child);
	/* The name is free again, and nothing of the squatter is left. */
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	meeting_over(&m);
	assert_int_equal(cay_port_close(port), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stranger_is_refused),
		cmocka_unit_test(a_squatted_name_is_not_trusted),
	};
	if (geteuid() != 0) {
		fprintf(stderr, "skipped: only root can be two users\n");
		return 77;
	}
	harness_begin("foreign");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
