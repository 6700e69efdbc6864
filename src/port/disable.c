/* SPDX-License-Identifier: BSD-2-Clause */
/* Disabling a port that has presented too many invalid capabilities. */
#include "port/lock.h"
#include "port/port.h"

void port_disable(struct cay_port *port)
{
	struct node_request request = { .kind = NODE_DISABLE };
	struct lock_guard guard;
	request.close.vpid = port->origin.vpid;
	lock_take(&port->lock, &guard);
	if (port_valid(port)) {
		control_tell(port->member, &request);
		/* Complements the incarnation, under the lock once. */
		atomic_fetch_xor_explicit(
			&port->state, UINT32_MAX, memory_order_relaxed);
	}
	lock_drop(&port->lock, &guard);
}
