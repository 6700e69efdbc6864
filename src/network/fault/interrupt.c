/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a worker leaves to the caller, because it concerns more than its nodes.
 * Between two cycles they are handled in the order of ports, so that it does
 * not matter who raised them.
 */
#include <stdlib.h>

#include "network/engine/parts.h"

void alarm_raise(struct worker *w, enum alarm_kind kind, uint32_t port)
{
	w->counters.interrupts++;
	places_put(w, &w->alarms, port << 1 | kind);
}

static int alarm_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Workers have their nodes in order. */
void alarm_handle(struct network *n)
{
	for (unsigned i = 0; i < n->workers; i++) {
		struct places *l = &n->worker[i].alarms;
		if (l->count)
			qsort(l->of, l->count, sizeof(*l->of), alarm_order);
		for (uint32_t k = 0; k < l->count; k++) {
			uint32_t port = l->of[k] >> 1;
			if ((l->of[k] & 1) == ALARM_DEADLOCK)
				deadlock_recover(n, port);
			else
				fault_do(n, NETWORK_LINK_DIES,
					port_node(n, port),
					port_local(n, port));
		}
		l->count = 0;
	}
}
