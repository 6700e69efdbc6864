/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages and emulated accesses of this port in flight: one entry per
 * reference slot, with the state needed when the target completes it.
 */
#ifndef CAY_PORT_PENDING_H
#define CAY_PORT_PENDING_H

#include "port/port.h"

/*
 * Tells the node, once, that this port uses references, so that the node
 * completes them when a target closes or dies. Returns 0, or -EAGAIN if the
 * node does not reply.
 */
int pending_announce(struct cay_port *);

/* Announces, and allocates the table once. Returns 0, -ENOMEM or -EAGAIN. */
int pending_prepare(struct cay_port *);

/*
 * Issues `p` with the reference and enters `pending` into the table. The caller
 * holds a lock_guard. Returns 0, -EAGAIN, -EPIPE.
 */
int pending_issue(struct cay_port *, struct op_record *, const struct packet *p,
	const struct reference *, const struct pending *);

enum pending_result {
	PENDING_STALE,	/* a duplicate completion */
	PENDING_SILENT, /* completed, no event was requested */
	PENDING_REPORT, /* completed, report the event */
};

/* Completes an entry and fills in the event. The consuming thread. */
enum pending_result pending_complete(struct cay_port *, uint32_t reference,
	uint32_t sequence, struct cay_event *);

/* Stores the results of completed gets and atomics at a target. Any thread. */
void pending_store_results(struct cay_port *, uint16_t vpid);

/*
 * The port closes. Withdraws messages in ordinary memory, which the application
 * may reuse; a target that is copying one notices. Those in the arena stay
 * valid for their targets.
 */
void pending_abandon(struct cay_port *);

#endif
