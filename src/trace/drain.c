/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaying the consumer: takes every notification of a port, as cay_poll()
 * and cay_release() do, and notes what it says.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/bytes.h"
#include "trace/replay_parts.h"

/* One round: what was taken, and is given back at its end. */
struct drain {
	struct replay *r;
	uint32_t port;
	struct context *own;
	uint64_t next, rdr;
	uint32_t completions;
};

/* Which words mean something is a matter of what it is. */
static struct outcome_note note_head(const struct cay_nqe *n)
{
	uint64_t valid = n->word[CAY_NQE_WORD_VALID];
	return (struct outcome_note){ .command = (uint16_t)valid,
		.bytes = (uint16_t)(valid >> CAY_NQE_BYTES_SHIFT),
		.peer = (uint16_t)((valid >> CAY_NQE_VPID_SHIFT) - 1),
		.api_tag = (uint32_t)(n->word[CAY_NQE_WORD_PEER] >>
				      CAY_NQE_API_TAG_SHIFT),
		.tag = n->word[CAY_NQE_WORD_TAG] };
}

/* The message that a reference at its origin stands for; then it is done. */
static void take_long(
	struct drain *d, const struct cay_nqe *n, struct outcome_note *note)
{
	struct replay *r = d->r;
	uint64_t index = n->word[CAY_NQE_WORD_REFERENCE] - 1;
	uint32_t sequence = (uint32_t)n->word[CAY_NQE_WORD_START];
	struct context *origin = atomic_load_explicit(
		workbench_route(&r->bench, d->port, note->peer),
		memory_order_acquire);
	struct reference *slot = &origin->refs[index];
	const struct completion done = { .tag = note->tag,
		.api_tag = note->api_tag,
		.command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED],
		.peer_node = WORKBENCH_NODE,
		.peer_vpid = workbench_vpid(d->port),
		.length = n->word[CAY_NQE_WORD_LENGTH],
		.reference = (uint16_t)(index + 1),
		.sequence = sequence };
	if (!r->platform->reference_begin(slot, sequence))
		return;
	note->payload = bytes_digest(
		(const void *)(uintptr_t)slot->address, slot->length);
	if (r->platform->reference_done(slot, sequence))
		r->platform->complete(
			origin, r->bench.port[d->port].op, &done, 0);
}

static void take_recv(
	struct drain *d, const struct cay_nqe *n, struct outcome_note *note)
{
	uint64_t length = n->word[CAY_NQE_WORD_LENGTH];
	uint64_t start = n->word[CAY_NQE_WORD_START] * RDR_UNIT;
	note->word[0] = length;
	if (n->word[CAY_NQE_WORD_REFERENCE])
		take_long(d, n, note);
	else if (bits_inside(
			 start, length, (uint64_t)RDR_UNIT << d->own->rdr_log2))
		note->payload = bytes_digest(d->own->rdr + start, length);
}

static void take_posted(
	struct drain *d, const struct cay_nqe *n, struct outcome_note *note)
{
	uint64_t index = n->word[CAY_NQE_WORD_POSTED] - 1;
	note->word[0] = n->word[CAY_NQE_WORD_LENGTH];
	note->word[1] = n->word[CAY_NQE_WORD_COOKIE];
	if (index >= d->own->posted_entries)
		return;
	const struct cay_posted_receive slot = d->own->posted[index];
	note->payload = bytes_digest(workbench_at(&d->r->bench, slot.offset),
		bits_min(note->word[0], slot.length));
	owner_posted_free(d->r, d->port, index);
}

static void take_completion(
	struct drain *d, const struct cay_nqe *n, struct outcome_note *note)
{
	uint64_t word = n->word[CAY_NQE_WORD_COMPLETED];
	uint32_t reference = (uint16_t)(word >> CAY_NQE_REFERENCE_SHIFT);
	memcpy(note->word, &n->word[CAY_NQE_WORD_LENGTH], sizeof(note->word));
	note->completed = (uint16_t)word;
	d->completions++;
	if (reference == 0 || reference > 1u << QUEUE_REFS_LOG2)
		return;
	struct replay_long *sent = &d->r->port[d->port].sent[reference - 1];
	d->r->platform->reference_free(
		&d->r->bench.port[d->port].origin, reference - 1);
	free(sent->data);
	sent->data = NULL;
}

static void take(struct drain *d, const struct cay_nqe *n)
{
	struct outcome_note note = note_head(n);
	unsigned command = note.command & CAY_COMMAND_MASK;
	if (command == CAY_NOTIFY_FAST_RECV) {
		note.payload =
			bytes_digest(&n->word[CAY_NQE_WORD_DATA], note.bytes);
		outcome_note(d->r->out, d->port, &note);
		return;
	}
	d->rdr = n->word[CAY_NQE_WORD_POINTERS] >> CAY_NQE_RDR_WRITE_SHIFT;
	switch (command) {
	case CAY_NOTIFY_RECV:
		take_recv(d, n, &note);
		break;
	case CAY_NOTIFY_POSTED_RECV:
		take_posted(d, n, &note);
		break;
	case CAY_NOTIFY_CC:
		take_completion(d, n, &note);
		break;
	case CAY_NOTIFY_RMA:
		memcpy(note.word, &n->word[CAY_NQE_WORD_LENGTH],
			sizeof(note.word));
		note.completed = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED];
		break;
	default: /* as it is; nobody expects it */
		memcpy(note.word, &n->word[CAY_NQE_WORD_LENGTH],
			sizeof(note.word));
	}
	outcome_note(d->r->out, d->port, &note);
}

void replay_drain(struct replay *r, uint32_t port)
{
	struct context *own = workbench_own(&r->bench, port);
	uint64_t returned =
		atomic_load_explicit(&own->control->r, memory_order_relaxed);
	struct drain d = { .r = r,
		.port = port,
		.own = own,
		.next = queue_nq(returned),
		.rdr = queue_rdr(returned) };
	if (r->port[port].closed)
		return;
	while (r->platform->peek(own, d.next)) {
		const struct cay_nqe n = *device_entry(own, d.next);
		take(&d, &n);
		d.next = (d.next + 1) & QUEUE_NQ_MASK;
	}
	if (d.next == queue_nq(returned))
		return;
	/* The room first: whoever is counted back must find it. */
	r->platform->give_back(own, queue_word(d.next, d.rdr));
	r->platform->completions_taken(
		&r->bench.port[port].origin, d.completions);
}
