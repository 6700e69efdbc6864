/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations on an input VC: its buffer, its allocation requests, the credits
 * that it returns.
 */
#ifndef CAY_NETWORK_ROUTER_INPUT_H
#define CAY_NETWORK_ROUTER_INPUT_H

#include "network/engine/parts.h"

#define INPUT_AHEAD 8 /* entries of a list whose state is prefetched */

/* Prefetches the state for an entry that is visited INPUT_AHEAD steps later. */
static inline void input_prefetch(
	const struct network *n, const struct worklist *l, uint32_t i)
{
	uint32_t vc =
		l->entry[i + INPUT_AHEAD < l->count ? i + INPUT_AHEAD : i];
	__builtin_prefetch(&n->input[vc], 1);
	__builtin_prefetch(&n->port[vc_port(n, vc)], 1);
}

/* Requests an output VC from the next cycle on. */
static inline void input_request_vc(struct worker *w, uint32_t vc)
{
	worklist_add(w, &w->vc_worklist[~w->now & 1], vc);
}

/* Requests the switch in this cycle. */
static inline void input_request_switch(
	struct worker *w, struct input_vc *in, uint32_t vc)
{
	if (in->switch_listed)
		return;
	in->switch_listed = 1;
	worklist_add(w, &w->switch_worklist[w->now & 1], vc);
}

static inline void input_push(const struct network *n, struct input_vc *in,
	uint32_t vc, uint32_t flit)
{
	if (likely(in->count == 0))
		in->front = flit;
	else
		input_ring(n, vc)[(in->head + in->count - 1u) & n->depth_mask] =
			flit;
	in->count++;
}

static inline uint32_t input_pop(
	const struct network *n, struct input_vc *in, uint32_t vc)
{
	uint32_t flit = in->front;
	if (likely(--in->count == 0)) {
		in->head = 0; /* reuse the part of the ring that is cached */
		return flit;
	}
	in->front = input_ring(n, vc)[in->head];
	in->head = (in->head + 1) & n->depth_mask;
	return flit;
}

/* Returns true if the head of the packet has left, but not the tail. */
static inline bool input_mid_packet(const struct input_vc *in)
{
	return in->state == INPUT_ACTIVE &&
	       !(in->count && in->front & PACKET_HEAD);
}

/* Frees the output VC that an input VC holds, if any. */
static inline void input_release(struct network *n, const struct input_vc *in)
{
	if (in->state == INPUT_ACTIVE)
		n->port[vc_port(n, in->out)].free_vcs |=
			(uint16_t)(1u << in->channel);
}

/* Returns credit for a flit that has left the buffer. */
static inline void input_return_credit(
	struct worker *w, uint32_t vc, const struct port_state *p)
{
	const struct network *n = w->network;
	if (likely(p->peer_vc != NO_VC && n->credits_alike))
		wheel_add(&w->wheel,
			&w->credits_slot[p->peer_worker * WHEEL_KINDS],
			p->peer_vc + vc_channel(n, vc), CREDIT_ONE);
	else
		credit_return_other(w, vc);
}

#endif
