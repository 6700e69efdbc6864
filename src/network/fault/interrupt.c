/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts: conditions that concern more than the nodes of one worker. The
 * caller's thread handles them between two cycles, in the order of ports, so
 * that the number of workers has no effect on the result.
 */
#include <stdlib.h>

#include "network/engine/parts.h"

void interrupt_raise(struct worker *w, enum interrupt_kind kind, uint32_t port)
{
	w->counters.interrupts++;
	worklist_add(w, &w->interrupts, port << 1 | kind);
}

static int interrupt_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

void interrupts_handle(struct network *n)
{
	for (unsigned i = 0; i < n->workers; i++) {
		struct worklist *l = &n->worker[i].interrupts;
		if (l->count)
			qsort(l->entry, l->count, sizeof(*l->entry),
				interrupt_order);
		for (uint32_t k = 0; k < l->count; k++) {
			uint32_t port = l->entry[k] >> 1;
			if ((l->entry[k] & 1) == INTERRUPT_DEADLOCK)
				deadlock_recover(n, port);
			else
				fault_apply(n, NETWORK_LINK_FAILS,
					port_node(n, port),
					port_local(n, port));
		}
		l->count = 0;
	}
}
