/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scene: a process takes the target's window for itself, and is killed while
 * it holds it. Nobody else could have given it back.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/demo/demo.h"

#define HOLDER_NAME "holder"

/* Locks, says so, and does nothing any more. */
__attribute__((noreturn)) static void holder_main(struct cay_key key)
{
	struct cay_port_options options = { .name = HOLDER_NAME };
	struct cay_port *port = cay_port_open(&options);
	uint64_t deadline = clock_after_ns(DEMO_PATIENCE_NS);
	struct cay_peer *target, *origin;

	if (!port ||
		cay_peer_lookup(port, TARGET_NAME, deadline, &target) != 0 ||
		cay_peer_lookup(port, ORIGIN_NAME, deadline, &origin) != 0)
		_exit(1);
	int r = cay_window_lock(port, target, key, deadline);
	if (cay_send_wait(port, origin, 0xe0, &r, sizeof(r), 0, deadline) != 0)
		_exit(1);
	for (;;)
		pause();
}

/* What it says after it has tried. */
static int holder_await(struct demo *d)
{
	struct cay_event e;
	int r = demo_await(d->port, &e), locked = -EIO;
	if (r == 0 && e.kind == CAY_EVENT_MESSAGE && e.length == sizeof(locked))
		locked = *(const int *)e.data;
	if (r == 0)
		cay_release(d->port, &e);
	return r ? r : locked;
}

static int put_word(struct demo *d, struct cay_key key, uint64_t word)
{
	return cay_put(
		d->port, d->peer, key, 0, &word, sizeof(word), word, CAY_ACK);
}

/* While it lives: nobody else gets in. */
static int lock_held(struct demo *d, struct cay_key key)
{
	int r = put_word(d, key, 0xe1);
	if (r)
		return show_failed(d, "cay_put", r);
	int busy = cay_window_lock(d->port, d->peer, key, 0);
	show_left(d, "> FAST_PUT: refused");
	show_left(d, "  lock: %s", busy == -EAGAIN ? "-EAGAIN" : "taken");
	show_right(d, "  locked by another process");
	show_rows(d, "origin", "target's window");
	if ((r = demo_completion(d, 0xe1, CAY_ERROR_TARGET_LOCKED)))
		return r;
	show_check(d, busy == -EAGAIN, "we cannot have it now");
	return 0;
}

/* After its death: ours, at once. */
static int lock_inherit(struct demo *d, struct cay_key key, pid_t pid)
{
	uint64_t begun = clock_now_ns();
	struct seen seen;
	kill(pid, SIGKILL);
	int r = cay_window_lock(
		d->port, d->peer, key, clock_after_ns(DEMO_PATIENCE_NS));
	double ms = (double)(clock_now_ns() - begun) / CLOCK_NS_PER_MS;
	if (!show_check(d, r == 0,
		    "process %d was killed: the lock is ours %.1f ms later",
		    (int)pid, ms))
		return -EPROTO;
	r = put_word(d, key, 0xe2);
	if (r == 0)
		r = demo_completion(d, 0xe2, CAY_ERROR_NONE);
	if (r == 0)
		r = target_asked(d, ORDER_LOOK, 8, &seen);
	if (r)
		return r;
	show_check(d, seen.data[0] == 0xe2 && seen.data[1] == 0,
		"what we put while we hold it is there");
	r = cay_window_unlock(d->port, d->peer, key);
	show_check(d, r == 0, "unlocked: %s", cay_strerror(r));
	return 0;
}

static int lock_run(struct demo *d, struct cay_key key, pid_t pid)
{
	int r = holder_await(d);
	if (r)
		return show_failed(d, "the holder", r);
	r = lock_held(d, key);
	return r ? r : lock_inherit(d, key, pid);
}

int demo_lock(struct demo *d)
{
	struct seen seen;

	show_scene(d, "Lock, and the death of who holds it",
		"    A process may have a window for itself alone. If it dies "
		"with it, the next\n"
		"    one gets it; nobody waits for the dead.\n");
	int r = target_asked(
		d, ORDER_WINDOW, CAY_RIGHT_READ | CAY_RIGHT_WRITE, &seen);
	if (r)
		return r;
	pid_t pid = demo_fork();
	if (pid == 0)
		holder_main(seen.key);
	r = pid < 0 ? show_failed(d, "fork", (int)pid)
		    : lock_run(d, seen.key, pid);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return r;
}
