/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bit errors of links. The receiver detects them by CRC; the link repeats the
 * flit, and the flits behind it wait, so the order is preserved.
 */
#include "network/engine/parts.h"

unsigned link_repeat(struct worker *w, uint32_t port)
{
	struct network *n = w->network;
	struct link_state *link = &n->link_state[port];
	double rate = n->options.error_rate;
	unsigned errors = n->port[port].flags & PORT_ERROR ? 1 : 0;
	n->port[port].flags &= (uint8_t)~PORT_ERROR;
	while (errors < NETWORK_LINK_ERRORS && rate > 0 &&
		random_real(&link->error_random) < rate)
		errors++;
	if (!errors)
		return 0;
	unsigned late = errors * n->router.retry_delay;
	link->busy_until = (uint32_t)(w->now + 1 + late);
	link->repeated += errors;
	w->counters.flits_repeated += errors;
	if (errors == NETWORK_LINK_ERRORS)
		interrupt_raise(w, INTERRUPT_LINK, port);
	return late;
}
