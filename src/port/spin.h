/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a thread that waits may spin. Spinning is right while the thread has
 * a core to itself and wrong when another thread needs that core, which the
 * involuntary context switches of the thread show: the scheduler has preempted
 * it in favour of another thread of the same core.
 *
 * The number of runnable threads of the machine (/proc/loadavg) would not do:
 * it says nothing about the cores that the thread may use, so that a thread
 * pinned to a core of its own would never spin on a busy machine, and a thread
 * in a crowded cpuset of an idle machine always would.
 */
#ifndef CAY_PORT_SPIN_H
#define CAY_PORT_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* At most one sample of the context switches per interval. */
#define SPIN_SAMPLE_NS (5 * CLOCK_NS_PER_MS)
/* More than one preemption per interval, on average, means contention. */
#define SPIN_PREEMPTION_NS (20 * CLOCK_NS_PER_MS)
/* A thread that found contention does not spin for this time. */
#define SPIN_BACKOFF_NS_MIN (5 * CLOCK_NS_PER_MS)
#define SPIN_BACKOFF_NS_MAX (80 * CLOCK_NS_PER_MS)

/* State of one thread; zeroed at first. */
struct spin {
	uint64_t sampled_ns;  /* time of the last sample; 0: none */
	uint64_t preemptions; /* at the last sample */
	uint64_t backoff_ns;  /* length of the last back-off */
	uint64_t resume_ns;   /* end of it */
};

/*
 * Returns true if the thread may spin now. `preemptions` returns the
 * involuntary context switches of the calling thread since its start.
 */
bool spin_allowed(
	struct spin *, uint64_t now_ns, uint64_t (*preemptions)(void));

/* ru_nivcsw of the calling thread. */
uint64_t spin_preemptions(void);

#endif
