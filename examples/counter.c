/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shared counter: three processes and a thread increment one word, and the
 * processes elect a leader by compare-and-swap. In memory of cay_alloc(),
 *remote atomics and those of local threads are atomic with respect to each
 *other.
 *
 *	cc counter.c -o counter -pthread $(pkg-config --cflags --libs cay) &&
 *		./counter
 */
#include "example.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define CHILDREN   3
#define INCREMENTS 50000

/* The memory of the window; each word has a cache line of its own. */
struct shared {
	_Alignas(64) _Atomic uint64_t counter;
	_Alignas(64) _Atomic uint64_t leader; /* process number, 0: none */
	_Alignas(64) _Atomic uint64_t elections;
};

static void child(struct cay_addr address, struct cay_key key)
{
	struct cay_port *port = port_open(NULL);
	struct cay_peer *owner;
	uint64_t previous;

	check("cay_peer_resolve", cay_peer_resolve(port, address, &owner));
	for (int i = 0; i < INCREMENTS; i++)
		check("cay_fetch_add_into",
			cay_fetch_add_into(port, owner, key,
				offsetof(struct shared, counter), 1, &previous,
				0, 0));

	/* Only the first swap finds 0. */
	check("cay_compare_swap_into",
		cay_compare_swap_into(port, owner, key,
			offsetof(struct shared, leader), 0, (uint64_t)getpid(),
			&previous, 0, 0));
	/* The results are valid after the flush. */
	check("cay_flush", cay_flush(port, owner, deadline()));
	if (previous == 0)
		check("cay_fetch_add_into",
			cay_fetch_add_into(port, owner, key,
				offsetof(struct shared, elections), 1,
				&previous, 0, 0));
	check("cay_flush", cay_flush(port, owner, deadline()));
	cay_peer_release(owner);
	check("cay_port_close", cay_port_close(port));
}

static void *thread_main(void *argument)
{
	struct shared *shared = argument;
	for (int i = 0; i < INCREMENTS; i++)
		atomic_fetch_add(&shared->counter, 1);
	return NULL;
}

int main(void)
{
	struct cay_port *port = port_open(NULL);
	struct shared *shared = memory_alloc(port, sizeof(*shared));
	struct cay_window *window;
	struct cay_key key;
	pthread_t thread;

	check("cay_window_open", cay_window_open(port, shared, sizeof(*shared),
					 CAY_RIGHT_ATOMIC, &window));
	check("cay_window_key", cay_window_key(window, &key));
	for (int i = 0; i < CHILDREN; i++)
		if (child_start() == 0) {
			/* Address and key are plain data: inherited here. */
			child(cay_port_addr(port), key);
			_exit(0);
		}
	if (pthread_create(&thread, NULL, thread_main, shared) != 0)
		errx(1, "pthread_create");
	int failed = children_wait();
	pthread_join(thread, NULL);

	printf("%d processes and a thread added %d each: %d\n", CHILDREN,
		INCREMENTS, (int)atomic_load(&shared->counter));
	expect(atomic_load(&shared->counter) == (CHILDREN + 1) * INCREMENTS,
		"no increment is lost");
	expect(atomic_load(&shared->elections) == 1, "one process was elected");
	check("cay_window_close", cay_window_close(window));
	cay_free(port, shared);
	check("cay_port_close", cay_port_close(port));
	return failed ? 1 : 0;
}
