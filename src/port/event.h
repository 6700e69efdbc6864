/* SPDX-License-Identifier: BSD-2-Clause */
/* From notification entries to events: what the files of that share. */
#ifndef CAY_PORT_EVENT_H
#define CAY_PORT_EVENT_H

#include "port/port.h"

/* ---- long messages: incoming.c ---- */

/*
 * Makes a long message readable: in place where it is mapped, else copied.
 * Sets data and error of the event. 0 or -ENOMEM.
 */
int incoming_fetch(struct cay_port *, const struct cay_nqe *copy,
	struct intake_slot *, struct cay_event *);

/* It is released: tell the origin, unless that has been done. */
void incoming_finish(
	struct cay_port *, const struct intake *, uint64_t position);

/* ---- long messages of ours: outgoing.c ---- */

/* Is this completion one that we wait for? Fills in the event. */
bool outgoing_complete(struct cay_port *, uint32_t reference, uint32_t sequence,
	struct cay_event *);

#endif
