/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program to be recorded: two processes with a port each. The first process
 * owns a window; the second performs every kind of access and sends messages of
 * every kind, then kills itself or exits. With `threads`, four threads of the
 * second process repeat accesses and messages, and children that they fork find
 * that the port is not usable after fork().
 *
 * usage: recorded [exit STATUS | kill | threads | silent]
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay/cay.h"

#define BYTES	4096
#define NAME	"recorded"
#define THREADS 4
#define ROUNDS	100

static void check(const char *what, long r)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, cay_strerror((int)r));
	exit(99);
}

/* Waits for the next event. */
static struct cay_event event_next(struct cay_port *port)
{
	struct cay_event e;
	int n;
	while ((n = cay_poll(port, &e, 1)) == 0)
		check("cay_wait", cay_wait(port, CAY_FOREVER));
	check("cay_poll", n);
	return e;
}

static struct cay_key key_receive(struct cay_port *port)
{
	struct cay_key key;
	struct cay_event e = event_next(port);
	memcpy(&key, e.data, sizeof(key));
	cay_release(port, &e);
	return key;
}

/* Consumes events until `count` completions have arrived. */
static void completions_take(struct cay_port *port, int count)
{
	while (count) {
		struct cay_event e = event_next(port);
		count -= e.kind == CAY_EVENT_COMPLETE;
		cay_release(port, &e);
	}
}

static void accesses(
	struct cay_port *port, struct cay_peer *peer, struct cay_key key)
{
	static unsigned char data[BYTES];
	struct cay_key wrong = key;
	uint64_t previous;
	wrong.capability ^= 1;
	memset(data, 7, sizeof(data));
	check("put", cay_put(port, peer, key, 64, "12345678", 8, 1, 0));
	check("put", cay_put(port, peer, key, 128, data, 1000, 2, CAY_ACK));
	check("masked", cay_put_masked(port, peer, key, 64, 0x4142434445464748,
				0x0f, 3, CAY_NOTIFY));
	check("get", cay_get(port, peer, key, 64, data, 100, 4, CAY_NOTIFY));
	check("get", cay_get(port, peer, key, 64, NULL, 24, 5, 0));
	check("add", cay_fetch_add(port, peer, key, 0, 5, 6, 0));
	check("add",
		cay_fetch_add_into(port, peer, key, 0, 6, &previous, 7, 0));
	check("swap", cay_compare_swap(port, peer, key, 8, 0, 42, 8, 0));
	check("swap", cay_compare_swap_into(
			      port, peer, key, 8, 1, 43, &previous, 9, 0));
	check("put", cay_put(port, peer, wrong, 0, "wrong", 5, 10, 0));
	check("put", cay_put(port, peer, key, BYTES, "out", 3, 11, 0));
	check("lock", cay_window_lock(port, peer, key, CAY_FOREVER));
	check("put", cay_put(port, peer, key, 256, "locked", 6, 12, 0));
	check("unlock", cay_window_unlock(port, peer, key));
	completions_take(port, 8);
	/* Two of the puts were refused. */
	if (cay_flush(port, peer, CAY_FOREVER) != -EREMOTEIO)
		check("flush", -EPROTO);
}

static void messages(struct cay_port *port, struct cay_peer *peer)
{
	static unsigned char data[20000];
	const struct iovec pieces[2] = { { "sca", 3 }, { "ttered", 6 } };
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 3);
	check("send", cay_send(port, peer, 20, "hello", 5, 0));
	check("send", cay_send_tagged(port, peer, 21, 99, data, 300, 0));
	check("send", cay_sendv(port, peer, 22, pieces, 2, CAY_NOTIFY));
	check("send", cay_send_wait(port, peer, 23, data, sizeof(data), 0,
			      CAY_FOREVER));
	check("send", cay_send(port, peer, 24, data, sizeof(data), CAY_BORROW));
	completions_take(port, 2);
	const struct cay_message burst[] = { { 25, data, 8, 1, 0 },
		{ 26, data + 8, 40, 2, 0 }, { 27, data, 500, 3, 0 } };
	if (cay_send_burst(port, peer, burst, 3) != 3)
		check("burst", -EPROTO);
}

/* ---- threads ---- */

struct shared {
	struct cay_port *port;
	struct cay_peer *peer;
	struct cay_key key;
};

static void child_is_refused(const struct shared *s)
{
	pid_t pid = fork();
	int status = 0;
	if (pid == 0)
		_exit(cay_send(s->port, s->peer, 0, NULL, 0, 0) == -ECHILD ? 0
									   : 1);
	waitpid(pid, &status, 0);
	if (status)
		exit(95);
}

static void *thread_main(void *argument)
{
	const struct shared *s = argument;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t previous;
		int r = cay_fetch_add_into(
			s->port, s->peer, s->key, 512, 1, &previous, 0, 0);
		check("add", r);
		check("put", cay_put(s->port, s->peer, s->key, 1024, &i,
				     sizeof(i), 0, 0));
		check("send", cay_send_wait(s->port, s->peer, 30, &i, sizeof(i),
				      0, CAY_FOREVER));
		if (i == ROUNDS / 2)
			child_is_refused(s);
	}
	return NULL;
}

static void threads_run(struct shared *s)
{
	pthread_t thread[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, thread_main, s) != 0)
			exit(94);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* ---- the two processes ---- */

static void second(const char *end)
{
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *peer;
	if (!port)
		exit(98);
	check("lookup", cay_peer_lookup(port, NAME, CAY_FOREVER, &peer));
	check("send", cay_send(port, peer, 1, NULL, 0, 0));
	struct cay_key key = key_receive(port);
	accesses(port, peer, key);
	messages(port, peer);
	struct shared shared = { port, peer, key };
	if (strcmp(end, "threads") == 0)
		threads_run(&shared);
	if (strcmp(end, "kill") == 0)
		kill(getpid(), SIGKILL);
	check("send", cay_send(port, peer, 1000, NULL, 0, 0));
	cay_peer_release(peer);
	check("close", cay_port_close(port));
}

/*
 * Sends the key to the peer, then consumes events until it is gone or done. The
 * peer is resolved at once, by a reply ("reply"), or in the background
 * ("start").
 */
static void window_serve(
	struct cay_port *port, struct cay_key key, const char *how)
{
	struct cay_peer *peer = NULL;
	bool answered = false;
	for (;;) {
		struct cay_event e = event_next(port);
		bool last = e.kind == CAY_EVENT_GONE || e.tag == 1000;
		bool first = !answered && e.kind == CAY_EVENT_MESSAGE;
		bool resolved = e.kind == CAY_EVENT_RESOLVED;
		answered |= first;
		if (first && strcmp(how, "reply") == 0) {
			check("reply",
				cay_reply(port, &e, 2, &key, sizeof(key), 0));
		} else if (first && strcmp(how, "start") == 0) {
			check("start",
				cay_peer_resolve_start(port, e.peer, NULL));
		} else if (first) {
			check("resolve", cay_peer_resolve(port, e.peer, &peer));
			resolved = true;
		} else if (resolved) {
			peer = e.handle;
		}
		if (resolved)
			check("send",
				cay_send(port, peer, 2, &key, sizeof(key), 0));
		cay_release(port, &e);
		if (last)
			break;
	}
	cay_peer_release(peer);
}

static void first(const char *how)
{
	const struct cay_port_options options = { .name = NAME,
		.nq_entries = 64 };
	struct cay_port *port = cay_port_open(&options);
	struct cay_window *window;
	struct cay_key key;
	void *memory = port ? cay_alloc(port, BYTES, 0) : NULL;
	if (!memory)
		exit(97);
	memset(memory, 1, 16);
	check("window",
		cay_window_open(port, memory, BYTES,
			CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC,
			&window));
	cay_window_key(window, &key);
	window_serve(port, key, how);
	check("close", cay_window_close(window));
	cay_free(port, memory);
	check("close", cay_port_close(port));
}

int main(int argc, char **argv)
{
	const char *end = argc > 1 ? argv[1] : "";
	int status = 0;
	if (strcmp(end, "silent") == 0)
		return 0;
	pid_t pid = fork();
	if (pid == 0) {
		second(end);
		return 0;
	}
	first(end);
	if (waitpid(pid, &status, 0) != pid)
		return 96;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		return WEXITSTATUS(status);
	return argc > 2 ? atoi(argv[2]) : 0;
}
