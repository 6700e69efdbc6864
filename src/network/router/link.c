/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Delay and width of links, and their bit errors. The receiver detects them by
 * CRC; the link repeats the flit, and the flits behind it wait, so the order is
 * preserved.
 */
#include "network/engine/parts.h"

int link_repeat(struct worker *w, uint32_t port)
{
	struct network *n = w->network;
	struct link_state *link = &n->link_state[port];
	double rate = n->options.error_rate;
	unsigned errors = n->port[port].flags & PORT_ERROR ? 1 : 0;
	n->port[port].flags &= (uint8_t)~PORT_ERROR;
	while (errors < NETWORK_LINK_ERRORS && rate > 0 &&
		random_real(&link->error_random) < rate)
		errors++;
	if (unlikely(link->cycles > 1))
		link->busy_until = (uint32_t)(w->now + link->cycles);
	if (!errors)
		return link->delay_more;
	int retry = (int)n->router.retry_delay + 2 * link->delay_more;
	int late = (int)errors * (retry > 1 ? retry : 1);
	link->busy_until = (uint32_t)(w->now + link->cycles + (unsigned)late);
	link->repeated += errors;
	w->counters.flits_repeated += errors;
	if (errors == NETWORK_LINK_ERRORS)
		interrupt_raise(w, INTERRUPT_LINK, port);
	return late + link->delay_more;
}
