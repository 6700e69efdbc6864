/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copied messages: long messages that the sender copies into staging memory of
 * the arena, where the target reads them in place. They are complete when they
 * are published, so that the caller may reuse its memory when the call returns.
 *
 * The reference slots from REFERENCE_COPIED on hold them. A slot keeps its
 * staging block between messages: in the steady state a message needs no lock,
 * no system call and no request to the node. Any thread.
 */
#ifndef CAY_PORT_COPIED_H
#define CAY_PORT_COPIED_H

#include "port/port.h"

/*
 * Limit of the staging memory of a port's copied messages, in bytes; a single
 * message may exceed it.
 */
#define COPIED_BYTES_MAX (64ull << 20)

/*
 * Sends a long message. Returns 0, -EAGAIN, -EPIPE, -EMSGSIZE (the arena or a
 * quota could never hold it), -ENOMEM or -ENOTCONN.
 */
int copied_send(struct cay_port *, struct op_record *, struct cay_peer *,
	const struct packet *);

/* Frees the idle staging blocks of this port and the others of the process. */
void copied_evict(struct cay_port *);

/* Returns the number of copied messages in flight, and their staging bytes. */
uint32_t copied_in_flight(struct cay_port *, uint64_t *bytes);

/* The port closes: leaves messages in flight to their targets. */
void copied_close(struct cay_port *);

#endif
