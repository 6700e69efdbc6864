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

enum outgoing_end {
	OUTGOING_NOT_OURS, /* it came twice */
	OUTGOING_SILENT,   /* nobody has asked to be told */
	OUTGOING_TOLD,
};

/* Is this completion one that we wait for? Fills in the event. */
enum outgoing_end outgoing_complete(struct cay_port *, uint32_t reference,
	uint32_t sequence, struct cay_event *);

/* ---- accesses that we make for others: serve.c ---- */

/* 1 and an event if the window's owner wants to know, else 0. */
int serve_access(
	struct cay_port *, const struct cay_nqe *copy, struct cay_event *);

/* What the completion of a reference says to its origin. */
void incoming_complete(struct cay_port *, _Atomic(struct context *) *origin,
	uint32_t reference, const struct completion *);

/* Copies a slot out of shared memory; false if it is in another use. */
bool incoming_reference(
	struct reference *slot, uint32_t sequence, struct reference *copy);

#endif
