/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages that come in: the notification names a reference slot at the
 * origin. What lies in the arena is used in place and completed on release;
 * what lies in the origin's own memory is copied and completed at once.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/process_memory.h"
#include "port/event.h"
#include "port/intake.h"
#include "port/record.h"

/* As much of the origin's memory as it says, or just its cookie. */
static int process_copy(const struct reference *ref, void *to, uint64_t bytes)
{
	struct process_memory origin = { .pid = ref->pid,
		.cookie = (uint32_t)ref->cookie,
		.cookie_address = ref->cookie_address };
	return process_memory_read(&origin, ref->address, to, bytes);
}

bool incoming_reference(
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
	copy->probe = slot->probe;
	unsigned now = state & REFERENCE_STATE_MASK;
	return state >> REFERENCE_SEQUENCE_SHIFT == sequence &&
	       (now == REFERENCE_READY || now == REFERENCE_SENT ||
		       now == REFERENCE_STARTED);
}

void incoming_complete(struct cay_port *port, _Atomic(struct context *) *origin,
	uint32_t reference, const struct completion *done)
{
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct op_record *op = record_of(port->member);
	struct reference *slot = &c->refs[reference - 1];
	/* Ours until it is DONE; the node reads it if we die after that. */
	if (atomic_load_explicit(&slot->state, memory_order_acquire) >>
			REFERENCE_SEQUENCE_SHIFT ==
		done->sequence)
		atomic_fetch_or_explicit(
			&slot->outcome, done->error, memory_order_relaxed);
	if (!device_reference_done(slot, done->sequence) || !op)
		return;
	while (device_complete(c, op, done, 0) != 0 &&
		context_follow_migration(origin, c))
		c = atomic_load_explicit(origin, memory_order_acquire);
}

/* The completion of a long message that came with this entry. */
static struct completion incoming_completion(const struct cay_port *port,
	const struct cay_nqe *n, uint32_t reference, uint32_t sequence,
	enum cay_error error)
{
	return (struct completion){ .tag = n->word[CAY_NQE_WORD_TAG],
		.api_tag = (uint32_t)(n->word[CAY_NQE_WORD_PEER] >>
				      CAY_NQE_API_TAG_SHIFT),
		.command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED],
		.error = (uint8_t)error,
		.peer_node = port->origin.node,
		.peer_vpid = port->origin.vpid,
		.length = n->word[CAY_NQE_WORD_LENGTH],
		.reference = (uint16_t)reference,
		.sequence = sequence };
}

/* Can we read the origin's memory? It asked, so it is told. */
static void incoming_probe(struct reference *slot, const struct reference *ref)
{
	if (ref->probe && process_copy(ref, NULL, 0) == 0)
		atomic_fetch_or_explicit(
			&slot->outcome, REFERENCE_PROBED, memory_order_relaxed);
}

/* In ordinary memory: copy, and look again whether it was still there. */
static int incoming_copy(struct cay_port *port,
	_Atomic(struct context *) *origin, const struct cay_nqe *n,
	const struct reference *ref, struct intake_slot *slot,
	struct cay_event *e)
{
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	uint32_t reference = (uint32_t)n->word[CAY_NQE_WORD_REFERENCE];
	uint32_t sequence = (uint32_t)n->word[CAY_NQE_WORD_START];
	struct reference again;

	unsigned char *buffer = malloc(ref->length);
	if (!buffer)
		return -ENOMEM;
	int r = process_copy(ref, buffer, ref->length);
	if (!incoming_reference(&c->refs[reference - 1], sequence, &again) ||
		r == -ESRCH)
		e->error = CAY_ERROR_GONE;
	else if (r)
		e->error = CAY_ERROR_MEMORY;
	struct completion done = incoming_completion(
		port, n, reference, sequence, (enum cay_error)e->error);
	incoming_complete(port, origin, reference, &done);
	if (e->error) {
		free(buffer);
		return 0;
	}
	slot->buffer = buffer;
	e->data = buffer;
	return 0;
}

/* Then a message that is not there any more was withdrawn. */
static bool incoming_origin_lives(const struct context *c)
{
	return !(atomic_load_explicit(&c->control->w, memory_order_acquire) &
		       W_CLOSED) &&
	       atomic_load_explicit(&c->control->epoch, memory_order_acquire) ==
		       c->epoch;
}

int incoming_fetch(struct cay_port *port, const struct cay_nqe *n,
	struct intake_slot *slot, struct cay_event *e)
{
	struct member *m = port->member;
	uint64_t reference = n->word[CAY_NQE_WORD_REFERENCE];
	uint32_t sequence = (uint32_t)n->word[CAY_NQE_WORD_START];
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
	/* From its beginning on nobody fills the slot in anew. */
	if (!device_reference_begin(shared, sequence) ||
		!incoming_reference(shared, sequence, &ref) ||
		ref.length != e->length)
		return incoming_origin_lives(c) ? -ECANCELED : 0;
	e->error = CAY_ERROR_MEMORY;
	if (!reference_valid(&ref, m->arena.bytes))
		return 0;
	e->error = CAY_ERROR_NONE;
	if (ref.kind == REFERENCE_PROCESS)
		return incoming_copy(port, origin, n, &ref, slot, e);
	incoming_probe(shared, &ref);
	e->data = m->arena.base + ref.address;
	slot->reference = (uint32_t)reference;
	slot->sequence = sequence;
	return 0;
}

void incoming_finish(
	struct cay_port *port, const struct intake *in, uint64_t position)
{
	struct intake_slot *slot = intake_slot(in, position);
	const struct cay_nqe n = *device_entry(in->own, position);
	uint16_t vpid =
		(uint16_t)(n.word[CAY_NQE_WORD_VALID] >> CAY_NQE_VPID_SHIFT);
	_Atomic(struct context *) *origin;
	/* The table is there since the message was fetched. */
	if (member_origin(port->member, vpid, &origin) == 0) {
		struct completion done = incoming_completion(port, &n,
			slot->reference, slot->sequence, CAY_ERROR_NONE);
		incoming_complete(port, origin, slot->reference, &done);
	}
	slot->reference = 0;
}
