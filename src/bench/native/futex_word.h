/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The least with which one process can wake another: a word of shared memory
 * per rank, on which that rank sleeps.
 */
#ifndef CAY_BENCH_NATIVE_FUTEX_WORD_H
#define CAY_BENCH_NATIVE_FUTEX_WORD_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/harness/workload.h"

#define WORD_NAP_NS (100 * CLOCK_NS_PER_MS)

struct word {
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t raised; /* others */
	_Alignas(CACHE_SEPARATION) uint32_t seen; /* the rank itself */
};

static inline struct word *word_of(struct side *s, unsigned rank)
{
	return (struct word *)(void *)s->shared + rank;
}

static inline int word_setup(struct side *s)
{
	*word_of(s, s->rank) = (struct word){ 0 };
	return 0;
}

static inline void word_raise(struct side *s, unsigned rank)
{
	struct word *w = word_of(s, rank);

	atomic_fetch_add_explicit(&w->raised, 1, memory_order_release);
	syscall(SYS_futex, &w->raised, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Sleeps until somebody has raised this rank's word once more. */
static inline int word_sleep(struct side *s)
{
	struct word *w = word_of(s, s->rank);
	struct timespec nap = clock_timespec(WORD_NAP_NS);
	int r;

	while (atomic_load_explicit(&w->raised, memory_order_acquire) ==
		w->seen) {
		syscall(SYS_futex, &w->raised, FUTEX_WAIT, w->seen, &nap, NULL,
			0);
		if ((r = group_check(s->group)))
			return r;
	}
	w->seen++;
	return 0;
}

#endif
