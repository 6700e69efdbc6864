/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cay's operations on a word of a window. In the first one the target sees the
 * word change and answers with a put of its own; in the others it is idle, so
 * that the word never leaves the origin's core and what is measured is the
 * work of the origin.
 */
#include "bench/native/rma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/native/payload.h"

/* Everything, since what a window refuses is no matter of speed. */
#define REMOTE_RIGHTS (CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC)

/* ---- set-up ---- */

static int remote_buffers(struct side *s, struct remote *r, bool mapped)
{
	size_t bytes = bits_round_up(s->bytes + 1, 4096);

	r->mapped = mapped;
	r->memory = mapped ? cay_alloc(r->c.port, bytes, 0)
			   : aligned_alloc(4096, bytes);
	r->c.source = malloc(bytes);
	if (!r->memory || !r->c.source)
		return -ENOMEM;
	memset(r->memory, 0, bytes);
	memset(r->c.source, 0, bytes);
	return cay_window_open(
		r->c.port, r->memory, bytes, REMOTE_RIGHTS, &r->window);
}

static int remote_exchange(struct side *s, struct remote *r)
{
	struct remote_page *page = remote_page(s);
	int failure = cay_window_key(r->window, &page->key[s->rank]);

	if (!failure)
		failure = group_barrier(s->group, s->rank);
	r->key = page->key[1 - s->rank];
	return failure;
}

static int remote_setup(struct side *s, bool mapped)
{
	struct remote *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	s->state = r;
	int failure = endpoint_open(s, &r->c);
	if (!failure)
		failure = remote_buffers(s, r, mapped);
	return failure ? failure : remote_exchange(s, r);
}

int remote_setup_mapped(struct side *s)
{
	return remote_setup(s, true);
}

int remote_setup_private(struct side *s)
{
	return remote_setup(s, false);
}

void remote_teardown(struct side *s)
{
	struct remote *r = s->state;

	if (!r)
		return;
	if (r->window)
		cay_window_close(r->window);
	if (r->mapped && r->c.port)
		cay_free(r->c.port, r->memory);
	else
		free(r->memory);
	endpoint_teardown(s); /* the rest, r itself included */
}

/* ---- a put that the target sees ---- */

static int put_issue(struct side *s)
{
	struct remote *r = s->state;
	uint64_t number = ++r->done;

	return cay_put(
		r->c.port, r->c.next, r->key, 0, &number, sizeof(number), 0, 0);
}

static int put_await(struct side *s)
{
	struct remote *r = s->state;
	const _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)r->memory;

	return group_await(s->group, word, ++r->c.received);
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

static int flush(struct side *s)
{
	struct remote *r = s->state;

	return cay_flush(r->c.port, r->c.next, s->group->deadline);
}

static int get_word(struct side *s, uint64_t *word)
{
	struct remote *r = s->state;
	int failure = cay_get(
		r->c.port, r->c.next, r->key, 0, word, sizeof(*word), 0, 0);

	return failure ? failure : flush(s);
}

/* Before each batch: everything before it has arrived. */
static int word_prepare(struct side *s)
{
	struct remote *r = s->state;
	uint64_t word = 0;
	int failure = s->rank == 0 ? get_word(s, &word) : 0;

	if (failure)
		return failure;
	return s->rank == 0 && word != r->done ? -EBADMSG : 0;
}

static int put_flush(struct side *s)
{
	int failure = put_issue(s);

	return failure ? failure : flush(s);
}

static int put_flush_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, put_flush);
}

/* The whole word, so that what comes of it can be checked as for a put. */
static int masked_flush(struct side *s)
{
	struct remote *r = s->state;
	int failure = cay_put_masked(
		r->c.port, r->c.next, r->key, 0, ++r->done, 0xff, 0, 0);

	return failure ? failure : flush(s);
}

static int masked_flush_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, masked_flush);
}

/* What an atomic ends in: the event with its result. */
static int atomic_result(struct side *s, uint64_t result, uint64_t previous)
{
	struct remote *r = s->state;
	struct cay_event e;
	int failure = endpoint_next(s, &e);

	if (failure)
		return failure;
	if (unlikely(e.kind != CAY_EVENT_COMPLETE || e.error ||
		     e.result != result || e.previous != previous))
		failure = -EBADMSG;
	cay_release(r->c.port, &e);
	return failure;
}

static int fetch_add(struct side *s)
{
	struct remote *r = s->state;
	uint64_t before = r->done++;
	int failure =
		cay_fetch_add(r->c.port, r->c.next, r->key, 0, 1, before, 0);

	return failure ? failure : atomic_result(s, before + 1, before);
}

static int fetch_add_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, fetch_add);
}

/* The same without an event: the flush says that the result is there. */
static int fetch_add_into(struct side *s)
{
	struct remote *r = s->state;
	uint64_t before = ~0ull;
	int failure = cay_fetch_add_into(
		r->c.port, r->c.next, r->key, 0, 1, &before, 0, 0);

	if (!failure)
		failure = flush(s);
	return likely(failure || before == r->done++) ? failure : -EBADMSG;
}

static int fetch_add_into_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, fetch_add_into);
}

static int compare_swap(struct side *s)
{
	struct remote *r = s->state;
	uint64_t before = r->done++;
	int failure = cay_compare_swap(
		r->c.port, r->c.next, r->key, 0, before, before + 1, before, 0);

	return failure ? failure : atomic_result(s, before + 1, before);
}

static int compare_swap_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, compare_swap);
}

/* The word is what the put before it has stored: 1. */
static int get_prepare(struct side *s)
{
	struct remote *r = s->state;

	return s->rank == 0 && r->done == 0 ? put_flush(s) : 0;
}

static int get(struct side *s)
{
	struct remote *r = s->state;
	uint64_t word = 0;
	int failure = get_word(s, &word);

	return likely(failure || word == r->done) ? failure : -EBADMSG;
}

static int get_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, get);
}

/* The same in the event. */
static int fast_get(struct side *s)
{
	struct remote *r = s->state;
	struct cay_event e;
	uint64_t word = 0;
	int failure =
		cay_get(r->c.port, r->c.next, r->key, 0, NULL, 8, r->done, 0);

	if (!failure)
		failure = endpoint_next(s, &e);
	if (failure)
		return failure;
	if (likely(e.kind == CAY_EVENT_COMPLETE && !e.error && e.length == 8))
		memcpy(&word, e.data, sizeof(word));
	cay_release(r->c.port, &e);
	return likely(word == r->done) ? 0 : -EBADMSG;
}

static int fast_get_ping(struct side *s, uint32_t trips)
{
	return workload_repeat(s, trips, fast_get);
}

/* ---- a fetch-and-add that only the target can make, when it polls ---- */

static int emulated_ping(struct side *s, uint32_t trips)
{
	struct remote *r = s->state;
	int failure = workload_repeat(s, trips, fetch_add);

	atomic_store_explicit(
		&remote_page(s)->done, r->done, memory_order_release);
	return failure;
}

static int emulated_pong(struct side *s, uint32_t trips)
{
	struct remote *r = s->state;
	uint32_t looks = 0;
	struct cay_event e;
	int spent;

	r->done += trips;
	while (atomic_load_explicit(
		       &remote_page(s)->done, memory_order_acquire) < r->done) {
		if (cay_poll(r->c.port, &e, 1))
			return -EPROTO; /* nobody sends anything */
		if ((spent = group_spin(s->group, &looks)))
			return spent;
	}
	return 0;
}

const struct workload cay_put_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = workload_nothing,
	.ping = put_ping,
	.pong = put_pong,
	.teardown = remote_teardown,
};

const struct workload cay_put_flush_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = word_prepare,
	.ping = put_flush_ping,
	.pong = workload_idle,
	.teardown = remote_teardown,
};

const struct workload cay_masked_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = word_prepare,
	.ping = masked_flush_ping,
	.pong = workload_idle,
	.teardown = remote_teardown,
};

const struct workload cay_fetch_add_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = word_prepare,
	.ping = fetch_add_ping,
	.pong = workload_idle,
	.teardown = remote_teardown,
};

const struct workload cay_fetch_add_into_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = word_prepare,
	.ping = fetch_add_into_ping,
	.pong = workload_idle,
	.teardown = remote_teardown,
};

const struct workload cay_compare_swap_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = word_prepare,
	.ping = compare_swap_ping,
	.pong = workload_idle,
	.teardown = remote_teardown,
};

const struct workload cay_get_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = get_prepare,
	.ping = get_ping,
	.pong = workload_idle,
	.teardown = remote_teardown,
};

const struct workload cay_fast_get_workload = {
	.name = "Cay",
	.setup = remote_setup_mapped,
	.prepare = get_prepare,
	.ping = fast_get_ping,
	.pong = workload_idle,
	.teardown = remote_teardown,
};

const struct workload cay_emulated_workload = {
	.name = "Cay",
	.setup = remote_setup_private,
	.prepare = workload_nothing,
	.ping = emulated_ping,
	.pong = emulated_pong,
	.teardown = remote_teardown,
};
