/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long messages that come in: the notification names a reference slot at the
 * origin. What lies in the arena is used in place and completed on release;
 * what lies in the origin's own memory is copied and completed at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "base/bits.h"
#include "port/event.h"
#include "port/intake.h"
#include "port/record.h"

/* The kernel copies at most so much in one call. */
#define COPY_BYTES_MAX (1ull << 30)

/*
 * Reads the origin's memory together with its cookie: whatever process has
 * that number by now, if the cookie fits it is the right one.
 */
static int process_read(
	const struct reference *ref, uint64_t offset, void *to, uint64_t bytes)
{
	uint64_t cookie = 0;
	struct iovec local[2] = { { &cookie, sizeof(cookie) }, { to, bytes } };
	struct iovec remote[2] = { { (void *)(uintptr_t)ref->cookie_address,
					   sizeof(cookie) },
		{ (void *)(uintptr_t)(ref->address + offset), bytes } };
	unsigned long count = bytes ? 2 : 1;
	ssize_t n = process_vm_readv(
		(pid_t)ref->pid, local, count, remote, count, 0);
	if (n < 0)
		return -errno;
	if (n != (ssize_t)(sizeof(cookie) + bytes))
		return -EFAULT;
	return cookie == ref->cookie ? 0 : -ESRCH;
}

static int process_copy(const struct reference *ref, unsigned char *to)
{
	for (uint64_t at = 0; at < ref->length;) {
		uint64_t bytes = bits_min(ref->length - at, COPY_BYTES_MAX);
		int r = process_read(ref, at, to + at, bytes);
		if (r)
			return r;
		at += bytes;
	}
	return 0;
}

/* Copies a slot out of shared memory; false if it is in another use. */
static bool reference_copy(
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
	       (now == REFERENCE_READY || now == REFERENCE_SENT);
}

static void incoming_complete(struct cay_port *port,
	_Atomic(struct context *) *origin, uint32_t reference,
	uint32_t sequence, const struct cay_nqe *n, enum cay_error error)
{
	struct context *c = atomic_load_explicit(origin, memory_order_acquire);
	struct op_record *op = record_of(port->member);
	struct completion done = { .tag = n->word[CAY_NQE_WORD_TAG],
		.api_tag = (uint32_t)(n->word[CAY_NQE_WORD_PEER] >>
				      CAY_NQE_API_TAG_SHIFT),
		.command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED],
		.error = (uint8_t)error,
		.peer_node = port->origin.node,
		.peer_vpid = port->origin.vpid,
		.length = n->word[CAY_NQE_WORD_LENGTH],
		.reference = reference,
		.sequence = sequence };

	struct reference *slot = &c->refs[reference - 1];
	/* Ours until it is DONE; the node reads it if we die after that. */
	if (atomic_load_explicit(&slot->state, memory_order_acquire) >>
			REFERENCE_SEQUENCE_SHIFT ==
		sequence)
		atomic_fetch_or_explicit(
			&slot->outcome, error, memory_order_relaxed);
	if (!device_reference_done(slot, sequence) || !op)
		return;
	while (device_complete(c, op, &done, 0) != 0 &&
		context_follow(origin, c))
		c = atomic_load_explicit(origin, memory_order_acquire);
}

/* Can we read the origin's memory? It asked, so it is told. */
static void incoming_probe(struct reference *slot, const struct reference *ref)
{
	if (ref->probe && process_read(ref, 0, NULL, 0) == 0)
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
	int r = process_copy(ref, buffer);
	if (!reference_copy(&c->refs[reference - 1], sequence, &again) ||
		r == -ESRCH)
		e->error = CAY_ERROR_GONE;
	else if (r)
		e->error = CAY_ERROR_MEMORY;
	incoming_complete(
		port, origin, reference, sequence, n, (enum cay_error)e->error);
	if (e->error) {
		free(buffer);
		return 0;
	}
	slot->buffer = buffer;
	e->data = buffer;
	return 0;
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
	if (!reference_copy(shared, sequence, &ref) || ref.length != e->length)
		return 0;
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
	if (member_origin(port->member, vpid, &origin) == 0)
		incoming_complete(port, origin, slot->reference, slot->sequence,
			&n, CAY_ERROR_NONE);
	slot->reference = 0;
}
