/* SPDX-License-Identifier: BSD-2-Clause */
/* Completing references at the target. */
#ifndef CAY_PORT_REFERENCE_H
#define CAY_PORT_REFERENCE_H

#include "port/port.h"

/*
 * Ends a reference: tells its origin, which may migrate meanwhile, that the
 * memory is no longer read. Only a borrowed one has a completion.
 */
void reference_complete(struct cay_port *, _Atomic(struct context *) *origin,
	uint32_t reference, const struct completion *);

#endif
