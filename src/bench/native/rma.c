/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cay's operations on a word of a window. In the first workload the target sees
 * the word change and answers with a put; in the others it is idle, so that the
 * word stays in the origin's cache and the origin's work is measured.
 */
#include "bench/native/rma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- set-up ---- */

static int setup(struct side *s, bool mapped)
{
	const unsigned rights = CAY_RIGHT_READ | CAY_RIGHT_WRITE |
				CAY_RIGHT_ATOMIC;
	struct endpoint_page *page = endpoint_page(s);
	size_t bytes = bits_round_up(s->bytes + 1, 4096);
	struct rma *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	s->state = m;
	if ((r = endpoint_open(s, &m->p)))
		return r;
	m->mapped = mapped;
	m->memory = mapped ? cay_alloc(m->p.port, bytes, 0)
			   : aligned_alloc(4096, bytes);
	m->p.source = malloc(bytes);
	if (!m->memory || !m->p.source)
		return -ENOMEM;
	memset(m->memory, 0, bytes);
	memset(m->p.source, 0, bytes);
	r = cay_window_open(m->p.port, m->memory, bytes, rights, &m->window);
	if (!r)
		r = cay_window_key(m->window, &page->key[s->rank]);
	if (!r)
		r = group_barrier(s->group, s->rank);
	m->key = page->key[1 - s->rank];
	return r;
}

int rma_setup_mapped(struct side *s)
{
	return setup(s, true);
}

int rma_setup_private(struct side *s)
{
	return setup(s, false);
}

void rma_teardown(struct side *s)
{
	struct rma *m = s->state;

	if (!m)
		return;
	if (m->window)
		cay_window_close(m->window);
	if (m->mapped && m->p.port)
		cay_free(m->p.port, m->memory);
	else
		free(m->memory);
	endpoint_teardown(s); /* frees m, too */
}

void rma_publish_done(struct side *s)
{
	struct rma *m = s->state;

	atomic_store_explicit(
		&endpoint_page(s)->done, m->done, memory_order_release);
}

int rma_await_done(struct side *s)
{
	const _Atomic uint64_t *done = &endpoint_page(s)->done;
	struct rma *m = s->state;
	uint32_t spins = 0;
	struct cay_event e;
	int r;

	while (atomic_load_explicit(done, memory_order_acquire) < m->done) {
		if (cay_poll(m->p.port, &e, 1))
			return -EPROTO;
		if ((r = group_spin(s->group, &spins)))
			return r;
	}
	return 0;
}

/* ---- a put that the target sees ---- */

static int put_issue(struct side *s)
{
	struct rma *m = s->state;
	uint64_t number = ++m->done;

	return cay_put(
		m->p.port, m->p.next, m->key, 0, &number, sizeof(number), 0, 0);
}

static int put_await(struct side *s)
{
	struct rma *m = s->state;
	const _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)m->memory;

	return group_await(s->group, word, ++m->p.received);
}

static int put_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, put_issue, put_await);
}

/* ---- one-sided operations ---- */

static int flush(struct side *s)
{
	struct rma *m = s->state;

	return cay_flush(m->p.port, m->p.next, s->group->deadline);
}

static int get_word(struct side *s, uint64_t *word)
{
	struct rma *m = s->state;
	int r = cay_get(
		m->p.port, m->p.next, m->key, 0, word, sizeof(*word), 0, 0);

	return r ? r : flush(s);
}

/* Compares the word with the operations of all batches so far. */
static int word_prepare(struct side *s)
{
	struct rma *m = s->state;
	uint64_t word = 0;
	int r = s->rank == 0 ? get_word(s, &word) : 0;

	if (r)
		return r;
	return s->rank == 0 && word != m->done ? -EBADMSG : 0;
}

static int put_flush(struct side *s)
{
	int r = put_issue(s);

	return r ? r : flush(s);
}

static int put_flush_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, put_flush);
}

/* Writes all bytes of the word, so that the result is checked as for a put. */
static int put_masked(struct side *s)
{
	struct rma *m = s->state;
	int r = cay_put_masked(
		m->p.port, m->p.next, m->key, 0, ++m->done, 0xff, 0, 0);

	return r ? r : flush(s);
}

static int put_masked_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, put_masked);
}

/* The completion of an atomic, which carries its result. */
static int atomic_result(struct side *s, uint64_t result, uint64_t previous)
{
	struct rma *m = s->state;
	struct cay_event e;
	int r = endpoint_next(s, &e);

	if (r)
		return r;
	if (unlikely(e.kind != CAY_EVENT_COMPLETE || e.error ||
		     e.result != result || e.previous != previous))
		r = -EBADMSG;
	cay_release(m->p.port, &e);
	return r;
}

static int fetch_add(struct side *s)
{
	struct rma *m = s->state;
	uint64_t before = m->done++;
	int r = cay_fetch_add(m->p.port, m->p.next, m->key, 0, 1, before, 0);

	return r ? r : atomic_result(s, before + 1, before);
}

static int fetch_add_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, fetch_add);
}

/* There is no event: the result is valid after the flush. */
static int fetch_add_into(struct side *s)
{
	struct rma *m = s->state;
	uint64_t before = ~0ull;
	int r = cay_fetch_add_into(
		m->p.port, m->p.next, m->key, 0, 1, &before, 0, 0);

	if (!r)
		r = flush(s);
	return likely(r || before == m->done++) ? r : -EBADMSG;
}

static int fetch_add_into_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, fetch_add_into);
}

static int compare_swap(struct side *s)
{
	struct rma *m = s->state;
	uint64_t before = m->done++;
	int r = cay_compare_swap(
		m->p.port, m->p.next, m->key, 0, before, before + 1, before, 0);

	return r ? r : atomic_result(s, before + 1, before);
}

static int compare_swap_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, compare_swap);
}

/* Writes the word that the gets read, before the first batch. */
static int get_prepare(struct side *s)
{
	struct rma *m = s->state;

	return s->rank == 0 && m->done == 0 ? put_flush(s) : 0;
}

static int get_flush(struct side *s)
{
	struct rma *m = s->state;
	uint64_t word = 0;
	int r = get_word(s, &word);

	return likely(r || word == m->done) ? r : -EBADMSG;
}

static int get_flush_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, get_flush);
}

/* The completion carries the word. */
static int get_event(struct side *s)
{
	struct rma *m = s->state;
	struct cay_event e;
	uint64_t word = 0;
	int r = cay_get(m->p.port, m->p.next, m->key, 0, NULL, 8, m->done, 0);

	if (!r)
		r = endpoint_next(s, &e);
	if (r)
		return r;
	if (likely(e.kind == CAY_EVENT_COMPLETE && !e.error && e.length == 8))
		memcpy(&word, e.data, sizeof(word));
	cay_release(m->p.port, &e);
	return likely(word == m->done) ? 0 : -EBADMSG;
}

static int get_event_run(struct side *s, uint32_t iterations)
{
	return workload_one_sided(s, iterations, get_event);
}

/* ---- a fetch-and-add that the target's library executes ---- */

static int emulated_run(struct side *s, uint32_t iterations)
{
	struct rma *m = s->state;

	if (s->rank != 0) {
		m->done += iterations;
		return rma_await_done(s);
	}
	int r = workload_one_sided(s, iterations, fetch_add);
	rma_publish_done(s);
	return r;
}

#define RMA_WORKLOAD(setup_, prepare_, run_)                              \
	{                                                                 \
		.name = "Cay", .teardown = rma_teardown, .setup = setup_, \
		.prepare = prepare_, .run = run_                          \
	}

const struct workload cay_put_workload =
	RMA_WORKLOAD(rma_setup_mapped, NULL, put_run);
const struct workload cay_put_flush_workload =
	RMA_WORKLOAD(rma_setup_mapped, word_prepare, put_flush_run);
const struct workload cay_put_masked_workload =
	RMA_WORKLOAD(rma_setup_mapped, word_prepare, put_masked_run);
const struct workload cay_fetch_add_workload =
	RMA_WORKLOAD(rma_setup_mapped, word_prepare, fetch_add_run);
const struct workload cay_fetch_add_into_workload =
	RMA_WORKLOAD(rma_setup_mapped, word_prepare, fetch_add_into_run);
const struct workload cay_compare_swap_workload =
	RMA_WORKLOAD(rma_setup_mapped, word_prepare, compare_swap_run);
const struct workload cay_get_flush_workload =
	RMA_WORKLOAD(rma_setup_mapped, get_prepare, get_flush_run);
const struct workload cay_get_event_workload =
	RMA_WORKLOAD(rma_setup_mapped, get_prepare, get_event_run);
const struct workload cay_emulated_workload =
	RMA_WORKLOAD(rma_setup_private, NULL, emulated_run);
