/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranks' side of a group: commands, barriers and bounded waits. The
 * parent's side is launch.c.
 *
 * Ordering edges: P1 store of `command` (release) pairs with P2 load (acquire):
 * the command's fields. P3 store of `ready` or `barriers` (release) pairs with
 * P4 load (acquire): what that rank has prepared.
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

/* How long a rank spins for the next command before it sleeps. */
#define COMMAND_SPIN_NS	 (2 * CLOCK_NS_PER_MS)
#define COMMAND_SLEEP_NS (50 * CLOCK_NS_PER_MS)
/* While it is paused: every wake-up disturbs what is measured meanwhile. */
#define PAUSED_SLEEP_NS (2 * CLOCK_NS_PER_S)

static size_t page_bytes(void)
{
	return bits_round_up(sizeof(struct group_page), 4096);
}

size_t group_bytes(size_t area_bytes)
{
	return page_bytes() + area_bytes;
}

void group_attach(
	struct group *g, unsigned ranks, void *memory, size_t area_bytes)
{
	*g = (struct group){ .ranks = ranks,
		.page = memory,
		.area = (unsigned char *)memory + page_bytes(),
		.area_bytes = area_bytes,
		.timeout_ns = GROUP_TIMEOUT_NS };
}

void group_restart_timeout(struct group *g)
{
	g->deadline = clock_after_ns(g->timeout_ns);
}

int group_check(const struct group *g)
{
	if (atomic_load_explicit(&g->page->failed, memory_order_relaxed))
		return -ECANCELED;
	return clock_passed(g->deadline) ? -ETIMEDOUT : 0;
}

int group_fail(struct group *g, const char *format, ...)
{
	va_list arguments;
	uint32_t none = 0;

	/* 1 claims the text, 2 publishes it; the parent reads it. */
	if (!atomic_compare_exchange_strong(&g->page->failed, &none, 1))
		return -ECANCELED;
	va_start(arguments, format);
	vsnprintf(g->page->text, sizeof(g->page->text), format, arguments);
	va_end(arguments);
	atomic_store(&g->page->failed, 2);
	syscall(SYS_futex, &g->page->command, FUTEX_WAKE, INT_MAX, NULL, NULL,
		0);
	return -ECANCELED;
}

int group_barrier(struct group *g, unsigned rank)
{
	struct group_member *member = g->page->member;
	uint32_t barrier = 1 + atomic_fetch_add_explicit(&member[rank].barriers,
				       1, memory_order_acq_rel); /* P3 */
	int r;

	for (unsigned i = 0; i < g->ranks; i++)
		while (atomic_load_explicit(&member[i].barriers,
			       memory_order_acquire) < barrier) { /* P4 */
			sched_yield();
			if ((r = group_check(g)))
				return r;
		}
	return 0;
}

void group_command(
	struct group *g, uint32_t workload, const struct sampling *sampling)
{
	struct group_page *page = g->page;

	page->workload = workload;
	page->sampling = *sampling;
	atomic_fetch_add_explicit(
		&page->command, 1, memory_order_release); /* P1 */
	/* Unconditional: the 100 ns are outside the measured time. */
	syscall(SYS_futex, &page->command, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int group_await_command(
	struct group *g, uint32_t *workload, struct sampling *sampling)
{
	const struct timespec sleep =
		clock_timespec(g->paused ? PAUSED_SLEEP_NS : COMMAND_SLEEP_NS);
	struct group_page *page = g->page;
	uint64_t spin_until = group_oversubscribed(g) || g->paused
				      ? 0
				      : clock_after_ns(COMMAND_SPIN_NS);
	uint32_t now;
	int r;

	/* P2 */
	while ((now = atomic_load_explicit(&page->command,
			memory_order_acquire)) == g->command_seen) {
		if ((r = group_check(g)))
			return r;
		if (g->progress && !g->paused)
			r = g->progress(g->progress_state);
		else if (clock_passed(spin_until))
			syscall(SYS_futex, &page->command, FUTEX_WAIT,
				g->command_seen, &sleep, NULL, 0);
		if (r)
			return r;
	}
	g->command_seen = now;
	*workload = page->workload;
	*sampling = page->sampling;
	return 0;
}

int group_await_ready(struct group *g, uint64_t batches)
{
	uint32_t spins = 0;
	int r;

	for (unsigned i = 1; i < g->ranks; i++)
		while (atomic_load_explicit(&g->page->member[i].ready,
			       memory_order_acquire) < batches) { /* P4 */
			/* A rank that spins would keep others off the core. */
			if (group_oversubscribed(g))
				sched_yield();
			if (g->progress && (r = g->progress(g->progress_state)))
				return r;
			if ((r = group_spin(g, &spins)))
				return r;
		}
	return 0;
}

void group_ready(struct group *g, unsigned rank)
{
	atomic_fetch_add_explicit(
		&g->page->member[rank].ready, 1, memory_order_release); /* P3 */
}

void group_count_preemptions(struct group *g, unsigned rank)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	atomic_store_explicit(&g->page->member[rank].preemptions,
		(uint32_t)usage.ru_nivcsw, memory_order_relaxed);
}

uint32_t group_preemptions(const struct group *g)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < g->ranks; i++)
		sum += atomic_load_explicit(
			&g->page->member[i].preemptions, memory_order_relaxed);
	return sum;
}
