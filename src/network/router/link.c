/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bit errors. The CRC at the other end of a link catches them; the link repeats
 * the flit, and whatever follows waits, so that the order stays.
 */
#include "network/engine/parts.h"

/* How often a flit has to be repeated. A link that fails more often is dead. */
static unsigned link_errors(struct network *n, uint32_t port)
{
	struct random *r = &n->link_count[port].errors;
	double rate = n->options.error_rate;
	unsigned errors = n->port[port].flags & PORT_ERROR ? 1 : 0;
	n->port[port].flags &= (uint8_t)~PORT_ERROR;
	while (errors < LINK_ERRORS_MAX && rate > 0 && random_real(r) < rate)
		errors++;
	return errors;
}

unsigned link_repeat(struct worker *w, uint32_t port)
{
	struct network *n = w->network;
	unsigned errors = link_errors(n, port);
	unsigned late = errors * n->router.retry_delay;
	if (!errors)
		return 0;
	n->link_count[port].busy = (uint32_t)(w->now + 1 + late);
	n->link_count[port].repeated += errors;
	w->counters.flits_repeated += errors;
	if (errors == LINK_ERRORS_MAX)
		alarm_raise(w, ALARM_LINK, port);
	return late;
}
