/* SPDX-License-Identifier: BSD-2-Clause */
/* References at the target: reading and completing them. */
#ifndef CAY_PORT_REFERENCE_H
#define CAY_PORT_REFERENCE_H

#include "port/port.h"

/*
 * Copies a slot out of shared memory. Returns false if the slot is free or in
 * use for another operation than `sequence`.
 */
bool reference_copy(
	struct reference *slot, uint32_t sequence, struct reference *copy);

/*
 * Ends a reference: tells its origin, which may migrate meanwhile, that the
 * memory is no longer read. Only a borrowed one has a completion.
 */
void reference_complete(struct cay_port *, _Atomic(struct context *) *origin,
	uint32_t reference, const struct completion *);

#endif
