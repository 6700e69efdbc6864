/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages at the target. The notification names a reference slot of the
 * origin. A message in the arena is read in place and completed on release; a
 * message in the memory of the origin is copied and completed at once.
 */
#include "port/long_receive.h"

#include <errno.h>
#include <stdlib.h>

#include "base/process_memory.h"
#include "port/consumer.h"
#include "port/reference.h"

/* Reads from the origin, after checking its cookie; 0 bytes check only that. */
static int origin_read(const struct reference *ref, void *to, uint64_t bytes)
{
	struct process_memory origin = { .pid = ref->pid,
		.cookie = (uint32_t)ref->cookie,
		.cookie_address = ref->cookie_address };
	return process_memory_read(&origin, ref->address, to, bytes);
}

static void long_complete(struct cay_port *port,
	_Atomic(struct context *) *origin, const struct cay_nqe *n,
	uint32_t reference, uint32_t sequence, int error)
{
	struct completion done = { .tag = n->word[CAY_NQE_WORD_TAG],
		.api_tag = (uint32_t)(n->word[CAY_NQE_WORD_PEER] >>
				      CAY_NQE_API_TAG_SHIFT),
		.command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED],
		.error = (uint8_t)error,
		.peer_node = port->origin.node,
		.peer_vpid = port->origin.vpid,
		.length = n->word[CAY_NQE_WORD_LENGTH],
		.reference = (uint16_t)reference,
		.sequence = sequence };
	reference_complete(port, origin, reference, &done);
}

int long_receive(struct cay_port *port, const struct cay_nqe *n,
	struct consumer_slot *slot, struct cay_event *e)
{
	struct member *m = port->member;
	uint64_t reference = n->word[CAY_NQE_WORD_REFERENCE];
	uint32_t sequence = (uint32_t)n->word[CAY_NQE_WORD_START];
	_Atomic(struct context *) *origin;
	struct reference ref = { 0 }, again;

	int r = member_origin(m, e->peer.vpid, &origin);
	if (r == -ENOMEM)
		return r;
	e->error = CAY_ERROR_GONE;
	if (r || reference > 1u << QUEUE_REFS_LOG2)
		return 0;
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct reference *shared = &c->refs[reference - 1];
	/* A started reference is not reused until it is complete. */
	if (!device_reference_begin(shared, sequence) ||
		!device_reference_read(shared, sequence, &ref) ||
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
	if (ref.kind != REFERENCE_PROCESS) {
		if (ref.flags & REFERENCE_PROBE &&
			origin_read(&ref, NULL, 0) == 0)
			device_reference_outcome(
				shared, sequence, REFERENCE_PROBED);
		e->data = m->arena.base + ref.address;
		slot->reference = (uint32_t)reference;
		slot->sequence = sequence;
		return 0;
	}
	unsigned char *buffer = malloc(ref.length);
	if (!buffer)
		return -ENOMEM;
	r = origin_read(&ref, buffer, ref.length);
	/* The copy is valid only if the reference still was after it. */
	if (!device_reference_read(shared, sequence, &again) || r == -ESRCH)
		e->error = CAY_ERROR_GONE;
	else if (r)
		e->error = CAY_ERROR_MEMORY;
	long_complete(port, origin, n, (uint32_t)reference, sequence, e->error);
	if (e->error) {
		free(buffer);
		return 0;
	}
	slot->buffer = buffer;
	e->data = buffer;
	return 0;
}

void long_receive_finish(
	struct cay_port *port, const struct consumer *rx, uint64_t position)
{
	struct consumer_slot *slot = consumer_slot(rx, position);
	const struct cay_nqe n = *device_entry(rx->own, position);
	uint16_t vpid =
		(uint16_t)(n.word[CAY_NQE_WORD_VALID] >> CAY_NQE_VPID_SHIFT);
	_Atomic(struct context *) *origin;
	/* No -ENOMEM: long_receive() has allocated the table of origins. */
	if (member_origin(port->member, vpid, &origin) == 0)
		long_complete(port, origin, &n, slot->reference, slot->sequence,
			CAY_ERROR_NONE);
	slot->reference = 0;
}
