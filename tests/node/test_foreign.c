/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other users. Abstract socket names have no permissions: any user can connect
 * to a node, and any user can bind its name first. Requires root to change the
 * user ID.
 */
#include "outside.h"

#define FOREIGN_ID 65534

static bool become_foreign_user(void)
{
	bool changed = setresgid(FOREIGN_ID, FOREIGN_ID, FOREIGN_ID) == 0 &&
		       setresuid(FOREIGN_ID, FOREIGN_ID, FOREIGN_ID) == 0;
	child_die_with_parent(); /* setresuid() resets it */
	return changed;
}

/* The address contains the user ID; computed before the child changes it. */
static struct node_address address_here(void)
{
	struct node_address a;
	assert_int_equal(node_address(harness_name, &a), 0);
	return a;
}

/* ---- a client of another user ---- */

static int foreign_client_body(void *argument)
{
	const struct node_address *address = argument;
	struct node_request q = hello_request("default");
	struct node_reply reply;
	assert_true(become_foreign_user());
	for (int i = 0; i < 200; i++) {
		int fd, s = raw_connect_to(address);
		assert_true(s >= 0);
		assert_true(raw_call(s, &q, -1, &reply, &fd) == -EPERM);
		assert_true(fd < 0);
		/* The node has closed the connection. */
		assert_true(raw_call(s, &q, -1, &reply, &fd) == -ENOTCONN);
		close(s);
	}
	return 0;
}

static void foreign_user_is_refused(void **state)
{
	(void)state;
	harness_rename();
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	struct usage usage = usage_now();
	struct node_address address = address_here();
	pid_t child = child_start(foreign_client_body, &address);
	/* The owner's clients are served meanwhile. */
	for (int i = 0; i < 50; i++) {
		struct cay_port *other = cay_port_open(NULL);
		assert_non_null(other);
		assert_int_equal(cay_port_close(other), 0);
	}
	assert_int_equal(child_join(child), 0);
	assert_usage(&usage);
	struct node_status status;
	assert_int_equal(status_get(&status), 0);
	assert_true(status.refused >= 200);
	assert_int_equal(cay_port_close(port), 0);
}

/* ---- a node of another user ---- */

_Noreturn static int foreign_node_body(void *argument)
{
	assert_true(become_foreign_user());
	int s = raw_listen(argument);
	assert_true(s >= 0);
	child_ready();
	/* Replies with success to each connection. */
	for (;;) {
		struct node_reply reply = { 0 };
		int c = accept(s, NULL, NULL);
		if (c >= 0)
			send(c, &reply, sizeof(reply), MSG_NOSIGNAL);
	}
}

static void foreign_node_is_not_trusted(void **state)
{
	(void)state;
	harness_rename();
	struct node_address address = address_here();
	pid_t child = child_start_ready(foreign_node_body, &address);
	for (int i = 0; i < 20; i++) {
		uint64_t since = clock_now_ns();
		struct cay_port *port = cay_port_open(NULL);
		/* In the user's directory a node can listen. */
		if (address.path_length) {
			assert_non_null(port);
			assert_int_equal(cay_port_close(port), 0);
			continue;
		}
		assert_null(port);
		assert_int_equal(errno, EPERM);
		assert_true(elapsed_ms(since) < 2000);
	}
	child_kill(child);
	/* The name is free again. */
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	assert_int_equal(cay_port_close(port), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_user_is_refused),
		cmocka_unit_test(foreign_node_is_not_trusted),
	};
	if (geteuid() != 0) {
		fprintf(stderr, "skipped: requires root\n");
		return 77;
	}
	harness_begin("foreign");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
