/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay of the consumer: consumes the notifications of a port, as cay_poll()
 * and cay_release() do, and adds them to the outcome.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/bytes.h"
#include "trace/replay_internal.h"

/* One pass over the NQ; its entries are returned together at the end. */
struct drain {
	struct replay *r;
	uint32_t port;
	struct context *own;
	uint64_t next, rdr;
	uint32_t completions;
};

/*
 * A by-reference message: reads it at its origin, and completes it there if it
 * is borrowed.
 */
static void consume_reference(
	struct drain *d, const struct cay_nqe *n, struct outcome_nqe *out)
{
	struct replay *r = d->r;
	uint64_t index = n->word[CAY_NQE_WORD_REFERENCE] - 1;
	uint32_t sequence = (uint32_t)n->word[CAY_NQE_WORD_START];
	struct context *origin = atomic_load_explicit(
		fixture_route(&r->fixture, d->port, out->peer),
		memory_order_acquire);
	struct reference *slot = &origin->refs[index];
	const struct completion done = { .tag = out->tag,
		.api_tag = out->api_tag,
		.command = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED],
		.peer_node = FIXTURE_NODE,
		.peer_vpid = fixture_vpid(d->port),
		.length = n->word[CAY_NQE_WORD_LENGTH],
		.reference = (uint16_t)(index + 1),
		.sequence = sequence };
	if (!r->platform->reference_begin(slot, sequence))
		return;
	out->payload = bytes_digest(
		(const void *)(uintptr_t)slot->address, slot->length);
	if (r->platform->reference_done(slot, sequence) &&
		!reference_is_copied((uint32_t)index))
		r->platform->complete(
			origin, r->fixture.port[d->port].op, &done, 0);
}

static void consume_posted(
	struct drain *d, const struct cay_nqe *n, struct outcome_nqe *out)
{
	uint64_t index = n->word[CAY_NQE_WORD_POSTED] - 1;
	out->word[0] = n->word[CAY_NQE_WORD_LENGTH];
	out->word[1] = n->word[CAY_NQE_WORD_COOKIE];
	if (index >= d->own->posted_entries)
		return;
	const struct cay_posted_receive slot = d->own->posted[index];
	out->payload = bytes_digest(fixture_at(&d->r->fixture, slot.offset),
		bits_min(out->word[0], slot.length));
	replay_posted_free(d->r, d->port, index);
}

static void consume_completion(
	struct drain *d, const struct cay_nqe *n, struct outcome_nqe *out)
{
	uint64_t word = n->word[CAY_NQE_WORD_COMPLETED];
	uint32_t reference = (uint16_t)(word >> CAY_NQE_REFERENCE_SHIFT);
	memcpy(out->word, &n->word[CAY_NQE_WORD_LENGTH], sizeof(out->word));
	out->completed = (uint16_t)word;
	d->completions++;
	if (reference == 0 || reference > REFERENCE_COPIED)
		return;
	unsigned char **payload = &d->r->port[d->port].reference[reference - 1];
	d->r->platform->reference_free(
		&d->r->fixture.port[d->port].origin, reference - 1);
	free(*payload);
	*payload = NULL;
}

/* Which of the words are compared depends on the command. */
static void consume(struct drain *d, const struct cay_nqe *n)
{
	uint64_t valid = n->word[CAY_NQE_WORD_VALID];
	uint64_t length = n->word[CAY_NQE_WORD_LENGTH];
	uint64_t start = n->word[CAY_NQE_WORD_START] * RDR_UNIT;
	struct outcome_nqe out = { .command = (uint16_t)valid,
		.bytes = (uint16_t)(valid >> CAY_NQE_BYTES_SHIFT),
		.peer = (uint16_t)((valid >> CAY_NQE_VPID_SHIFT) - 1),
		.api_tag = (uint32_t)(n->word[CAY_NQE_WORD_PEER] >>
				      CAY_NQE_API_TAG_SHIFT),
		.tag = n->word[CAY_NQE_WORD_TAG] };
	unsigned command = outcome_command(&out);
	/* A fast receive has data in the words of the RDR pointer. */
	if (command != CAY_NOTIFY_FAST_RECV)
		d->rdr = n->word[CAY_NQE_WORD_POINTERS] >>
			 CAY_NQE_RDR_WRITE_SHIFT;
	switch (command) {
	case CAY_NOTIFY_FAST_RECV:
		out.payload =
			bytes_digest(&n->word[CAY_NQE_WORD_DATA], out.bytes);
		break;
	case CAY_NOTIFY_RECV:
		out.word[0] = length;
		if (n->word[CAY_NQE_WORD_REFERENCE])
			consume_reference(d, n, &out);
		else if (bits_inside(start, length,
				 (uint64_t)RDR_UNIT << d->own->rdr_log2))
			out.payload = bytes_digest(d->own->rdr + start, length);
		break;
	case CAY_NOTIFY_POSTED_RECV:
		consume_posted(d, n, &out);
		break;
	case CAY_NOTIFY_CC:
		consume_completion(d, n, &out);
		break;
	case CAY_NOTIFY_RMA:
		out.completed = (uint16_t)n->word[CAY_NQE_WORD_COMPLETED];
		/* fall through */
	default:
		memcpy(out.word, &n->word[CAY_NQE_WORD_LENGTH],
			sizeof(out.word));
	}
	if (!d->r->machine || replay_machine_consumed(d->r, &out))
		outcome_add(d->r->out, d->port, &out);
}

void replay_drain(struct replay *r, uint32_t port)
{
	struct context *own = fixture_own(&r->fixture, port);
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
		consume(&d, &n);
		d.next = (d.next + 1) & QUEUE_NQ_MASK;
	}
	if (d.next == queue_nq(returned))
		return;
	if (r->machine) {
		replay_machine_returned(
			r, port, queue_word(d.next, d.rdr), d.completions);
		return;
	}
	/* Entries are returned before the reservations that rely on them. */
	r->platform->return_entries(own, queue_word(d.next, d.rdr));
	r->platform->completions_returned(
		&r->fixture.port[port].origin, d.completions);
}

/* Draining one port may complete messages of another: repeats until idle. */
void replay_drain_all(struct replay *r)
{
	bool more = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < r->trace->ports; i++) {
			uint32_t before = r->out->port[i].count;
			replay_drain(r, i);
			more |= r->out->port[i].count != before;
		}
	}
}
