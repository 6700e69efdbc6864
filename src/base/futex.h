/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping on one half of a 64-bit word of shared memory. The moving words of
 * a queue set keep their flags in the upper half, so that is the half that
 * sleepers watch.
 */
#ifndef CAY_BASE_FUTEX_H
#define CAY_BASE_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

static inline uint32_t *futex_upper(_Atomic uint64_t *word)
{
	return (uint32_t *)(void *)word + 1; /* little-endian */
}

/*
 * Sleeps while the upper half is as in `seen`. 0 (woken, perhaps for nothing),
 * -EAGAIN (it had changed), -ETIMEDOUT, -EINTR. UINT64_MAX is no deadline.
 */
static inline int futex_wait_upper(
	_Atomic uint64_t *word, uint64_t seen, uint64_t deadline)
{
	struct timespec t = clock_timespec(deadline);
	long r = syscall(SYS_futex, futex_upper(word), FUTEX_WAIT_BITSET,
		(uint32_t)(seen >> 32), deadline == UINT64_MAX ? NULL : &t,
		NULL, FUTEX_BITSET_MATCH_ANY);
	return r < 0 ? -errno : 0;
}

static inline void futex_wake_upper(_Atomic uint64_t *word)
{
	syscall(SYS_futex, futex_upper(word), FUTEX_WAKE, INT_MAX, NULL, NULL,
		0);
}

#endif
