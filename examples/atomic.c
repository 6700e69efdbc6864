/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote atomics: three child processes and a thread of the parent increment
 * the same counter, and the children elect a leader with compare-and-swap. In
 * memory of cay_alloc(), remote atomics and those of local threads are atomic
 * with respect to each other.
 *
 *	cc atomic.c -o atomic -pthread $(pkg-config --cflags --libs cay)
 */
#include <cay/cay.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN   3
#define INCREMENTS 50000

/* The memory of the window; each word has a cache line of its own. */
struct shared {
	_Alignas(64) _Atomic uint64_t counter;
	_Alignas(64) _Atomic uint64_t leader; /* process number, 0: none */
	_Alignas(64) _Atomic uint64_t elections;
};

static void check(const char *call, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", call, cay_strerror(result));
	exit(1);
}

static uint64_t deadline(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)(now.tv_sec + 10) * 1000000000 + (uint64_t)now.tv_nsec;
}

static int child(struct cay_addr address, struct cay_key key)
{
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *owner;
	uint64_t previous;

	if (!port)
		check("cay_port_open", -errno);
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
	check("cay_flush", cay_flush(port, owner, deadline()));
	if (previous == 0)
		check("cay_fetch_add_into",
			cay_fetch_add_into(port, owner, key,
				offsetof(struct shared, elections), 1,
				&previous, 0, 0));
	check("cay_flush", cay_flush(port, owner, deadline()));
	cay_peer_release(owner);
	check("cay_port_close", cay_port_close(port));
	return 0;
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
	struct cay_port *port = cay_port_open(NULL);
	struct cay_window *window;
	struct cay_key key;
	pthread_t thread;
	int status, failed = 0;

	if (!port)
		check("cay_port_open", -errno);
	struct shared *shared = cay_alloc(port, sizeof(*shared), 0);
	if (!shared)
		check("cay_alloc", -errno);
	check("cay_window_open", cay_window_open(port, shared, sizeof(*shared),
					 CAY_RIGHT_ATOMIC, &window));
	check("cay_window_key", cay_window_key(window, &key));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0)
			_exit(child(cay_port_addr(port), key));
	}
	check("pthread_create",
		-pthread_create(&thread, NULL, thread_main, shared));
	while (wait(&status) > 0)
		failed |= status != 0;
	pthread_join(thread, NULL);

	uint64_t counter = atomic_load(&shared->counter);
	printf("%d processes and a thread added %d each: %d\n", CHILDREN,
		INCREMENTS, (int)counter);
	printf("process %d was elected; elections won: %d\n",
		(int)atomic_load(&shared->leader),
		(int)atomic_load(&shared->elections));
	failed |= counter != (CHILDREN + 1) * INCREMENTS ||
		  atomic_load(&shared->elections) != 1;
	check("cay_window_close", cay_window_close(window));
	cay_free(port, shared);
	check("cay_port_close", cay_port_close(port));
	return failed;
}
