/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Message rate: rank 0 sends as fast as it can, rank 1 takes all there is, and
 * says on a line of its own when it has the last one. A trip is a message.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "bench/native/baseline.h"
#include "bench/native/endpoint.h"
#include "bench/native/payload.h"

#define RATE_BURST 32

/* The last line of the workload's part: no baseline or port uses it. */
static _Atomic uint64_t *rate_taken(struct side *s)
{
	return (_Atomic uint64_t *)(void *)(s->shared + WORKLOAD_SHARED_BYTES -
					    PAYLOAD_LINE);
}

static int rate_await_taken(struct side *s, uint64_t sent)
{
	uint32_t looks = 0;
	int r;

	while (atomic_load_explicit(rate_taken(s), memory_order_acquire) !=
		sent)
		if ((r = group_spin(s->group, &looks)))
			return r;
	return 0;
}

static void rate_say_taken(struct side *s, uint64_t count)
{
	atomic_store_explicit(rate_taken(s), count, memory_order_release);
}

/* ---- baseline ---- */

static int baseline_rate_send(struct side *s, uint32_t trips)
{
	struct baseline *k = s->state;
	uint32_t looks = 0;
	int r;

	while (trips--) {
		payload_stamp(k->private_source, s->bytes, k->sent++);
		while (!baseline_send_fast(k, k->private_source, s->bytes))
			if ((r = group_spin(s->group, &looks)))
				return r;
	}
	return rate_await_taken(s, k->sent);
}

static int baseline_rate_take(struct side *s, uint32_t trips)
{
	struct baseline *k = s->state;
	struct baseline_entry *e;
	uint32_t looks = 0;
	int r = 0;

	while (!r && trips) {
		if (!(e = baseline_poll(k))) {
			r = group_spin(s->group, &looks);
			continue;
		}
		r = payload_verify(
			&e->word[2], baseline_length(e), s->bytes, k->next);
		baseline_release(k);
		trips--;
	}
	rate_say_taken(s, k->next);
	return r;
}

/* ---- Cay ---- */

static int endpoint_rate_send(struct side *s, uint32_t trips)
{
	struct endpoint *c = s->state;
	int r = 0;

	while (!r && trips--)
		r = endpoint_send(s);
	return r ? r : rate_await_taken(s, c->sent);
}

static int endpoint_rate_burst(struct side *s, uint32_t *due)
{
	struct endpoint *c = s->state;
	struct cay_event e[RATE_BURST];
	int count = cay_poll(c->port, e, RATE_BURST), r = 0;

	for (int i = 0; !r && i < count; i++)
		r = endpoint_accept(s, &e[i]);
	if (count > 0)
		*due -= (uint32_t)count;
	return count < 0 ? count : r;
}

static int endpoint_rate_take(struct side *s, uint32_t trips)
{
	struct endpoint *c = s->state;
	uint32_t looks = 0;
	int r = 0;

	while (!r && trips) {
		r = endpoint_rate_burst(s, &trips);
		if (!r)
			r = group_spin(s->group, &looks);
	}
	rate_say_taken(s, c->received);
	return r;
}

const struct workload baseline_rate_workload = {
	.name = "baseline",
	.setup = baseline_setup,
	.prepare = workload_nothing,
	.ping = baseline_rate_send,
	.pong = baseline_rate_take,
	.teardown = baseline_teardown,
};

const struct workload cay_rate_workload = {
	.name = "Cay",
	.setup = endpoint_setup,
	.prepare = workload_nothing,
	.ping = endpoint_rate_send,
	.pong = endpoint_rate_take,
	.teardown = endpoint_teardown,
};
