/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens at an input in almost every cycle: flits go in and out of its
 * buffer, it asks to go on, and it gives back credit.
 */
#ifndef CAY_NETWORK_ROUTER_INPUT_H
#define CAY_NETWORK_ROUTER_INPUT_H

#include "network/engine/parts.h"

/*
 * What an input will touch is known before its turn: asking for it early hides
 * the wait. The list may be shorter; there is always something behind it.
 */
#define INPUT_AHEAD 8

static inline void input_expect(
	const struct network *n, const struct places *l, uint32_t i)
{
	uint32_t place =
		l->of[i + INPUT_AHEAD < l->count ? i + INPUT_AHEAD : i];
	__builtin_prefetch(&n->input[place], 1);
	__builtin_prefetch(&n->port[place_port(n, place)], 1);
}

/* Will ask for a virtual channel, from the next cycle on. */
static inline void input_asks(struct worker *w, uint32_t place)
{
	places_put(w, &w->asking[~w->now & 1], place);
}

/* Asks to move, in this cycle. */
static inline void input_moves(
	struct worker *w, struct input *in, uint32_t place)
{
	if (in->moving)
		return;
	in->moving = 1;
	places_put(w, &w->moving[w->now & 1], place);
}

static inline void input_push(const struct network *n, struct input *in,
	uint32_t place, uint32_t flit)
{
	if (likely(in->count == 0))
		in->front = flit;
	else
		input_ring(
			n, place)[(in->head + in->count - 1u) & n->depth_mask] =
			flit;
	in->count++;
}

static inline uint32_t input_pop(
	const struct network *n, struct input *in, uint32_t place)
{
	uint32_t flit = in->front;
	if (likely(--in->count == 0)) {
		in->head = 0; /* where its ring is in the cache */
		return flit;
	}
	in->front = input_ring(n, place)[in->head];
	in->head = (in->head + 1) & n->depth_mask;
	return flit;
}

/* Has the head of its packet left, but not the tail? */
static inline bool input_begun(const struct input *in)
{
	return in->state == INPUT_ACTIVE &&
	       !(in->count && in->front & PACKET_HEAD);
}

/* Its virtual channel, if it has one, is free. */
static inline void input_release(struct network *n, const struct input *in)
{
	if (in->state == INPUT_ACTIVE)
		n->port[place_port(n, in->out)].free |=
			(uint16_t)(1u << in->channel);
}

/* A flit has left the buffer of an input. */
static inline void input_credit(
	struct worker *w, uint32_t place, const struct port *p)
{
	const struct network *n = w->network;
	if (likely(p->there != NO_PLACE && n->credits))
		wheel_add(&w->wheel, &w->credits_slot[p->worker * WHEEL_KINDS],
			p->there + place_channel(n, place), CREDIT_ONE);
	else
		credit_other(w, place);
}

#endif
