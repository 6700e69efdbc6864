/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scene: three processes, each with a port of its own, and a thread of this
 * one add to the same word at the same time. The word is in a window of ours.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/demo/demo.h"

#define ADDERS	 3
#define ADDS	 50000 /* of each */
#define WINDOW_B 4096

/* What is in the window, on lines of its own each. */
struct board {
	_Alignas(64) _Atomic uint64_t counter;
	_Alignas(64) _Atomic uint64_t leader; /* whoever is first, by CAS */
	_Alignas(64) _Atomic uint64_t ready;  /* adders that can begin */
	_Alignas(64) _Atomic uint64_t go;
	_Alignas(64) _Atomic uint64_t elected; /* that saw no leader before */
};

#define AT(member) offsetof(struct board, member)

/* ---- an adder ---- */

struct adder {
	struct cay_port *port;
	struct cay_peer *to;
	struct cay_key key;
	uint64_t deadline;
};

static int adder_open(struct adder *a)
{
	a->deadline = clock_after_ns(DEMO_PATIENCE_NS);
	a->port = cay_port_open(NULL);
	if (!a->port)
		return -errno;
	return cay_peer_lookup(a->port, ORIGIN_NAME, a->deadline, &a->to);
}

static int adder_add(struct adder *a, uint64_t offset)
{
	uint64_t previous;
	return cay_fetch_add_into(
		a->port, a->to, a->key, offset, 1, &previous, 0, 0);
}

static int adder_flush(struct adder *a)
{
	return cay_flush(a->port, a->to, a->deadline);
}

/* Until all may begin, so that they add at the same time. */
static int adder_wait(struct adder *a)
{
	uint64_t go = 0;
	int r = adder_add(a, AT(ready));
	while (r == 0 && !go) {
		r = cay_get(a->port, a->to, a->key, AT(go), &go, 8, 0, 0);
		if (r == 0)
			r = adder_flush(a);
		if (r == 0 && !go && clock_passed(a->deadline))
			r = -ETIMEDOUT;
	}
	return r;
}

/* Only who finds 0 becomes the leader. */
static int adder_elect(struct adder *a)
{
	uint64_t previous = 1;
	int r = cay_compare_swap_into(a->port, a->to, a->key, AT(leader), 0,
		(uint64_t)getpid(), &previous, 0, 0);
	if (r == 0)
		r = adder_flush(a);
	if (r == 0 && previous == 0)
		r = adder_add(a, AT(elected));
	return r;
}

__attribute__((noreturn)) static void adder_main(struct cay_key key)
{
	struct adder a = { .key = key };
	int r = adder_open(&a);
	if (r == 0)
		r = adder_wait(&a);
	for (unsigned i = 0; r == 0 && i < ADDS; i++)
		r = adder_add(&a, AT(counter));
	if (r == 0)
		r = adder_elect(&a);
	if (r == 0)
		r = adder_flush(&a);
	_exit(r ? 1 : 0);
}

/* ---- our side ---- */

static void *thread_main(void *argument)
{
	struct board *board = argument;
	while (!atomic_load_explicit(&board->go, memory_order_acquire))
		;
	for (unsigned i = 0; i < ADDS; i++)
		atomic_fetch_add_explicit(
			&board->counter, 1, memory_order_relaxed);
	return NULL;
}

static int adders_start(struct cay_key key, pid_t *pid)
{
	for (unsigned i = 0; i < ADDERS; i++) {
		pid[i] = demo_fork();
		if (pid[i] == 0)
			adder_main(key);
		if (pid[i] < 0)
			return (int)pid[i];
	}
	return 0;
}

static int adders_await(struct board *board)
{
	uint64_t deadline = clock_after_ns(DEMO_PATIENCE_NS);
	while (atomic_load_explicit(&board->ready, memory_order_acquire) <
		ADDERS) {
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		clock_nap_ns(CLOCK_NS_PER_MS / 10);
	}
	return 0;
}

/* How many of them ended well. */
static unsigned adders_end(const pid_t *pid)
{
	uint64_t deadline = clock_after_ns(DEMO_PATIENCE_NS);
	unsigned well = 0;
	for (unsigned i = 0; i < ADDERS; i++) {
		int status = 1;
		if (pid[i] <= 0)
			continue;
		while (waitpid(pid[i], &status, WNOHANG) == 0) {
			if (clock_passed(deadline))
				kill(pid[i], SIGKILL);
			clock_nap_ns(CLOCK_NS_PER_MS / 10);
		}
		well += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	return well;
}

static void atomic_show(struct demo *d, struct board *board, unsigned well)
{
	uint64_t counter = atomic_load(&board->counter);
	show_left(d, "> FAA +1, FAA +1, ... in 3 processes");
	show_left(d, "> CAS 0 -> pid, in each");
	show_right(d, "  a thread: atomic_fetch_add(), ...");
	show_right(d, "  counter %" PRIu64 ", leader %" PRIu64, counter,
		atomic_load(&board->leader));
	show_rows(d, "three origins", "this process, whose window it is");
	show_check(d, well == ADDERS && counter == (ADDERS + 1) * ADDS,
		"%u processes and a thread added %u each: %" PRIu64
		", none lost",
		ADDERS, ADDS, counter);
	show_check(d, atomic_load(&board->elected) == 1,
		"exactly one of them was the first to swap itself in");
}

static int atomic_run(struct demo *d, struct board *board, struct cay_key key)
{
	pid_t pid[ADDERS] = { 0 };
	pthread_t thread;
	int r = adders_start(key, pid);
	bool local = r == 0 &&
		     pthread_create(&thread, NULL, thread_main, board) == 0;
	if (r == 0)
		r = local ? adders_await(board) : -EAGAIN;
	/* In any case, or the thread waits for ever. */
	atomic_store_explicit(&board->go, 1, memory_order_release);
	unsigned well = adders_end(pid);
	if (local)
		pthread_join(thread, NULL);
	if (r)
		return show_failed(d, "the adders", r);
	atomic_show(d, board, well);
	return 0;
}

static int atomic_window(struct demo *d, struct board *board)
{
	struct cay_window *window;
	struct cay_key key;
	int r = cay_window_open(d->port, board, WINDOW_B,
		CAY_RIGHT_READ | CAY_RIGHT_ATOMIC, &window);
	if (r)
		return show_failed(d, "cay_window_open", r);
	cay_window_key(window, &key);
	r = atomic_run(d, board, key);
	int closed = cay_window_close(window);
	return closed && !r ? show_failed(d, "cay_window_close", closed) : r;
}

int demo_atomic(struct demo *d)
{
	_Static_assert(sizeof(struct board) <= WINDOW_B, "fits");
	struct board *board = cay_alloc(d->port, WINDOW_B, 0);

	show_scene(d, "Atomics: one counter for all",
		"    Three processes add to a word of our memory while a "
		"thread of ours does the\n"
		"    same with processor instructions; and they elect a "
		"leader.\n");
	if (!board)
		return show_failed(d, "cay_alloc", -errno);
	int r = atomic_window(d, board);
	cay_free(d->port, board);
	return r;
}
