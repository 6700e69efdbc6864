/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The baselinees of latency: Fast Send (the message is in the entry), Send (it
 * is copied into a data region) and by reference (the receiver copies it from
 * where it is).
 */
#include "bench/native/baseline.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/native/payload.h"

int baseline_setup(struct side *s)
{
	struct baseline *k = aligned_alloc(
		CACHE_SEPARATION, bits_round_up(sizeof(*k), CACHE_SEPARATION));
	struct baseline_queue *queue =
		(struct baseline_queue *)(void *)s->shared;

	_Static_assert(
		2 * sizeof(*queue) <= WORKLOAD_SHARED_BYTES, "two queues");
	if (!k)
		return -ENOMEM;
	memset(k, 0, sizeof(*k));
	s->state = k;
	k->in = &queue[s->rank];
	k->out = &queue[1 - s->rank];
	k->copy = malloc(BASELINE_SOURCE_BYTES);
	if (!k->copy)
		return -ENOMEM;
	memset(k->copy, 1, BASELINE_SOURCE_BYTES);
	return 0;
}

void baseline_teardown(struct side *s)
{
	struct baseline *k = s->state;

	if (k)
		free(k->copy);
	free(k);
	s->state = NULL;
}

static int baseline_await(struct side *s, struct baseline_entry **entry)
{
	uint32_t looks = 0;
	int r;

	while (!(*entry = baseline_poll(s->state)))
		if (unlikely(r = group_spin(s->group, &looks)))
			return r;
	return 0;
}

/* ---- Fast Send ---- */

static int fast_send(struct side *s)
{
	struct baseline *k = s->state;

	payload_stamp(k->private_source, s->bytes, k->sent++);
	return baseline_send_fast(k, k->private_source, s->bytes) ? 0 : -ENOSPC;
}

static int fast_receive(struct side *s)
{
	struct baseline *k = s->state;
	struct baseline_entry *e;
	int r = baseline_await(s, &e);

	if (!r)
		r = payload_verify(
			&e->word[2], baseline_length(e), s->bytes, k->next);
	baseline_release(k);
	return r;
}

static int fast_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, fast_send, fast_receive);
}

static int fast_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, fast_receive, fast_send);
}

/* ---- Send ---- */

/* One message is under way at a time, so the region has always room. */
static int send_send(struct side *s)
{
	struct baseline *k = s->state;
	uint64_t position;

	payload_stamp(k->private_source, s->bytes, k->sent++);
	if (!baseline_claim(k, &position))
		return -ENOSPC;
	struct baseline_entry *e = baseline_entry(k->out, position);
	if (k->data_at + s->bytes > BASELINE_DATA_BYTES)
		k->data_at = 0;
	memcpy(k->out->data + k->data_at, k->private_source, s->bytes);
	e->word[0] = position;
	e->word[2] = k->data_at;
	baseline_publish(e, position, s->bytes);
	k->data_at += bits_round_up(s->bytes, PAYLOAD_LINE);
	return 0;
}

static int send_receive(struct side *s)
{
	struct baseline *k = s->state;
	struct baseline_entry *e;
	int r = baseline_await(s, &e);

	if (!r)
		r = payload_verify(k->in->data + e->word[2], baseline_length(e),
			s->bytes, k->next);
	baseline_release(k);
	return r;
}

static int send_ping(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, send_send, send_receive);
}

static int send_pong(struct side *s, uint32_t trips)
{
	return workload_turns(s, trips, send_receive, send_send);
}

/* ---- by reference ---- */

static int reference_prepare(struct side *s)
{
	struct baseline *k = s->state;

	if (s->fresh)
		payload_refresh(k->out->source, s->bytes, k->sent);
	return 0;
}

static int reference_send(struct side *s)
{
	struct baseline *k = s->state;

	payload_stamp(k->out->source, s->bytes, k->sent++);
	return baseline_send_fast(k, &s->bytes, sizeof(s->bytes)) ? 0 : -ENOSPC;
}

static int reference_receive(struct side *s)
{
	struct baseline *k = s->state;
	struct baseline_entry *e;
	int r = baseline_await(s, &e);

	if (!r && e->word[2] != s->bytes)
		r = -EBADMSG;
	if (!r) {
		memcpy(k->copy, k->in->source, s->bytes);
		r = payload_verify(k->copy, s->bytes, s->bytes, k->next);
	}
	baseline_release(k);
	atomic_store_explicit(&k->in->copied, k->next, memory_order_release);
	return r;
}

/* The completion: the source may be written again. */
static int reference_complete(struct side *s)
{
	struct baseline *k = s->state;
	uint32_t looks = 0;
	int r;

	while (atomic_load_explicit(&k->out->copied, memory_order_acquire) !=
		k->sent)
		if (unlikely(r = group_spin(s->group, &looks)))
			return r;
	return 0;
}

static int reference_ping(struct side *s, uint32_t trips)
{
	int r = 0;

	while (!r && trips--) {
		r = reference_send(s);
		if (!r)
			r = reference_receive(s);
		if (!r)
			r = reference_complete(s);
	}
	return r;
}

static int reference_pong(struct side *s, uint32_t trips)
{
	int r = 0;

	while (!r && trips--) {
		r = reference_receive(s);
		if (!r)
			r = reference_send(s);
		if (!r)
			r = reference_complete(s);
	}
	return r;
}

const struct workload baseline_fast_workload = {
	.name = "baseline",
	.setup = baseline_setup,
	.prepare = workload_nothing,
	.ping = fast_ping,
	.pong = fast_pong,
	.teardown = baseline_teardown,
};

const struct workload baseline_send_workload = {
	.name = "baseline",
	.setup = baseline_setup,
	.prepare = workload_nothing,
	.ping = send_ping,
	.pong = send_pong,
	.teardown = baseline_teardown,
};

const struct workload baseline_reference_workload = {
	.name = "baseline",
	.setup = baseline_setup,
	.prepare = reference_prepare,
	.ping = reference_ping,
	.pong = reference_pong,
	.teardown = baseline_teardown,
};
