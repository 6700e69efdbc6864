/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The baselinees of operations on a word: what the processor does if the word
 * is in memory that both have mapped. No windows, no keys, no checks, no
 * records, no events.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/harness/workload.h"

/* A word of each rank's, on pages of their own as windows are. */
struct words {
	_Alignas(4096) _Atomic uint64_t word;
};

/* One process's view. */
struct word_baseline {
	_Atomic uint64_t *mine, *theirs;
	uint64_t done, seen;
};

static int word_setup(struct side *s)
{
	struct words *words = (struct words *)(void *)s->shared;
	struct word_baseline *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->mine = &words[s->rank].word;
	k->theirs = &words[1 - s->rank].word;
	s->state = k;
	return 0;
}

static void word_teardown(struct side *s)
{
	free(s->state);
	s->state = NULL;
}

/* ---- a store that the target sees ---- */

static int put_issue(struct side *s)
{
	struct word_baseline *k = s->state;

	atomic_store_explicit(k->theirs, ++k->done, memory_order_release);
	return 0;
}

static int put_await(struct side *s)
{
	struct word_baseline *k = s->state;

	return group_await(s->group, k->mine, ++k->seen);
}

static int put_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, put_issue, put_await);
}

static int put_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, put_await, put_issue);
}

/* ---- operations while the target is idle ---- */

static int put_flush(struct side *s)
{
	put_issue(s);
	atomic_thread_fence(memory_order_seq_cst);
	return 0;
}

static int put_flush_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, put_flush);
}

static int fetch_add(struct side *s)
{
	struct word_baseline *k = s->state;
	uint64_t before =
		atomic_fetch_add_explicit(k->theirs, 1, memory_order_acq_rel);

	return likely(before == k->done++) ? 0 : -EBADMSG;
}

static int fetch_add_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, fetch_add);
}

static int compare_swap(struct side *s)
{
	struct word_baseline *k = s->state;
	uint64_t before = k->done++;

	return likely(atomic_compare_exchange_strong_explicit(k->theirs,
		       &before, before + 1, memory_order_acq_rel,
		       memory_order_acquire))
		       ? 0
		       : -EBADMSG;
}

static int compare_swap_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, compare_swap);
}

static int get(struct side *s)
{
	struct word_baseline *k = s->state;
	uint64_t word = atomic_load_explicit(k->theirs, memory_order_acquire);

	atomic_thread_fence(memory_order_seq_cst);
	return likely(word == k->done) ? 0 : -EBADMSG;
}

static int get_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, get);
}

const struct workload baseline_put_workload = {
	.name = "baseline",
	.setup = word_setup,
	.prepare = workload_nothing,
	.ping = put_ping,
	.pong = put_pong,
	.teardown = word_teardown,
};

const struct workload baseline_put_flush_workload = {
	.name = "baseline",
	.setup = word_setup,
	.prepare = workload_nothing,
	.ping = put_flush_ping,
	.pong = workload_idle,
	.teardown = word_teardown,
};

const struct workload baseline_fetch_add_workload = {
	.name = "baseline",
	.setup = word_setup,
	.prepare = workload_nothing,
	.ping = fetch_add_ping,
	.pong = workload_idle,
	.teardown = word_teardown,
};

const struct workload baseline_compare_swap_workload = {
	.name = "baseline",
	.setup = word_setup,
	.prepare = workload_nothing,
	.ping = compare_swap_ping,
	.pong = workload_idle,
	.teardown = word_teardown,
};

const struct workload baseline_get_workload = {
	.name = "baseline",
	.setup = word_setup,
	.prepare = workload_nothing,
	.ping = get_ping,
	.pong = workload_idle,
	.teardown = word_teardown,
};
