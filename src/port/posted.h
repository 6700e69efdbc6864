/* SPDX-License-Identifier: BSD-2-Clause */
/* Posted receives inside the library. */
#ifndef CAY_PORT_POSTED_H
#define CAY_PORT_POSTED_H

#include "cay/posted.h"
#include "port/port.h"

/*
 * Converts a NOTIFY_POSTED_RECV. Returns 1 and an event, or 0 if the entry does
 * not name a filled slot.
 */
int posted_event(
	struct cay_port *, const struct cay_nqe *copy, struct cay_event *);

/* CAY_ISSUE_POSTED. */
struct cay_answer posted_trigger(struct cay_port *, unsigned count);

/* Returns true if the port has ever posted a receive or set a receive mode. */
bool posted_used(struct cay_port *);

/* Cancels the receives posted on this memory. */
void posted_cancel_on(struct cay_port *, const void *memory, uint64_t bytes);

#endif
