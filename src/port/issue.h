/* SPDX-License-Identifier: BSD-2-Clause */
/* What every issuing call does around the device. Any thread. */
#ifndef CAY_PORT_ISSUE_H
#define CAY_PORT_ISSUE_H

#include <errno.h>

#include "port/port.h"
#include "port/record.h"

#define ISSUE_FLAGS                                                \
	(CAY_NOTIFY | CAY_FREE_ORDER | CAY_FENCE | CAY_INTERRUPT | \
		CAY_PRIORITY | CAY_ACK)
#define ISSUE_BYTES_MAX (1ull << 40)

/* The thread now issues on another port: give the old one its count. */
void issue_take_up(struct cay_port *, struct op_record *);

/* Counted in the thread's own record: no line is shared for it. */
static inline void issue_count(struct cay_port *port, struct op_record *op)
{
	if (unlikely(atomic_load_explicit(&op->port, memory_order_relaxed) !=
		     port->origin.vpid))
		issue_take_up(port, op);
	atomic_store_explicit(&op->issued,
		atomic_load_explicit(&op->issued, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

static inline int issue_done(struct cay_port *port, struct op_record *op, int r)
{
	if (likely(r == 0))
		issue_count(port, op);
	else if (r == -EAGAIN)
		port_count(&port->count.refused);
	return r;
}

#endif
