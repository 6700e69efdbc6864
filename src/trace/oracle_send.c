/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's messages: inline, in the RDR, posted, copied, borrowed. */
#include <errno.h>

#include "base/bits.h"
#include "trace/bytes.h"
#include "trace/oracle_model.h"

/* Allocates RDR units; a payload that would wrap starts at unit 0 instead. */
static bool rdr_allocate(
	const struct oracle *o, struct model_port *p, uint64_t bytes)
{
	uint64_t all = o->trace->queues.rdr_bytes / RDR_UNIT;
	uint64_t units = (bytes + RDR_UNIT - 1) / RDR_UNIT;
	uint64_t at = p->rdr_write % all;
	if (at + units > all)
		units += all - at;
	if (p->rdr_write - p->rdr_read + units > all)
		return false;
	p->rdr_write += units;
	return true;
}

struct outcome_nqe oracle_message(
	const struct oracle *o, const struct trace_instruction *i)
{
	bool fast = i->bytes <= CAY_FAST_SEND_BYTES;
	trace_payload(i, o->data);
	return (struct outcome_nqe){
		.command = fast ? CAY_NOTIFY_FAST_RECV : CAY_NOTIFY_RECV,
		.bytes = fast ? (uint16_t)i->bytes : 0,
		.peer = i->port,
		.api_tag = i->api_tag,
		.tag = i->tag,
		.word = { fast ? 0 : i->bytes },
		.payload = bytes_digest(o->data, i->bytes),
	};
}

/*
 * Fills the next ready posted receive. Returns 0, -EAGAIN, or 1 if the message
 * does not go into a posted buffer.
 */
static int send_posted(struct oracle *o, const struct trace_instruction *i)
{
	struct model_port *p = &o->port[i->peer];
	uint32_t all = o->trace->queues.posted, at = 0, n = 0;
	if (i->bytes <= CAY_FAST_SEND_BYTES || p->mode == POSTED_NONE)
		return 1;
	if (oracle_free_entries(o, i->peer, i->flags) == 0)
		return -EAGAIN;
	for (; n < all; n++) {
		at = (p->slot_take + n) % all;
		if (p->slot[at].state == SLOT_READY)
			break;
	}
	if (n == all)
		return p->mode == POSTED_ONLY ? -EAGAIN : 1;
	p->slot_take = at + 1;

	struct model_slot *slot = &p->slot[at];
	bool whole = i->bytes <= slot->bytes || o->fault == ORACLE_TRUNCATED;
	struct model_entry e = {
		.nqe = oracle_message(o, i), .sender = NO_PORT, .slot = at + 1
	};
	e.nqe.command = oracle_command(CAY_NOTIFY_POSTED_RECV,
		whole ? CAY_ERROR_NONE : CAY_ERROR_POSTED_TRUNCATED);
	e.nqe.payload = bytes_digest(o->data, bits_min(i->bytes, slot->bytes));
	e.nqe.word[1] = slot->cookie;
	slot->state = SLOT_FILLED;
	oracle_notify(o, i->peer, &e);
	return 0;
}

int oracle_send(struct oracle *o, const struct trace_instruction *i)
{
	const struct outcome_nqe completion =
		oracle_completion(i, CAY_ERROR_NONE);
	struct model_port *from = &o->port[i->port], *to = &o->port[i->peer];
	int posted = send_posted(o, i);
	if (posted < 0)
		return posted;
	bool by_reference = posted && i->bytes > CAY_EAGER_MAX;
	bool borrowed = by_reference && i->flags & CAY_BORROW;
	if (posted) {
		struct model_entry e = { .nqe = oracle_message(o, i),
			.sender = NO_PORT };
		if (oracle_free_entries(o, i->peer, i->flags) == 0)
			return -EAGAIN;
		if (by_reference && !borrowed) {
			if (from->copied == COPIED)
				return -EAGAIN;
			from->copied++;
			e.sender = i->port;
			e.copied = true;
		} else if (borrowed) {
			/* The target completes it when it polls. */
			if (from->references == REFERENCES)
				return -EAGAIN;
			from->references++;
			from->pending[i->peer]++;
			e.sender = i->port;
			e.command = completion.completed;
		} else if (i->bytes > CAY_FAST_SEND_BYTES &&
			   !rdr_allocate(o, to, i->bytes)) {
			return -EAGAIN;
		}
		oracle_notify(o, i->peer, &e);
	}
	if (!borrowed && trace_completes(i))
		oracle_complete(o, i->port, &completion);
	return 0;
}
