/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resolutions that cay_peer_resolve_start() or cay_peer_lookup_start() has
 * started. The node completes each with a NOTIFY_CC in the port's own queue, in
 * an entry that was reserved before the request was sent.
 */
#ifndef CAY_PORT_RESOLVE_H
#define CAY_PORT_RESOLVE_H

#include "port/port.h"

/*
 * Converts the completion of a resolution. Returns 1 (an event), or 0 if none
 * with this number is under way. The consuming thread.
 */
int resolve_event(
	struct cay_port *, const struct cay_nqe *, struct cay_event *);

/* Returns true while the node owes completions. */
bool resolve_pending(const struct cay_port *);
/*
 * If the node has exited, completes the resolutions with an error. The
 * consuming thread.
 */
void resolve_abort(struct cay_port *);

/* Frees the resolutions of a port that is closed. */
void resolve_free(struct cay_port *);

#endif
