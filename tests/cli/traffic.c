/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for test_top.py to observe: ports with windows and posted receives,
 * and threads that access them, or stop during an operation.
 *
 * usage: traffic serve NAME
 *	  traffic KIND NAME CAPABILITY [STEP]
 *
 * The first prints the capability of its window 1, in hex, and runs until it
 * is killed. KIND is send, put, post (a message into a posted receive), long
 * (one message by reference) or lock (window 1, and no more). With STEP, the
 * name of a step of the device, it stops itself there at the hundredth time.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cay/cay.h"
#include "device/step.h"

#define WINDOW_BYTES 4096
#define POSTED	     3
#define LONG_BYTES   100000
#define STOP_AT	     100 /* occurrences: the first ones are special cases */
#define BURST	     64
#define PAUSE_NS     (10 * CLOCK_NS_PER_MS)

extern void (*host_step_hook)(enum device_step);

static enum device_step stop_step;
static unsigned stop_left = STOP_AT;

static void stop_hook(enum device_step step)
{
	if (step == stop_step && stop_left && --stop_left == 0)
		raise(SIGSTOP);
}

static void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, cay_strerror(error));
	exit(1);
}

static void check(const char *what, int error)
{
	if (error)
		fail(what, error);
}

static struct cay_port *port_named(const char *name)
{
	struct cay_port_options options = { .name = name };
	struct cay_port *port = cay_port_open(&options);
	if (!port)
		fail("cay_port_open", -errno);
	return port;
}

/* ---- server ---- */

static void *memory_alloc(struct cay_port *port, size_t bytes)
{
	void *memory = cay_alloc(port, bytes, 0);
	if (!memory)
		fail("cay_alloc", -errno);
	return memory;
}

static void windows_open(struct cay_port *port)
{
	unsigned rights = CAY_RIGHT_READ | CAY_RIGHT_WRITE;
	struct cay_window *first, *second;
	struct cay_key key;
	check("cay_window_open",
		cay_window_open(port, memory_alloc(port, WINDOW_BYTES),
			WINDOW_BYTES, rights, &first));
	check("cay_window_open",
		cay_window_open(port, memory_alloc(port, WINDOW_BYTES),
			WINDOW_BYTES, rights, &second));
	cay_window_key(second, &key);
	printf("%" PRIx64 "\n", key.capability);
	fflush(stdout);
}

__attribute__((noreturn)) static void serve(const char *name)
{
	struct cay_port *port = port_named(name);
	unsigned char *buffers = memory_alloc(port, POSTED * WINDOW_BYTES);
	check("cay_receive_mode",
		cay_receive_mode(port, CAY_RECEIVE_POSTED_ONLY));
	for (uint64_t i = 0; i < POSTED; i++)
		check("cay_receive_post",
			cay_receive_post(port, buffers + i * WINDOW_BYTES,
				WINDOW_BYTES, i));
	windows_open(port);
	for (;;) {
		struct cay_event event;
		cay_wait(port, CAY_FOREVER);
		while (cay_poll(port, &event, 1) == 1) {
			if (event.kind == CAY_EVENT_POSTED)
				cay_receive_post(port, (void *)event.data,
					WINDOW_BYTES, event.result);
			cay_release(port, &event);
		}
	}
}

/* ---- origins ---- */

struct origin {
	struct cay_port *port;
	struct cay_peer *peer;
	struct cay_key key;
	char data[LONG_BYTES];
};

static int issue(struct origin *o, const char *kind)
{
	if (strcmp(kind, "send") == 0)
		return cay_send(o->port, o->peer, 0, o->data, 8, 0);
	if (strcmp(kind, "put") == 0)
		return cay_put(o->port, o->peer, o->key, 0, o->data, 64, 0, 0);
	if (strcmp(kind, "post") == 0)
		return cay_send(o->port, o->peer, 0, o->data, 1000, 0);
	return -EINVAL;
}

__attribute__((noreturn)) static void issue_forever(
	struct origin *o, const char *kind)
{
	for (unsigned i = 0;; i++) {
		int r = issue(o, kind);
		if (r && r != -EAGAIN)
			fail(kind, r);
		if (i % BURST == 0)
			clock_nap_ns(PAUSE_NS);
	}
}

static void issue_once(struct origin *o, const char *kind)
{
	if (strcmp(kind, "long") == 0)
		check(kind, cay_send(o->port, o->peer, 0, o->data, LONG_BYTES,
				    CAY_BORROW));
	else if (strcmp(kind, "lock") == 0)
		check(kind,
			cay_window_lock(o->port, o->peer, o->key, CAY_FOREVER));
	else
		return;
	for (;;)
		pause();
}

static enum device_step step_named(const char *name)
{
	for (int i = 1; name && i < STEP_COUNT; i++)
		if (strcmp(device_step_name((enum device_step)i), name) == 0)
			return (enum device_step)i;
	return STEP_NONE;
}

int main(int argc, char **argv)
{
	static struct origin o;
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve(argv[2]);
	if (argc < 4)
		return 2;
	stop_step = step_named(argv[4]);
	host_step_hook = stop_step ? stop_hook : NULL;
	o.port = port_named(NULL);
	o.key = (struct cay_key){ .capability = strtoull(argv[3], NULL, 16),
		.window = 1 };
	check("cay_peer_lookup",
		cay_peer_lookup(o.port, argv[2], CAY_FOREVER, &o.peer));
	issue_once(&o, argv[1]);
	issue_forever(&o, argv[1]);
}
