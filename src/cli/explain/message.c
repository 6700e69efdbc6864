/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for `cay explain`. */
#include <errno.h>
#include <stdio.h>

#include "cli/explain/explain.h"

#define POSTED_BYTES (128u << 10)

static void vci_fill_send(struct explanation *e, unsigned flags)
{
	if (e->bytes > CAY_FAST_SEND_BYTES) {
		vci_fill(e, CAY_SEND, flags);
		e->vci.word[CAY_VCI_WORD_LENGTH] = e->bytes;
		return;
	}
	vci_fill(e, CAY_FAST_SEND | (unsigned)(e->bytes + 7) / 8, flags);
	e->vci.word[CAY_VCI_WORD_TARGET] |= e->bytes << CAY_VCI_BYTES_SHIFT;
	payload_fill(e, (unsigned char *)&e->vci.word[CAY_VCI_WORD_DATA]);
}

static int prepare_send(struct fixture *b, struct explanation *e)
{
	(void)b;
	vci_fill_send(e, 0);
	return 0;
}

static int prepare_completion(struct fixture *b, struct explanation *e)
{
	(void)b;
	vci_fill_send(e, CAY_VCI_NOTIFY);
	return 0;
}

static int run_fast_send(struct fixture *b, struct explanation *e)
{
	unsigned char data[CAY_FAST_SEND_BYTES];
	payload_fill(e, data);
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_send_fast_tagged(&b->port[0].origin,
		fixture_route(b, 0, 1), EXPLAIN_TAG, EXPLAIN_API_TAG, data,
		e->bytes, b->port[0].op);
	phase_end();
	return r ? r : target_receives(b, e);
}

/* Issues the command of the work request, and so completes with it. */
static int send_with(struct fixture *b, struct explanation *e, unsigned flags)
{
	unsigned char data[QUEUE_PAYLOAD_MAX];
	const struct iovec payload = { data, e->bytes };
	const struct packet p = packet_of(b,
		(uint16_t)e->vci.word[CAY_VCI_WORD_COMMAND], &payload, flags);
	payload_fill(e, data);
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_send(
		&b->port[0].origin, b->port[0].op, fixture_route(b, 0, 1), &p);
	phase_end();
	return r ? r : target_receives(b, e);
}

static int run_send(struct fixture *b, struct explanation *e)
{
	return send_with(b, e, 0);
}

static int run_completion(struct fixture *b, struct explanation *e)
{
	int r = send_with(b, e, CAY_VCI_NOTIFY);
	return r ? r : origin_receives(b, e);
}

/*
 * The origin copies the message into a staging block and publishes a reference
 * slot. The target reads the block in place and sets the slot to DONE when it
 * releases the message; no completion follows. The origin's next long message
 * finds the slot DONE and reuses it with its block.
 */
static int run_copied(struct fixture *b, struct explanation *e)
{
	static unsigned char data[EXPLAIN_BYTES_MAX];
	struct origin *o = &b->port[0].origin;
	const struct iovec payload = { data, e->bytes };
	const struct packet p = packet_of(b, CAY_SEND, &payload, 0);
	const struct reference source = { .kind = REFERENCE_ARENA,
		.address = e->memory,
		.length = e->bytes };
	struct reference *slot = &o->refs[REFERENCE_COPIED];
	payload_fill(e, data);
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_send_copied(o, b->port[0].op, fixture_route(b, 0, 1),
		&p, &source, b->arena.base + e->memory, REFERENCE_COPIED);
	phase_end();
	if (r)
		return r;
	phase_begin(b, e, "target receives, then releases", "target");
	r = entry_consume(b, 1, e, "at the target");
	if (r == 0)
		counting_reference_done(
			slot, completion_of(e, CAY_SEND).sequence);
	entries_return(b, 1);
	phase_end();
	phase_begin(b, e, "origin reuses the slot", "origin");
	if (r == 0 && !counting_reference_reclaim(slot))
		r = -EIO;
	phase_end();
	return r;
}

static int prepare_copied(struct fixture *b, struct explanation *e)
{
	e->memory = fixture_memory(b, EXPLAIN_BYTES_MAX);
	return e->memory ? 0 : -ENOMEM;
}

/* A work request exists if the payload fits into the send data region. */
static int prepare_reference(struct fixture *b, struct explanation *e)
{
	if (e->bytes <= b->port[0].origin.sdr_bytes)
		vci_fill_send(e, 0);
	return 0;
}

/* The copy between the processes is not part of the device. */
static int target_completes(struct fixture *b, struct explanation *e)
{
	phase_begin(b, e, "target receives and completes", "target");
	int r = entry_consume(b, 1, e, "at the target");
	if (r == 0) {
		const struct completion done = completion_of(e, CAY_SEND);
		struct context *origin = atomic_load_explicit(
			fixture_route(b, 1, 0), memory_order_relaxed);
		counting_reference_done(
			&origin->refs[done.reference - 1], done.sequence);
		r = counting_complete(origin, b->port[1].op, &done, 0);
	}
	entries_return(b, 1);
	phase_end();
	return r;
}

static int run_reference(struct fixture *b, struct explanation *e)
{
	struct origin *o = &b->port[0].origin;
	const struct iovec payload = { NULL, e->bytes };
	const struct packet p = packet_of(b, CAY_SEND, &payload, 0);
	const struct reference source = { .kind = REFERENCE_ARENA,
		.address = ARENA_HEAP_OFFSET,
		.length = e->bytes };
	uint32_t index = 0;
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_send_reference(
		o, b->port[0].op, fixture_route(b, 0, 1), &p, &source, &index);
	phase_end();
	if (r == 0)
		r = target_completes(b, e);
	return r ? r : origin_receives(b, e);
}

static int prepare_posted(struct fixture *b, struct explanation *e)
{
	vci_fill(e, CAY_SEND, 0);
	e->vci.word[CAY_VCI_WORD_LENGTH] = e->bytes;
	e->memory = fixture_memory(b, POSTED_BYTES);
	if (!e->memory)
		return -ENOMEM;
	return fixture_post(b, 1, e->memory, POSTED_BYTES, EXPLAIN_TAG);
}

static int run_posted(struct fixture *b, struct explanation *e)
{
	static unsigned char data[POSTED_BYTES];
	const struct iovec payload = { data, e->bytes };
	const struct packet p = packet_of(b, CAY_SEND, &payload, 0);
	payload_fill(e, data);
	phase_begin(b, e, "origin issues", "origin");
	int r = counting_send(
		&b->port[0].origin, b->port[0].op, fixture_route(b, 0, 1), &p);
	phase_end();
	return r ? r : target_receives(b, e);
}

const struct explain_instruction explain_messages[EXPLAIN_MESSAGES] = {
	{ "fast_send", 8, 0, CAY_FAST_SEND_BYTES, prepare_send, run_fast_send,
		false },
	{ "send", 256, 0, QUEUE_PAYLOAD_MAX, prepare_send, run_send, false },
	{ "copied", 65536, QUEUE_PAYLOAD_MAX + 1, EXPLAIN_BYTES_MAX,
		prepare_copied, run_copied, true },
	{ "reference", 65536, QUEUE_PAYLOAD_MAX + 1, 1ull << 40,
		prepare_reference, run_reference, false },
	{ "completion", 8, 0, QUEUE_PAYLOAD_MAX, prepare_completion,
		run_completion, false },
	{ "posted", 4096, CAY_FAST_SEND_BYTES + 1, EXPLAIN_BYTES_MAX,
		prepare_posted, run_posted, false },
};
