/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks of the cold paths. A thread that is cancelled, or that leaves a call by
 * longjmp from a signal handler, must not hold a lock, so both are blocked
 * while one is held. This costs two system calls: not for hot paths.
 */
#ifndef CAY_PORT_LOCK_H
#define CAY_PORT_LOCK_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

struct lock_guard {
	sigset_t signals;
	int cancel;
};

static inline void lock_guard_begin(struct lock_guard *guard)
{
	sigset_t all;
	sigfillset(&all);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel);
	pthread_sigmask(SIG_SETMASK, &all, &guard->signals);
}

static inline void lock_guard_end(const struct lock_guard *guard)
{
	pthread_sigmask(SIG_SETMASK, &guard->signals, NULL);
	pthread_setcancelstate(guard->cancel, NULL);
}

static inline void lock_take(pthread_mutex_t *lock, struct lock_guard *guard)
{
	lock_guard_begin(guard);
	pthread_mutex_lock(lock);
}

/* Returns false without waiting if another thread holds the lock. */
static inline bool lock_try(pthread_mutex_t *lock, struct lock_guard *guard)
{
	lock_guard_begin(guard);
	if (pthread_mutex_trylock(lock) == 0)
		return true;
	lock_guard_end(guard);
	return false;
}

static inline void lock_drop(
	pthread_mutex_t *lock, const struct lock_guard *guard)
{
	pthread_mutex_unlock(lock);
	lock_guard_end(guard);
}

#endif
