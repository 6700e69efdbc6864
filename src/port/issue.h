/* SPDX-License-Identifier: BSD-2-Clause */
/* Accounting common to all calls that issue operations. Any thread. */
#ifndef CAY_PORT_ISSUE_H
#define CAY_PORT_ISSUE_H

#include <errno.h>

#include "port/port.h"
#include "port/record.h"

#define ISSUE_FLAGS                                                \
	(CAY_NOTIFY | CAY_FREE_ORDER | CAY_FENCE | CAY_INTERRUPT | \
		CAY_PRIORITY | CAY_ACK)
#define ISSUE_BYTES_MAX (1ull << 40)

/*
 * Returns the op record of this thread, which counts the accepted operations of
 * this port from now on, so that no cache line is shared. NULL: -ENOBUFS.
 */
static inline struct op_record *issue_record(struct cay_port *port)
{
	struct op_record *op = record_of(port->member);
	if (unlikely(op && atomic_load_explicit(&op->port,
				   memory_order_relaxed) != port->origin.vpid))
		record_switch_port(port->member, op, port->origin.vpid);
	return op;
}

/* The same without a call; NULL if it takes one. */
static inline struct op_record *issue_record_cached(const struct cay_port *port)
{
	struct op_record *op = record_cache.op;
	/* Relaxed: only this thread writes them outside of the device. */
	return likely(record_cache.serial == port->member->serial &&
		       atomic_load_explicit(&op->state, memory_order_relaxed) ==
			       OP_IDLE &&
		       atomic_load_explicit(&op->port, memory_order_relaxed) ==
			       port->origin.vpid)
		       ? op
		       : NULL;
}

static inline void issue_count(struct op_record *op, uint32_t count)
{
	atomic_store_explicit(&op->issued,
		atomic_load_explicit(&op->issued, memory_order_relaxed) + count,
		memory_order_relaxed);
}

/*
 * Counts the operation if `r`, the result of the device, is 0 or -EAGAIN.
 * Returns r.
 */
static inline int issue_done(struct cay_port *port, struct op_record *op, int r)
{
	if (likely(r == 0)) {
		issue_count(op, 1);
	} else if (r == -EAGAIN) {
		port_count(&port->origin.refused);
	}
	return r;
}

#endif
