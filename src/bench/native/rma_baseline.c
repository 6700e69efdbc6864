/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Baselines of the operations on a word: the same on a word that both ranks
 * have mapped, without windows, keys, checks, op records and events.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/native/workloads.h"

/* Each rank's word is on a page of its own, as windows are. */
struct word_page {
	_Alignas(4096) _Atomic uint64_t word;
};

/* A rank's state. */
struct words {
	_Atomic uint64_t *local, *remote;
	uint64_t done, seen;
};

static int word_setup(struct side *s)
{
	struct word_page *page = (struct word_page *)(void *)s->shared;
	struct words *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->local = &page[s->rank].word;
	b->remote = &page[1 - s->rank].word;
	s->state = b;
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
	struct words *b = s->state;

	atomic_store_explicit(b->remote, ++b->done, memory_order_release);
	return 0;
}

static int put_await(struct side *s)
{
	struct words *b = s->state;

	return group_await(s->group, b->local, ++b->seen);
}

static int put_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, put_issue, put_await);
}

/* ---- one-sided operations ---- */

static int put_flush(struct side *s)
{
	put_issue(s);
	atomic_thread_fence(memory_order_seq_cst);
	return 0;
}

static int put_flush_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, put_flush);
}

static int fetch_add(struct side *s)
{
	struct words *b = s->state;
	uint64_t before =
		atomic_fetch_add_explicit(b->remote, 1, memory_order_acq_rel);

	return likely(before == b->done++) ? 0 : -EBADMSG;
}

static int fetch_add_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, fetch_add);
}

static int compare_swap(struct side *s)
{
	struct words *b = s->state;
	uint64_t before = b->done++;
	bool swapped = atomic_compare_exchange_strong_explicit(b->remote,
		&before, before + 1, memory_order_acq_rel,
		memory_order_acquire);

	return likely(swapped) ? 0 : -EBADMSG;
}

static int compare_swap_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, compare_swap);
}

static int get(struct side *s)
{
	struct words *b = s->state;
	uint64_t word = atomic_load_explicit(b->remote, memory_order_acquire);

	atomic_thread_fence(memory_order_seq_cst);
	return likely(word == b->done) ? 0 : -EBADMSG;
}

static int get_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, get);
}

#define WORD_WORKLOAD(run_)                              \
	{                                                \
		.name = "baseline", .setup = word_setup, \
		.teardown = word_teardown, .run = run_   \
	}

const struct workload baseline_put_workload = WORD_WORKLOAD(put_run);
const struct workload baseline_put_flush_workload =
	WORD_WORKLOAD(put_flush_run);
const struct workload baseline_fetch_add_workload =
	WORD_WORKLOAD(fetch_add_run);
const struct workload baseline_compare_swap_workload =
	WORD_WORKLOAD(compare_swap_run);
const struct workload baseline_get_workload = WORD_WORKLOAD(get_run);
