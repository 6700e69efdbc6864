/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs under Valgrind: the leak check of memcheck finds no error in a
 * program with an open port, and does not allocate the pages of its arena.
 */
#include "node/node.h"
#include "outside.h"

#define SKIP_STATUS  77
#define ARENA_BYTES  (256ull << 20) /* small, in case it is allocated whole */
#define MEMORY_BYTES (8ull << 20)
#define BYTES	     65536

static const char *program; /* this one */

/* ---- the program under Valgrind ---- */

/* Reachable at exit: open ports are not leaks. */
static struct cay_port *port;
static struct cay_peer *peer;

static int message_exchange(const void *memory, size_t bytes)
{
	struct cay_event e;
	unsigned messages = 0;
	int r = cay_send(port, peer, 1, memory, bytes, CAY_ACK);
	while (r == 0 && messages == 0) {
		r = cay_wait(port, CAY_FOREVER);
		while (r == 0 && cay_poll(port, &e, 1) == 1) {
			messages += e.kind == CAY_EVENT_MESSAGE;
			cay_release(port, &e);
		}
	}
	return r;
}

static int client(bool close)
{
	struct cay_window *window;
	struct cay_key key;
	uint64_t word = 1, before;
	port = cay_port_open(NULL);
	if (!port || cay_peer_resolve(port, cay_port_addr(port), &peer) != 0)
		return 2;
	unsigned char *memory = cay_alloc(port, BYTES, 0);
	if (!memory ||
		cay_window_open(port, memory, BYTES,
			CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC,
			&window) != 0 ||
		cay_window_key(window, &key) != 0)
		return 3;
	memset(memory, 1, BYTES);
	if (message_exchange(memory, 40) || message_exchange(memory, 4096) ||
		message_exchange(memory, BYTES))
		return 4;
	if (cay_put(port, peer, key, 0, &word, sizeof(word), 0, 0) ||
		cay_fetch_add_into(port, peer, key, 0, 1, &before, 0, 0) ||
		cay_flush(port, peer, CAY_FOREVER) || before != 1)
		return 5;
	if (!close)
		return 0;
	if (cay_window_close(window) != 0)
		return 6;
	cay_free(port, memory);
	cay_peer_release(peer);
	return cay_port_close(port) == 0 ? 0 : 7;
}

/* ---- tests ---- */

static int serve_body(void *unused)
{
	struct node_options o = { .name = harness_name,
		.arena_bytes = ARENA_BYTES };
	(void)unused;
	return -node_serve(&o);
}

static int valgrind_body(void *argument)
{
	execlp("valgrind", "valgrind", "--quiet", "--leak-check=full",
		"--errors-for-leak-kinds=definite,indirect,possible",
		"--error-exitcode=9", program, (char *)argument, NULL);
	return 127;
}

static void run(char *argument)
{
	struct node_status s;
	server_start(serve_body, NULL);
	/* Keeps the arena after the exit of the program. */
	struct cay_port *anchor = cay_port_open(NULL);
	assert_non_null(anchor);
	assert_int_equal(child_run(valgrind_body, argument), 0);
	assert_int_equal(status_get(&s), 0);
	print_message(
		"%llu bytes allocated\n", (unsigned long long)s.memory_bytes);
	assert_true(s.memory_bytes < MEMORY_BYTES);
	assert_int_equal(cay_port_close(anchor), 0);
	server_join();
}

static void open_port_at_exit(void **state)
{
	(void)state;
	run("open");
}

static void closed_port_at_exit(void **state)
{
	(void)state;
	run("close");
}

static int version_body(void *unused)
{
	(void)unused;
	freopen("/dev/null", "w", stdout);
	execlp("valgrind", "valgrind", "--version", NULL);
	return 127;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_port_at_exit),
		cmocka_unit_test(closed_port_at_exit),
	};
	program = argv[0];
	if (argc > 1)
		return client(strcmp(argv[1], "close") == 0);
	harness_begin("valgrind");
	if (HARNESS_SANITIZED || child_run(version_body, NULL) != 0) {
		print_message("skipped: %s\n",
			HARNESS_SANITIZED ? "built with a sanitizer"
					  : "valgrind is not installed");
		return SKIP_STATUS;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
