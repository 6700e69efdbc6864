/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Message rate: rank 0 sends as fast as it can, rank 1 takes all there is, and
 * says on a line of its own when it has the last one. A trip is a message.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "bench/candidate.h"
#include "bench/payload.h"
#include "bench/sketch.h"

#define RATE_BURST 32

/* The last line of the flavour's part: no sketch or port uses it. */
static _Atomic uint64_t *rate_taken(struct side *s)
{
	return (_Atomic uint64_t *)(void *)(s->shared + FLAVOUR_SHARED_BYTES -
					    PAYLOAD_LINE);
}

static int rate_await_taken(struct side *s, uint64_t sent)
{
	uint32_t looks = 0;
	int r;

	while (atomic_load_explicit(rate_taken(s), memory_order_acquire) !=
		sent)
		if ((r = party_spin(s->party, &looks)))
			return r;
	return 0;
}

static void rate_say_taken(struct side *s, uint64_t count)
{
	atomic_store_explicit(rate_taken(s), count, memory_order_release);
}

/* ---- sketch ---- */

static int sketch_rate_send(struct side *s, uint32_t trips)
{
	struct sketch *k = s->state;
	uint32_t looks = 0;
	int r;

	while (trips--) {
		payload_stamp(k->private_source, s->bytes, k->sent++);
		while (!sketch_send_fast(k, k->private_source, s->bytes))
			if ((r = party_spin(s->party, &looks)))
				return r;
	}
	return rate_await_taken(s, k->sent);
}

static int sketch_rate_take(struct side *s, uint32_t trips)
{
	struct sketch *k = s->state;
	struct sketch_entry *e;
	uint32_t looks = 0;
	int r = 0;

	while (!r && trips) {
		if (!(e = sketch_poll(k))) {
			r = party_spin(s->party, &looks);
			continue;
		}
		r = payload_verify(
			&e->word[2], sketch_length(e), s->bytes, k->next);
		sketch_release(k);
		trips--;
	}
	rate_say_taken(s, k->next);
	return r;
}

/* ---- Cay ---- */

static int candidate_rate_send(struct side *s, uint32_t trips)
{
	struct candidate *c = s->state;
	int r = 0;

	while (!r && trips--)
		r = candidate_send(s);
	return r ? r : rate_await_taken(s, c->sent);
}

static int candidate_rate_burst(struct side *s, uint32_t *due)
{
	struct candidate *c = s->state;
	struct cay_event e[RATE_BURST];
	int count = cay_poll(c->port, e, RATE_BURST), r = 0;

	for (int i = 0; !r && i < count; i++)
		r = candidate_accept(s, &e[i]);
	if (count > 0)
		*due -= (uint32_t)count;
	return count < 0 ? count : r;
}

static int candidate_rate_take(struct side *s, uint32_t trips)
{
	struct candidate *c = s->state;
	uint32_t looks = 0;
	int r = 0;

	while (!r && trips) {
		r = candidate_rate_burst(s, &trips);
		if (!r)
			r = party_spin(s->party, &looks);
	}
	rate_say_taken(s, c->received);
	return r;
}

const struct flavour sketch_rate_flavour = {
	.name = "sketch",
	.setup = sketch_setup,
	.prepare = flavour_nothing,
	.ping = sketch_rate_send,
	.pong = sketch_rate_take,
	.teardown = sketch_teardown,
};

const struct flavour candidate_rate_flavour = {
	.name = "Cay",
	.setup = candidate_setup,
	.prepare = flavour_nothing,
	.ping = candidate_rate_send,
	.pong = candidate_rate_take,
	.teardown = candidate_teardown,
};
