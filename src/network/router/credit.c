/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow control between an input VC and the output VC that fills it: a credit
 * for each flit that leaves the buffer, or XON/XOFF at two fill levels.
 */
#include "network/router/input.h"

/* ---- at the output ---- */

void credits_arrive(struct worker *w, const struct wheel_list *l)
{
	struct network *n = w->network;
	for (uint32_t i = 0; i < l->count; i++) {
		struct output_vc *out = &n->output[l->event[i].index];
		enum credit credit = (enum credit)l->event[i].value;
		if (likely(credit == CREDIT_ONE))
			out->credits++;
		else
			out->credits = credit == CREDIT_XON ? CREDITS_UNLIMITED
							    : 0;
		uint32_t blocked = out->blocked_input;
		if (unlikely(blocked != NO_VC) && out->credits) {
			out->blocked_input = NO_VC;
			input_request_switch(w, &n->input[blocked], blocked);
		}
	}
}

/* ---- at the input ---- */

void credit_threshold(struct worker *w, uint32_t vc)
{
	const struct network *n = w->network;
	struct input_vc *in = &n->input[vc];
	if (in->xoff_sent ? in->count > n->router.xon_level
			  : in->count < n->router.xoff_level)
		return;
	const struct port_state *p = &n->port[vc_port(n, vc)];
	if (p->peer_vc == NO_VC)
		return;
	in->xoff_sent = !in->xoff_sent;
	wheel_put(&w->wheel, w->now + n->router.credit_delay, p->peer_worker,
		WHEEL_CREDIT, p->peer_vc + vc_channel(n, vc),
		in->xoff_sent ? CREDIT_XOFF : CREDIT_XON);
}

/* A longer link delays credits as well. */
static unsigned credit_delay(const struct network *n, uint32_t port)
{
	int delay =
		(int)n->router.credit_delay + n->link_state[port].delay_more;
	return delay > 1 ? (unsigned)delay : 1;
}

void credit_return_other(struct worker *w, uint32_t vc)
{
	const struct network *n = w->network;
	uint32_t port = vc_port(n, vc);
	if (port_is_link(n, port_local(n, port))) {
		const struct port_state *p = &n->port[port];
		if (!n->credits)
			credit_threshold(w, vc);
		else if (p->peer_vc != NO_VC)
			wheel_put(&w->wheel, w->now + credit_delay(n, port),
				p->peer_worker, WHEEL_CREDIT,
				p->peer_vc + vc_channel(n, vc), CREDIT_ONE);
		return; /* a dead link returns no credit */
	}
	wheel_put(&w->wheel, w->now + n->router.inject_credit_delay, w->index,
		WHEEL_CREDIT, vc_source(n, vc), CREDIT_ONE);
}
