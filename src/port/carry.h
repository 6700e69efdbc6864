/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses that only the target's owner can make. */
#ifndef CAY_PORT_CARRY_H
#define CAY_PORT_CARRY_H

#include "port/port.h"

/* origin.send_emulated of every port: see device/context.h. */
int carry_access(struct origin *, struct op_record *,
	_Atomic(struct context *) *to, const struct packet *);

#endif
