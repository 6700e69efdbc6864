/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes' side of a group: commands, barriers and bounded waits. What
 * the parent does is in parent.c.
 *
 * Ordering edges: P1 store `command` (release) pairs with P2 load (acquire):
 * the command's fields. P3 store `ready` or `stage` (release) pairs with P4
 * load (acquire): whatever that rank has prepared.
 */
#include "bench/harness/group.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long a follower spins for the next command before it sleeps. */
#define COMMAND_SPIN_NS (2 * CLOCK_NS_PER_MS)
#define COMMAND_NAP_NS	(50 * CLOCK_NS_PER_MS)

void group_restart_timeout(struct group *p)
{
	p->deadline = clock_after_ns(GROUP_TIMEOUT_NS);
}

int group_check(const struct group *p)
{
	if (atomic_load_explicit(&p->page->failed, memory_order_relaxed))
		return -ECANCELED;
	return clock_passed(p->deadline) ? -ETIMEDOUT : 0;
}

int group_fail(struct group *p, const char *format, ...)
{
	va_list arguments;
	uint32_t nobody = 0;

	/* 1 claims the text, 2 says that it is there; the parent reads it. */
	if (!atomic_compare_exchange_strong(&p->page->failed, &nobody, 1))
		return -ECANCELED;
	va_start(arguments, format);
	vsnprintf(p->page->text, sizeof(p->page->text), format, arguments);
	va_end(arguments);
	atomic_store(&p->page->failed, 2);
	return -ECANCELED;
}

/* Among more processes than cores, whoever spins keeps others from running. */
static inline void group_pause(const struct group *p)
{
	if (group_oversubscribed(p))
		sched_yield();
}

static int group_await_stage(struct group *p, unsigned rank, uint32_t stage)
{
	const _Atomic uint32_t *reached = &p->page->member[rank].stage;
	int r = 0;

	/* P4 */
	while (!r &&
		atomic_load_explicit(reached, memory_order_acquire) < stage) {
		sched_yield();
		r = group_check(p);
	}
	return r;
}

int group_barrier(struct group *p, unsigned rank)
{
	uint32_t stage =
		1 + atomic_fetch_add_explicit(&p->page->member[rank].stage, 1,
			    memory_order_acq_rel); /* P3 */
	int r = 0;

	for (unsigned i = 0; !r && i < p->ranks; i++)
		r = group_await_stage(p, i, stage);
	return r;
}

void group_command(
	struct group *p, uint32_t workload, const struct shape *shape)
{
	struct group_page *page = p->page;

	page->workload = workload;
	page->shape = *shape;
	atomic_fetch_add_explicit(
		&page->command, 1, memory_order_release); /* P1 */
	/* Always: it costs rank 0 some 100 ns that nobody measures. */
	syscall(SYS_futex, &page->command, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void group_nap(struct group *p, uint32_t seen)
{
	struct timespec t = clock_timespec(COMMAND_NAP_NS);

	syscall(SYS_futex, &p->page->command, FUTEX_WAIT, seen, &t, NULL, 0);
}

int group_await_command(struct group *p, uint32_t *seen, uint32_t *workload,
	struct shape *shape)
{
	struct group_page *page = p->page;
	uint64_t spin_until =
		group_oversubscribed(p) ? 0 : clock_after_ns(COMMAND_SPIN_NS);
	uint32_t now;
	int r;

	/* P2 */
	while ((now = atomic_load_explicit(
			&page->command, memory_order_acquire)) == *seen) {
		if ((r = group_check(p)))
			return r;
		if (clock_passed(spin_until))
			group_nap(p, *seen);
	}
	*seen = now;
	*workload = page->workload;
	*shape = page->shape;
	return 0;
}

int group_await_ready(struct group *p, uint64_t batches)
{
	uint32_t looks = 0;
	int r;

	for (unsigned i = 1; i < p->ranks; i++)
		while (atomic_load_explicit(&p->page->member[i].ready,
			       memory_order_acquire) < batches) { /* P4 */
			group_pause(p);
			if ((r = group_spin(p, &looks)))
				return r;
		}
	return 0;
}

void group_ready(struct group *p, unsigned rank)
{
	atomic_fetch_add_explicit(
		&p->page->member[rank].ready, 1, memory_order_release); /* P3 */
}

void group_count_switches(struct group *p, unsigned rank)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	atomic_store_explicit(&p->page->member[rank].switches,
		(uint32_t)usage.ru_nivcsw, memory_order_relaxed);
}

uint32_t group_switches(const struct group *p)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < p->ranks; i++)
		sum += atomic_load_explicit(
			&p->page->member[i].switches, memory_order_relaxed);
	return sum;
}
