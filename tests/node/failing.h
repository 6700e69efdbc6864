/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fault injection for allocations, and a count of allocated blocks. Requires
 * -Wl,--wrap= for malloc, calloc, realloc, aligned_alloc and free, and static
 * linking of the code under test. Include it in one file of a program.
 */
#ifndef CAY_TESTS_NODE_FAILING_H
#define CAY_TESTS_NODE_FAILING_H

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
void __real_free(void *);

static struct {
	_Atomic long countdown; /* 1: the next allocation fails; 0: none */
	bool all;		/* all later allocations fail, too */
	_Atomic long failed;
	_Atomic long blocks, bytes; /* currently allocated */
} failing;

/* Makes the n-th allocation from now on fail, and all later ones if `all`. */
static inline void failing_begin(long n, bool all)
{
	failing.all = all;
	atomic_store(&failing.failed, 0);
	atomic_store(&failing.countdown, n);
}

/* Disables failures; returns the number of failed allocations. */
static inline long failing_end(void)
{
	atomic_store(&failing.countdown, 0);
	return atomic_load(&failing.failed);
}

static inline bool failing_now(void)
{
	long countdown = atomic_load(&failing.countdown);
	if (countdown == 0)
		return false;
	if (countdown > 1) {
		atomic_store(&failing.countdown, countdown - 1);
		return false;
	}
	if (!failing.all)
		atomic_store(&failing.countdown, 0);
	atomic_fetch_add(&failing.failed, 1);
	return true;
}

static inline void *failing_count(void *p)
{
	if (p) {
		atomic_fetch_add(&failing.blocks, 1);
		atomic_fetch_add(&failing.bytes, (long)malloc_usable_size(p));
	}
	return p;
}

static inline void failing_uncount(void *p)
{
	if (p) {
		atomic_fetch_sub(&failing.blocks, 1);
		atomic_fetch_sub(&failing.bytes, (long)malloc_usable_size(p));
	}
}

void *__wrap_malloc(size_t bytes)
{
	return failing_now() ? NULL : failing_count(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return failing_now() ? NULL
			     : failing_count(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *old, size_t bytes)
{
	if (failing_now())
		return NULL;
	failing_uncount(old);
	void *p = __real_realloc(old, bytes);
	failing_count(p ? p : old);
	return p;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	return failing_now()
		       ? NULL
		       : failing_count(__real_aligned_alloc(align, bytes));
}

void __wrap_free(void *p)
{
	failing_uncount(p);
	__real_free(p);
}

#endif
