/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A word of shared memory per rank, on which that rank sleeps: the least that
 * one process needs to wake another.
 */
#ifndef CAY_BENCH_NATIVE_FUTEX_WORD_H
#define CAY_BENCH_NATIVE_FUTEX_WORD_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/native/workloads.h"

#define FUTEX_SLEEP_NS (100 * CLOCK_NS_PER_MS) /* before group_check() */

struct futex_word {
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t posted; /* other ranks */
	_Alignas(CACHE_SEPARATION) uint32_t seen;	    /* its rank */
};

static inline struct futex_word *futex_word(struct side *s, unsigned rank)
{
	return (struct futex_word *)(void *)s->shared + rank;
}

/* Posts to a rank and wakes it. */
static inline int futex_word_post(struct side *s, unsigned rank)
{
	struct futex_word *w = futex_word(s, rank);

	atomic_fetch_add_explicit(&w->posted, 1, memory_order_release);
	syscall(SYS_futex, &w->posted, FUTEX_WAKE, 1, NULL, NULL, 0);
	return 0;
}

/* Sleeps until this rank's word has been posted once more. */
static inline int futex_word_sleep(struct side *s)
{
	struct futex_word *w = futex_word(s, s->rank);
	struct timespec timeout = clock_timespec(FUTEX_SLEEP_NS);
	int r;

	while (atomic_load_explicit(&w->posted, memory_order_acquire) ==
		w->seen) {
		syscall(SYS_futex, &w->posted, FUTEX_WAIT, w->seen, &timeout,
			NULL, 0);
		if ((r = group_check(s->group)))
			return r;
	}
	w->seen++;
	return 0;
}

#endif
