/* SPDX-License-Identifier: BSD-2-Clause */
/* Posted receives, as the rest of the library needs them. */
#ifndef CAY_PORT_POSTED_H
#define CAY_PORT_POSTED_H

#include "cay/posted.h"
#include "port/port.h"

/* A message has come into one: 1 and an event, or 0 if that is not so. */
int posted_event(
	struct cay_port *, const struct cay_nqe *copy, struct cay_event *);

/* CAY_ISSUE_POSTED. */
struct cay_answer posted_trigger(struct cay_port *, unsigned count);

/* Has this port ever posted, or said how it wants to? */
bool posted_used(struct cay_port *);

/* Takes back what is posted on this memory. */
void posted_cancel_on(struct cay_port *, const void *memory, uint64_t bytes);

#endif
