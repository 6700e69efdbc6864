/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Futex on one half of a 64-bit word in shared memory. A receiver waits on the
 * upper half of W, which contains the flags; a sender under backpressure waits
 * on the lower half of R, which counts returned entries.
 */
#ifndef CAY_BASE_FUTEX_H
#define CAY_BASE_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* The order of the halves is little-endian. */
static inline uint32_t *futex_half(_Atomic uint64_t *word, bool upper)
{
	return (uint32_t *)(void *)word + upper;
}

/*
 * Sleeps while the half equals that of `seen`. Returns 0 (possibly spuriously),
 * -EAGAIN (it differs), -ETIMEDOUT, -EINTR. UINT64_MAX means no deadline.
 */
static inline int futex_wait(
	_Atomic uint64_t *word, bool upper, uint64_t seen, uint64_t deadline)
{
	/*
	 * Without a timeout the kernel restarts the call after a handler with
	 * SA_RESTART, so a sleep without a deadline is limited to one day.
	 */
	struct timespec t = clock_timespec(
		deadline == UINT64_MAX
			? clock_after_ns(24 * 3600 * CLOCK_NS_PER_S)
			: deadline);
	long r = syscall(SYS_futex, futex_half(word, upper), FUTEX_WAIT_BITSET,
		(uint32_t)(upper ? seen >> 32 : seen), &t, NULL,
		FUTEX_BITSET_MATCH_ANY);
	return r < 0 ? -errno : 0;
}

static inline void futex_wake(_Atomic uint64_t *word, bool upper)
{
	syscall(SYS_futex, futex_half(word, upper), FUTEX_WAKE, INT_MAX, NULL,
		NULL, 0);
}

static inline int futex_wait_upper(
	_Atomic uint64_t *word, uint64_t seen, uint64_t deadline)
{
	return futex_wait(word, true, seen, deadline);
}

static inline int futex_wait_lower(
	_Atomic uint64_t *word, uint64_t seen, uint64_t deadline)
{
	return futex_wait(word, false, seen, deadline);
}

static inline void futex_wake_upper(_Atomic uint64_t *word)
{
	futex_wake(word, true);
}

static inline void futex_wake_lower(_Atomic uint64_t *word)
{
	futex_wake(word, false);
}

#endif
