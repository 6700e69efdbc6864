/* SPDX-License-Identifier: BSD-2-Clause */
/* See reference.h. */
#include "port/reference.h"

#include "port/record.h"

void reference_complete(struct cay_port *port,
	_Atomic(struct context *) *origin, uint32_t reference,
	const struct completion *done)
{
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct op_record *op = record_of(port->member);
	struct reference *slot = &c->refs[reference - 1];
	device_reference_outcome(slot, done->sequence, done->error);
	if (!device_reference_done(slot, done->sequence) || !op ||
		reference_is_copied(reference - 1))
		return;
	while (device_complete(c, op, done, 0) != 0 &&
		context_follow_migration(origin, c))
		c = atomic_load_explicit(origin, memory_order_acquire);
}
