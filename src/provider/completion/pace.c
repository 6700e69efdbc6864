/* SPDX-License-Identifier: BSD-2-Clause */
/* See pace.h. Reads no clock itself, so that tests need none. */
#include "provider/completion/pace.h"

#include "base/bits.h"
#include "base/clock.h"

/* Reads that follow each other more closely do nothing in between. */
#define TIGHT_NS 300
/* A sched_yield() that returns at once takes less. */
#define YIELD_NS (3 * CLOCK_NS_PER_US)
/* Between processes that all wait, the core changes hands faster. */
#define LONG_NS (200 * CLOCK_NS_PER_US)
/* One that uses a greater share of the time than 1 / WORK_SHARE works. */
#define WORK_SHARE 16
/* Reads in vain in a row with work before them, until that is believed. */
#define WORKS_MAX 4
/* Multiple of the time that was lost, until the thread may lose it again. */
#define BACKOFF	       64
#define CROWDED_NS_MAX CLOCK_NS_PER_S
#define SLEEP_NS_MAX   (5 * CLOCK_NS_PER_MS)

#define GET(word) atomic_load_explicit(&(word), memory_order_relaxed)
#define SET(word, value) \
	atomic_store_explicit(&(word), value, memory_order_relaxed)

void pace_init(struct pace *p)
{
	*p = (struct pace){ .left = PACE_READS,
		.reads = PACE_READS,
		.idle_max = PACE_IDLE_MAX };
}

/* The length of the next period. */
static void period(struct pace *p, unsigned reads)
{
	reads = (unsigned)bits_min(reads, PACE_READS);
	SET(p->reads, reads);
	SET(p->left, reads);
}

/*
 * For a while the thread sleeps instead of yielding, each time for as long as a
 * yield takes the core away.
 */
static void crowded(struct pace *p, uint64_t now_ns, uint64_t lost_ns)
{
	SET(p->crowded_until_ns,
		now_ns + bits_min(BACKOFF * lost_ns, CROWDED_NS_MAX));
	SET(p->sleep_ns, bits_min(lost_ns, SLEEP_NS_MAX));
	SET(p->probed, false);
	SET(p->works, 0);
}

/* Returns whether the caller has worked, or if that is not known. */
static bool worked(struct pace *p, uint64_t took_ns, uint64_t cpu_ns)
{
	uint64_t before = GET(p->cpu_ns);
	SET(p->cpu_ns, cpu_ns);
	return before == 0 || cpu_ns - before > took_ns / WORK_SHARE;
}

enum pace_step pace_expired(
	struct pace *p, uint64_t now_ns, uint64_t (*cpu_ns)(void))
{
	unsigned reads = GET(p->reads) + 1;
	uint64_t took = now_ns - GET(p->since_ns);
	bool found = GET(p->found);
	unsigned idle = found ? 0 : GET(p->idle) + reads;
	/* If the caller yields, it must not return without an event. */
	bool each = reads == 1;

	SET(p->since_ns, now_ns);
	SET(p->found, false);
	SET(p->idle, idle);
	SET(p->left, reads - 1);
	if (now_ns < GET(p->crowded_until_ns)) {
		if (!each)
			return idle < PACE_IDLE_MAX ? PACE_RETURN : PACE_SLEEP;
		/* Once is not enough: now and then a yield returns at once. */
		bool works = worked(p, took, cpu_ns()) && !found;
		SET(p->works, works ? GET(p->works) + 1 : 0);
		if (GET(p->works) < WORKS_MAX)
			return PACE_SLEEP;
		SET(p->crowded_until_ns, 0);
		period(p, PACE_READS_APART);
		return PACE_RETURN;
	}
	period(p, 2 * reads - 1);
	if (took >= reads * LONG_NS) {
		period(p, (unsigned)bits_min(GET(p->reads), PACE_READS_APART));
		if (worked(p, took, cpu_ns()))
			return PACE_RETURN;
		crowded(p, now_ns, took);
		period(p, 0);
		return PACE_SLEEP;
	}
	if (each && !GET(p->probed)) {
		/* The next read shows whether the core is still lost. */
		SET(p->probed, true);
		SET(p->cpu_ns, cpu_ns());
		period(p, 0);
		return PACE_RETURN;
	}
	SET(p->cpu_ns, 0);
	if (took >= reads * TIGHT_NS) {
		/* The caller yields, or does something else, in between. */
		SET(p->idle, 0);
		period(p, (unsigned)bits_min(GET(p->reads), PACE_READS_APART));
		return PACE_RETURN;
	}
	if (GET(p->idle_max) < PACE_READS)
		period(p, GET(p->idle_max) - 1);
	return idle < GET(p->idle_max) ? PACE_RETURN : PACE_YIELD;
}

void pace_yielded(struct pace *p, uint64_t now_ns, uint64_t lost_ns)
{
	unsigned idle_max = GET(p->idle_max);
	SET(p->since_ns, now_ns);
	SET(p->idle, 0);
	if (lost_ns < YIELD_NS) {
		idle_max = (unsigned)bits_min(2 * idle_max, PACE_IDLE_MAX);
	} else if (lost_ns < LONG_NS) {
		idle_max = PACE_IDLE_MIN;
	} else {
		idle_max = PACE_IDLE_MAX;
		crowded(p, now_ns, lost_ns);
	}
	SET(p->idle_max, idle_max);
	period(p, idle_max - 1);
}

void pace_slept(struct pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
	SET(p->since_ns, now_ns);
	SET(p->cpu_ns, cpu_ns);
}
