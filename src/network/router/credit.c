/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow control: what an input says to the output that fills it. Either a credit
 * for each flit that has left its buffer, or, by levels, stop and go.
 */
#include "network/router/input.h"

/* ---- the output's side ---- */

static void waiter_moves(struct worker *w, struct output *out)
{
	uint32_t place = out->waiter;
	if (out->credits == 0)
		return;
	out->waiter = NO_PLACE;
	input_moves(w, &w->network->input[place], place);
}

void arrive_credits(struct worker *w, const struct wheel_list *l)
{
	struct network *n = w->network;
	for (uint32_t i = 0; i < l->count; i++) {
		struct output *out = &n->output[l->event[i].place];
		enum credit says = (enum credit)l->event[i].what;
		if (likely(says == CREDIT_ONE))
			out->credits++;
		else
			out->credits = says == CREDIT_GO ? CREDITS_ENDLESS : 0;
		if (unlikely(out->waiter != NO_PLACE))
			waiter_moves(w, out);
	}
}

/* ---- the input's side ---- */

static void level_say(struct worker *w, uint32_t place, enum credit says)
{
	const struct network *n = w->network;
	const struct port *p = &n->port[place_port(n, place)];
	wheel_put(&w->wheel, w->now + n->router.credit_delay, p->worker,
		WHEEL_CREDIT, p->there + place_channel(n, place), says);
}

/* The sender hears of it when it may already have sent more. */
void credit_level(struct worker *w, uint32_t place)
{
	const struct network *n = w->network;
	struct input *in = &n->input[place];
	if (n->port[place_port(n, place)].there == NO_PLACE)
		return;
	if (!in->stopped && in->count >= n->router.stop_level) {
		in->stopped = 1;
		level_say(w, place, CREDIT_STOP);
	} else if (in->stopped && in->count <= n->router.go_level) {
		in->stopped = 0;
		level_say(w, place, CREDIT_GO);
	}
}

void credit_other(struct worker *w, uint32_t place)
{
	const struct network *n = w->network;
	uint32_t port = place_port(n, place);
	if (port_is_link(n, port_local(n, port))) {
		if (!n->credits)
			credit_level(w, place);
		return; /* a dead link takes no credit */
	}
	wheel_put(&w->wheel, w->now + n->router.inject_credit_delay, w->index,
		WHEEL_CREDIT, place_source(n, place), CREDIT_ONE);
}
