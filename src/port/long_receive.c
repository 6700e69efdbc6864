/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages at the target. The notification names a reference slot of the
 * origin. A message in the arena is read in place and completed on release; a
 * message in the memory of the origin is copied and completed at once, or kept
 * for cay_event_fetch().
 */
#include "port/long_receive.h"

#include <errno.h>
#include <stdlib.h>

#include "port/consumer.h"
#include "port/fetch.h"

static struct fetch fetch_of(const struct cay_nqe *n)
{
	return (struct fetch){ .tag = n->word[CAY_NQE_WORD_TAG],
		.api_tag = (uint32_t)(n->word[CAY_NQE_WORD_PEER] >>
				      CAY_NQE_API_TAG_SHIFT),
		.command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED],
		.length = n->word[CAY_NQE_WORD_LENGTH],
		.reference = (uint32_t)n->word[CAY_NQE_WORD_REFERENCE],
		.sequence = (uint32_t)n->word[CAY_NQE_WORD_START],
		.vpid = (uint16_t)(n->word[CAY_NQE_WORD_VALID] >>
				   CAY_NQE_VPID_SHIFT) };
}

/* Copies a message out of its origin, and completes it. */
static int long_copy(struct cay_port *port, const struct fetch *f,
	struct consumer_slot *slot, struct cay_event *e)
{
	void *buffer = malloc(f->length);
	if (!buffer)
		return -ENOMEM;
	int error = fetch_copy(port, f, buffer, f->length);
	e->error = error < 0 ? CAY_ERROR_MEMORY : error;
	fetch_complete(port, f, e->error);
	if (e->error) {
		free(buffer);
		return 0;
	}
	slot->buffer = buffer;
	e->data = buffer;
	return 0;
}

int long_receive(struct cay_port *port, const struct cay_nqe *n,
	struct consumer_slot *slot, struct cay_event *e)
{
	struct member *m = port->member;
	uint64_t reference = n->word[CAY_NQE_WORD_REFERENCE];
	const struct fetch f = fetch_of(n);
	_Atomic(struct context *) *origin;
	struct reference ref = { 0 };

	int r = member_origin(m, e->peer.vpid, &origin);
	if (r == -ENOMEM)
		return r;
	e->error = CAY_ERROR_GONE;
	if (r || reference > 1u << QUEUE_REFS_LOG2)
		return 0;
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct reference *shared = &c->refs[reference - 1];
	/* A started reference is not reused until it is complete. */
	if (!device_reference_begin(shared, f.sequence) ||
		!device_reference_read(shared, f.sequence, &ref) ||
		ref.length != e->length) {
		/* A set that was replaced is closed, too. */
		return device_open(c) || context_follow_migration(origin, c)
			       ? -ECANCELED
			       : 0;
	}
	e->error = CAY_ERROR_MEMORY;
	if (!reference_valid(&ref, m->arena.bytes))
		return 0;
	e->error = CAY_ERROR_NONE;
	if (ref.kind != REFERENCE_PROCESS && ref.flags & REFERENCE_PROBE &&
		fetch_read(&ref, 0, NULL, 0) == 0)
		device_reference_outcome(shared, f.sequence, REFERENCE_PROBED);
	if (port->flags & CAY_PORT_FETCH &&
		!reference_is_copied((uint32_t)reference - 1))
		return fetch_take(port, &f, e);
	if (ref.kind == REFERENCE_PROCESS)
		return long_copy(port, &f, slot, e);
	e->data = m->arena.base + ref.address;
	slot->reference = f.reference;
	slot->sequence = f.sequence;
	return 0;
}

void long_receive_finish(
	struct cay_port *port, const struct consumer *rx, uint64_t position)
{
	struct consumer_slot *slot = consumer_slot(rx, position);
	const struct cay_nqe n = *device_entry(rx->own, position);
	struct fetch f = fetch_of(&n);
	f.reference = slot->reference;
	f.sequence = slot->sequence;
	fetch_complete(port, &f, CAY_ERROR_NONE);
	slot->reference = 0;
}
