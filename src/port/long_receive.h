/* SPDX-License-Identifier: BSD-2-Clause */
/* Long messages at the target: see long_receive.c. */
#ifndef CAY_PORT_LONG_RECEIVE_H
#define CAY_PORT_LONG_RECEIVE_H

#include "port/port.h"

/*
 * Makes a long message readable: in place if it is in the arena, else copied
 * out of the origin. Sets data and error of the event. Returns 0, -ENOMEM, or
 * -ECANCELED (the origin has cancelled it). The consuming thread.
 */
int long_receive(struct cay_port *, const struct cay_nqe *copy,
	struct consumer_slot *, struct cay_event *);

/* Completes a message that was read in place, on its release. */
void long_receive_finish(
	struct cay_port *, const struct consumer *, uint64_t position);

#endif
