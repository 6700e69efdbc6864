/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending long messages by reference. */
#ifndef CAY_PORT_OUTGOING_H
#define CAY_PORT_OUTGOING_H

#include "port/port.h"

/* 0, -EAGAIN, -EPIPE, -ENOMEM. May enter the kernel. Any thread. */
int outgoing_send(struct cay_port *, struct op_record *, struct cay_peer *,
	const struct packet *);

/*
 * Before the first long message: the node now looks at our references when a
 * target closes.
 */
void outgoing_announce(struct cay_port *);

/* Makes the table of long messages, once. 0 or -ENOMEM. */
int outgoing_table(struct cay_port *);

/* Issues what a reference describes and notes it. No signal may interrupt. */
int outgoing_issue(struct cay_port *, struct op_record *, const struct packet *,
	const struct reference *, const struct outgoing *note);

/* What peers have been asked to get for us and have got arrives. */
void outgoing_settle(struct cay_port *, uint16_t vpid);

#endif
