/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a thread does that reads a queue or counter in vain again and again. On
 * a core of its own it spins, which finds a message soonest. Where the core is
 * shared, the awaited process may need it:
 *
 * - If reads follow each other closely, the caller does not yield: the thread
 *   yields. If the others yield as well, it has the core again after
 *   microseconds, and yields earlier from then on.
 * - If it gets the core back much later, the other process does not wait but
 *   computes, and got the rest of the thread's time slice with the yield. Each
 *   further one would cost as much. The thread sleeps on its port instead, for
 *   a bounded time: a sleeper keeps its claim to the processor, and a message
 *   wakes it within microseconds.
 * - If the caller yields between its reads, and loses the core for long each
 *   time, the thread sleeps before it returns, for the same reason.
 *
 * A caller that works between its reads, which the processor time of the thread
 * shows, is delayed a few times at most.
 */
#ifndef CAY_PROVIDER_PACE_H
#define CAY_PROVIDER_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Reads in vain in a period, after which the pace is examined: so many that the
 * clock costs nothing where messages alternate with a few of them.
 */
#define PACE_READS	 127u
#define PACE_READS_APART 7u /* where reads take longer than the clock */
/*
 * Reads in vain, with no other in between, after which the thread yields: what
 * takes some microseconds, longer than the reply to a message takes; and where
 * yielding has let other processes run.
 */
#define PACE_IDLE_MAX 256u
#define PACE_IDLE_MIN 8u

/* Relaxed atomics: all threads that read share this heuristic. */
struct pace {
	_Atomic unsigned left;	   /* reads in vain until the period is over */
	_Atomic unsigned reads;	   /* of a period, without the last one */
	_Atomic bool found;	   /* a read has found something since */
	_Atomic unsigned idle;	   /* reads in vain since then */
	_Atomic unsigned idle_max; /* when to yield, or to sleep */
	_Atomic uint64_t since_ns; /* begin of the period */
	_Atomic uint64_t cpu_ns;   /* processor time then; 0: not known */
	_Atomic uint64_t crowded_until_ns; /* sleep instead of yielding */
	_Atomic bool probed;	   /* whether that is over: not known yet */
	_Atomic unsigned works;	   /* reads of a caller that seemed to work */
	_Atomic uint64_t sleep_ns; /* of the next sleep */
};

enum pace_step {
	PACE_RETURN, /* to the caller */
	PACE_YIELD,  /* and call pace_yielded() */
	PACE_SLEEP,  /* for sleep_ns at most */
};

void pace_init(struct pace *);
/*
 * A period is over. `cpu_ns` returns the processor time of the thread; it is
 * called where the reads are far apart.
 */
enum pace_step pace_expired(
	struct pace *, uint64_t now_ns, uint64_t (*cpu_ns)(void));
/* sched_yield() has returned after so long. */
void pace_yielded(struct pace *, uint64_t now_ns, uint64_t lost_ns);
/* The sleep is over; `cpu_ns` is the processor time of the thread. */
void pace_slept(struct pace *, uint64_t now_ns, uint64_t cpu_ns);

/* Counts a read in vain. Returns true if the period is over. */
static inline bool pace_missed(struct pace *p)
{
	unsigned n = atomic_load_explicit(&p->left, memory_order_relaxed);
	if (n == 0)
		return true;
	atomic_store_explicit(&p->left, n - 1, memory_order_relaxed);
	return false;
}

/* Returns true if other processes use the core. */
static inline bool pace_shared(const struct pace *p, uint64_t now_ns)
{
	return atomic_load_explicit(&p->idle_max, memory_order_relaxed) <
		       PACE_IDLE_MAX ||
	       now_ns < atomic_load_explicit(
				&p->crowded_until_ns, memory_order_relaxed);
}

/* Notes a read that has found something. */
static inline void pace_found(struct pace *p)
{
	atomic_store_explicit(&p->found, true, memory_order_relaxed);
}

#endif
