/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency of the baselines: Fast Send (the message is in the entry), Send (the
 * sender copies it into a data region) and by reference (the receiver copies
 * it from the source).
 */
#include "bench/native/baseline.h"

#include <errno.h>
#include <stdlib.h>

#include "bench/harness/payload.h"

int baseline_setup(struct side *s)
{
	struct baseline *b = aligned_alloc(
		CACHE_SEPARATION, bits_round_up(sizeof(*b), CACHE_SEPARATION));
	struct baseline_queue *queue =
		(struct baseline_queue *)(void *)s->shared;

	_Static_assert(
		2 * sizeof(*queue) <= WORKLOAD_SHARED_BYTES, "two queues");
	if (!b)
		return -ENOMEM;
	memset(b, 0, sizeof(*b));
	s->state = b;
	b->in = &queue[s->rank];
	b->out = &queue[1 - s->rank];
	/* At a page: see base/copy.h. */
	b->copy = aligned_alloc(4096, BASELINE_SOURCE_BYTES);
	if (!b->copy)
		return -ENOMEM;
	memset(b->copy, 1, BASELINE_SOURCE_BYTES);
	return 0;
}

void baseline_teardown(struct side *s)
{
	struct baseline *b = s->state;

	if (b)
		free(b->copy);
	free(b);
	s->state = NULL;
}

static int baseline_await(struct side *s, struct baseline_entry **entry)
{
	uint32_t spins = 0;
	int r;

	while (!(*entry = baseline_poll(s->state)))
		if (unlikely(r = group_spin(s->group, &spins)))
			return r;
	return 0;
}

/* ---- Fast Send ---- */

static int fast_send(struct side *s)
{
	struct baseline *b = s->state;

	payload_stamp(b->private_source, s->bytes, b->sent++);
	return baseline_send_fast(b, b->private_source, s->bytes) ? 0 : -ENOSPC;
}

static int fast_receive(struct side *s)
{
	struct baseline *b = s->state;
	struct baseline_entry *e;
	int r = baseline_await(s, &e);

	if (!r)
		r = payload_verify(
			&e->word[2], baseline_length(e), s->bytes, b->next);
	baseline_release(b);
	return r;
}

static int fast_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, fast_send, fast_receive);
}

/* ---- Send ---- */

static int copy_prepare(struct side *s)
{
	struct baseline *b = s->state;

	if (s->rewrite && s->bytes > PAYLOAD_SHORT_MAX)
		payload_rewrite(b->private_source, s->bytes, b->sent);
	return 0;
}

/* One message is in flight at a time, so the data region cannot be full. */
static int copy_send(struct side *s)
{
	struct baseline *b = s->state;
	uint64_t position;

	payload_stamp(b->private_source, s->bytes, b->sent++);
	if (!baseline_claim(b, &position))
		return -ENOSPC;
	struct baseline_entry *e = baseline_entry(b->out, position);
	if (b->data_at + s->bytes > BASELINE_DATA_BYTES)
		b->data_at = 0;
	memcpy(b->out->data + b->data_at, b->private_source, s->bytes);
	e->word[0] = position;
	e->word[2] = b->data_at;
	baseline_publish(e, position, s->bytes);
	b->data_at += bits_round_up(s->bytes, PAYLOAD_LINE);
	return 0;
}

static int copy_receive(struct side *s)
{
	struct baseline *b = s->state;
	struct baseline_entry *e;
	int r = baseline_await(s, &e);

	if (!r)
		r = payload_verify(b->in->data + e->word[2], baseline_length(e),
			s->bytes, b->next);
	baseline_release(b);
	return r;
}

static int copy_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, copy_send, copy_receive);
}

/* ---- by reference ---- */

static int reference_prepare(struct side *s)
{
	struct baseline *b = s->state;

	if (s->rewrite)
		payload_rewrite(b->out->source, s->bytes, b->sent);
	return 0;
}

static int reference_send(struct side *s)
{
	struct baseline *b = s->state;

	payload_stamp(b->out->source, s->bytes, b->sent++);
	return baseline_send_fast(b, &s->bytes, sizeof(s->bytes)) ? 0 : -ENOSPC;
}

static int reference_receive(struct side *s)
{
	struct baseline *b = s->state;
	struct baseline_entry *e;
	int r = baseline_await(s, &e);

	if (!r && e->word[2] != s->bytes)
		r = -EBADMSG;
	if (!r) {
		memcpy(b->copy, b->in->source, s->bytes);
		r = payload_verify(b->copy, s->bytes, s->bytes, b->next);
	}
	baseline_release(b);
	atomic_store_explicit(&b->in->copied, b->next, memory_order_release);
	return r;
}

/* The completion: the source may be written again. */
static int reference_complete(struct side *s)
{
	struct baseline *b = s->state;

	return group_await(s->group, &b->out->copied, b->sent);
}

static int reference_run(struct side *s, uint32_t iterations)
{
	int r = 0;

	while (!r && iterations--) {
		r = s->rank == 0 ? reference_send(s) : reference_receive(s);
		if (!r)
			r = s->rank == 0 ? reference_receive(s)
					 : reference_send(s);
		if (!r)
			r = reference_complete(s);
	}
	return r;
}

const struct workload baseline_fast_workload = {
	.name = "baseline",
	.setup = baseline_setup,
	.run = fast_run,
	.teardown = baseline_teardown,
};

const struct workload baseline_send_workload = {
	.name = "baseline",
	.setup = baseline_setup,
	.prepare = copy_prepare,
	.run = copy_run,
	.teardown = baseline_teardown,
};

const struct workload baseline_reference_workload = {
	.name = "baseline",
	.setup = baseline_setup,
	.prepare = reference_prepare,
	.run = reference_run,
	.teardown = baseline_teardown,
};
