/* SPDX-License-Identifier: BSD-2-Clause */
/* See reference.h. */
#include "port/reference.h"

#include "port/record.h"

bool reference_copy(
	struct reference *slot, uint32_t sequence, struct reference *copy)
{
	/* G3: pairs with G1, G2 in device/reference.c. */
	uint64_t state =
		atomic_load_explicit(&slot->state, memory_order_acquire);
	copy->address = slot->address;
	copy->length = slot->length;
	copy->cookie = slot->cookie;
	copy->cookie_address = slot->cookie_address;
	copy->pid = slot->pid;
	copy->kind = slot->kind;
	copy->flags = slot->flags;
	unsigned now = state & REFERENCE_STATE_MASK;
	return state >> REFERENCE_SEQUENCE_SHIFT == sequence &&
	       (now == REFERENCE_READY || now == REFERENCE_SENT ||
		       now == REFERENCE_STARTED);
}

void reference_complete(struct cay_port *port,
	_Atomic(struct context *) *origin, uint32_t reference,
	const struct completion *done)
{
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct op_record *op = record_of(port->member);
	struct reference *slot = &c->refs[reference - 1];
	/*
	 * The target owns the slot until DONE. If this process dies after that,
	 * the node reads the outcome.
	 */
	if (atomic_load_explicit(&slot->state, memory_order_acquire) >>
			REFERENCE_SEQUENCE_SHIFT ==
		done->sequence)
		atomic_fetch_or_explicit(
			&slot->outcome, done->error, memory_order_relaxed);
	if (!device_reference_done(slot, done->sequence) || !op ||
		reference_is_copied(reference - 1))
		return;
	while (device_complete(c, op, done, 0) != 0 &&
		context_follow_migration(origin, c))
		c = atomic_load_explicit(origin, memory_order_acquire);
}
