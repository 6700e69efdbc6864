/* SPDX-License-Identifier: BSD-2-Clause */
/* Emulated accesses: requests by the origin, execution by the owner. */
#ifndef CAY_PORT_EMULATE_H
#define CAY_PORT_EMULATE_H

#include "port/port.h"

/* origin.send_emulated of every port; see device/context.h. Any thread. */
int emulate_send(struct origin *, struct op_record *,
	_Atomic(struct context *) *to, const struct packet *);

/*
 * Executes the access that the notification refers to and completes it at its
 * origin. Returns 1 and an event if the window notifies accesses, else 0, or
 * -ENOMEM. The consuming thread of the owner.
 */
int emulate_execute(
	struct cay_port *, const struct cay_nqe *copy, struct cay_event *);

#endif
