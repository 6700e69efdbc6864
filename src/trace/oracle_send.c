/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle's messages and queues: room, payloads, notifications. */
#include <assert.h>
#include <errno.h>

#include "base/bits.h"
#include "trace/bytes.h"
#include "trace/oracle_model.h"

/* ---- room ---- */

uint32_t oracle_room(const struct oracle *o, uint32_t port, unsigned flags)
{
	uint32_t keep = o->keep_completions +
			(flags & CAY_PRIORITY ? 0 : o->keep_priority);
	uint32_t used = o->port[port].count + keep;
	return used < o->nq_entries ? o->nq_entries - used : 0;
}

uint32_t oracle_completions(const struct oracle *o)
{
	return o->keep_completions;
}

bool model_reserve(struct oracle *o, uint32_t port)
{
	if (o->port[port].completions == o->keep_completions)
		return false;
	o->port[port].completions++;
	return true;
}

void model_notify(struct oracle *o, uint32_t port, const struct model_entry *e)
{
	struct model_port *p = &o->port[port];
	assert(p->count <= o->trace->queues.nq_entries);
	if (!p->closed)
		p->entry[p->count++] = *e;
}

void model_complete(
	struct oracle *o, uint32_t port, const struct outcome_note *note)
{
	const struct model_entry e = {
		.note = *note, .reserved = true, .from = NOBODY
	};
	model_notify(o, port, &e);
}

/* A payload does not wrap: it skips to the start instead. */
static bool rdr_take(
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

/* ---- messages; their bytes are in o->data ---- */

static struct outcome_note message(
	const struct trace_instruction *i, unsigned command, uint64_t payload)
{
	return (struct outcome_note){ .command = (uint16_t)command,
		.peer = i->port,
		.api_tag = i->api_tag,
		.tag = i->tag,
		.word = { i->bytes },
		.payload = payload };
}

struct outcome_note oracle_message(
	const struct oracle *o, const struct trace_instruction *i)
{
	trace_payload(i, o->data);
	bool fast = i->bytes <= CAY_FAST_SEND_BYTES;
	struct outcome_note n = message(i,
		fast ? CAY_NOTIFY_FAST_RECV : CAY_NOTIFY_RECV,
		bytes_digest(o->data, i->bytes));
	if (fast) {
		n.bytes = (uint16_t)i->bytes;
		n.word[0] = 0;
	}
	return n;
}

/* The next ready slot in the circle; its number, or -1. */
static int slot_take(const struct oracle *o, struct model_port *p)
{
	uint32_t all = o->trace->queues.posted;
	for (uint32_t i = 0; i < all; i++) {
		uint32_t at = (p->slot_take + i) % all;
		if (p->slot[at].state == SLOT_READY) {
			p->slot_take = at + 1;
			return (int)at;
		}
	}
	return -1;
}

static void slot_fill(
	struct oracle *o, const struct trace_instruction *i, uint32_t at)
{
	struct model_slot *slot = &o->port[i->peer].slot[at];
	bool whole = i->bytes <= slot->bytes || o->fault == ORACLE_TRUNCATED;
	trace_payload(i, o->data);
	struct model_entry e = { .from = NOBODY, .slot = at + 1 };
	e.note = message(i,
		model_command(CAY_NOTIFY_POSTED_RECV,
			whole ? CAY_ERROR_NONE : CAY_ERROR_POSTED_TRUNCATED),
		bytes_digest(o->data, bits_min(i->bytes, slot->bytes)));
	e.note.word[1] = slot->cookie;
	slot->state = SLOT_FILLED;
	model_notify(o, i->peer, &e);
}

/* 0, -EAGAIN, or 1: not into a posted buffer. */
static int send_posted(struct oracle *o, const struct trace_instruction *i)
{
	struct model_port *p = &o->port[i->peer];
	if (i->bytes <= CAY_FAST_SEND_BYTES || p->mode == POSTED_NONE)
		return 1;
	if (oracle_room(o, i->peer, i->flags) == 0)
		return -EAGAIN;
	int at = slot_take(o, p);
	if (at < 0)
		return p->mode == POSTED_ONLY ? -EAGAIN : 1;
	slot_fill(o, i, (uint32_t)at);
	return 0;
}

/* It stays where it is; its target ends it. */
static int send_long(struct oracle *o, const struct trace_instruction *i)
{
	struct model_port *from = &o->port[i->port];
	if (from->references == REFERENCES ||
		oracle_room(o, i->peer, i->flags) == 0)
		return -EAGAIN;
	const struct model_entry e = { .note = oracle_message(o, i),
		.from = i->port,
		.ends = oracle_completion(i, CAY_ERROR_NONE).completed };
	from->references++;
	from->pending[i->peer]++;
	model_notify(o, i->peer, &e);
	return 0;
}

static int send_copied(struct oracle *o, const struct trace_instruction *i)
{
	if (oracle_room(o, i->peer, i->flags) == 0 ||
		(i->bytes > CAY_FAST_SEND_BYTES &&
			!rdr_take(o, &o->port[i->peer], i->bytes)))
		return -EAGAIN;
	const struct model_entry e = { .note = oracle_message(o, i),
		.from = NOBODY };
	model_notify(o, i->peer, &e);
	return 0;
}

int model_send(struct oracle *o, const struct trace_instruction *i)
{
	int r = send_posted(o, i);
	bool ends = r <= 0 || i->bytes <= CAY_EAGER_MAX;
	if (r > 0)
		r = ends ? send_copied(o, i) : send_long(o, i);
	if (r == 0 && ends && oracle_completes(i)) {
		const struct outcome_note n =
			oracle_completion(i, CAY_ERROR_NONE);
		model_complete(o, i->port, &n);
	}
	return r;
}
