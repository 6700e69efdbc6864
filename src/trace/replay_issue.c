/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay of the instructions that the device executes: selects the entry point
 * for a public call as port/send.c and port/remote.c do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/bytes.h"
#include "trace/replay_internal.h"

/* Arguments common to all entry points. */
struct issue {
	struct replay *r;
	const struct trace_instruction *i;
	struct origin *origin;
	struct op_record *op;
	_Atomic(struct context *) *to;
	unsigned char *data;
};

static struct packet packet_of(const struct issue *q, uint16_t command,
	unsigned flags, const struct iovec *payload)
{
	const struct trace_instruction *i = q->i;
	return (struct packet){ .command = command,
		.flags = (uint8_t)(flags & CAY_VCI_FLAGS),
		.origin_vpid = q->origin->vpid,
		.origin_node = q->origin->node,
		.origin_lock = q->origin->lock_word,
		.tag = i->tag,
		.api_tag = i->api_tag,
		.pieces = 1,
		.length = payload ? payload->iov_len : 8,
		.payload = payload,
		.window = i->window,
		.capability = i->key,
		.offset = i->offset,
		.operand = { i->operand[0], i->operand[1] } };
}

static struct target target_of(const struct trace_instruction *i)
{
	return (struct target){
		.capability = i->key, .offset = i->offset, .window = i->window
	};
}

/* ---- messages ---- */

/* The payload stays in place until the target has read it. */
static int send_borrowed(const struct issue *q, const struct packet *p)
{
	unsigned char *copy = malloc(p->length);
	if (!copy) {
		q->r->out->failed = true;
		return -ENOMEM;
	}
	memcpy(copy, q->data, p->length);
	const struct reference source = { .kind = REFERENCE_PROCESS,
		.address = (uint64_t)(uintptr_t)copy,
		.length = p->length };
	uint32_t index = 0;
	int r = q->r->platform->send_reference(
		q->origin, q->op, q->to, p, &source, &index);
	if (r == 0)
		q->r->port[q->i->port].reference[index] = copy;
	else
		free(copy);
	return r;
}

/* Returns a free slot for a copied message, or one whose message is read. */
static uint32_t copied_slot(const struct issue *q)
{
	unsigned char **payload = q->r->port[q->i->port].reference;
	uint32_t index = REFERENCE_COPIED;
	while (index < 1u << QUEUE_REFS_LOG2 && payload[index] &&
		!q->r->platform->reference_reclaim(&q->origin->refs[index]))
		index++;
	return index;
}

/* The device copies the payload, and the target completes nothing. */
static int send_copied(const struct issue *q, const struct packet *p)
{
	uint32_t index = copied_slot(q);
	if (index == 1u << QUEUE_REFS_LOG2)
		return -EAGAIN;
	unsigned char **payload = &q->r->port[q->i->port].reference[index];
	free(*payload);
	*payload = malloc(p->length);
	if (!*payload) {
		q->r->out->failed = true;
		return -ENOMEM;
	}
	const struct reference source = { .kind = REFERENCE_PROCESS,
		.address = (uint64_t)(uintptr_t)*payload,
		.length = p->length };
	int r = q->r->platform->send_copied(
		q->origin, q->op, q->to, p, &source, *payload, index);
	if (r) {
		free(*payload);
		*payload = NULL;
	}
	return r;
}

static int issue_send(const struct issue *q)
{
	const struct trace_instruction *i = q->i;
	const struct platform *on = q->r->platform;
	const struct iovec payload = { q->data, i->bytes };
	unsigned flags = i->flags;
	unsigned command = i->bytes <= CAY_FAST_SEND_BYTES
				   ? CAY_FAST_SEND | (i->bytes + 7) / 8
				   : CAY_SEND;
	if (i->bytes <= CAY_FAST_SEND_BYTES && !flags)
		return on->send_fast(q->origin, q->to, i->tag, i->api_tag,
			q->data, i->bytes, q->op);
	if (i->bytes <= CAY_EAGER_MAX && !flags)
		return on->send_eager(q->origin, q->to, i->tag, i->api_tag,
			q->data, i->bytes, q->op);
	if (flags & CAY_ACK)
		command |= CAY_COMMAND_ACK;
	if (flags & CAY_BORROW)
		flags |= CAY_NOTIFY;
	struct packet p = packet_of(q, (uint16_t)command, flags, &payload);
	int r = on->send(q->origin, q->op, q->to, &p);
	if (r != -E2BIG)
		return r;
	return flags & CAY_BORROW ? send_borrowed(q, &p) : send_copied(q, &p);
}

/* ---- remote memory ---- */

static int issue_put(const struct issue *q)
{
	const struct trace_instruction *i = q->i;
	const struct target t = target_of(i);
	const struct iovec payload = { q->data, i->bytes };
	if (i->kind == TRACE_PUT && !i->flags)
		return q->r->platform->put(q->origin, q->to, target_key(&t),
			t.offset, q->data, i->bytes, i->tag, q->op);
	bool masked = i->kind == TRACE_PUT_MASKED;
	unsigned command = CAY_PUT;
	if (masked)
		command = CAY_MISALIGNED_PUT;
	else if (i->bytes >= 1 && i->bytes <= CAY_FAST_PUT_BYTES)
		command = CAY_FAST_PUT | (i->bytes + 7) / 8;
	if (i->flags & CAY_ACK)
		command |= CAY_COMMAND_ACK;
	struct packet p = packet_of(
		q, (uint16_t)command, i->flags, masked ? NULL : &payload);
	return q->r->platform->access(q->origin, q->op, q->to, &p);
}

/* The result of a get or an atomic is its acknowledgement. */
static unsigned result_flags(unsigned flags)
{
	return flags & CAY_ACK ? (flags & ~(unsigned)CAY_ACK) | CAY_NOTIFY
			       : flags;
}

static int issue_get(const struct issue *q)
{
	const struct trace_instruction *i = q->i;
	const struct target t = target_of(i);
	const struct iovec payload = { q->data, i->bytes };
	if (!i->event && !i->flags)
		return q->r->platform->get(q->origin, q->to, target_key(&t),
			t.offset, q->data, i->bytes, i->tag, q->op);
	unsigned command = i->event ? CAY_FAST_GET | (i->bytes + 7) / 8
				    : CAY_GET;
	struct packet p = packet_of(
		q, (uint16_t)command, result_flags(i->flags), &payload);
	return q->r->platform->access(q->origin, q->op, q->to, &p);
}

static int issue_atomic(const struct issue *q, uint16_t command)
{
	const struct trace_instruction *i = q->i;
	const struct target t = target_of(i);
	uint64_t previous = 0;
	const struct iovec payload = { &previous, sizeof(previous) };
	int r;
	if (!i->event && !i->flags && command == CAY_FAA) {
		r = q->r->platform->fetch_add(q->origin, q->to, target_key(&t),
			t.offset, i->operand[0], &previous, i->tag, q->op);
	} else if (!i->event && !i->flags) {
		r = q->r->platform->compare_swap(q->origin, q->to,
			target_key(&t), t.offset, i->operand[0], i->operand[1],
			&previous, i->tag, q->op);
	} else {
		struct packet p = packet_of(q, command, result_flags(i->flags),
			i->event ? NULL : &payload);
		r = q->r->platform->access(q->origin, q->op, q->to, &p);
	}
	memcpy(q->data, &previous, sizeof(previous));
	return r;
}

int replay_execute(struct replay *r, const struct trace_instruction *i,
	uint64_t *data_digest)
{
	struct fixture_port *from = &r->fixture.port[i->port];
	const struct issue q = { .r = r,
		.i = i,
		.origin = &from->origin,
		.op = from->op,
		.to = fixture_route(&r->fixture, i->port, i->peer),
		.data = r->port[i->port].data };
	bool atomic = trace_is_atomic(i->kind);
	int result;
	if (i->kind == TRACE_SEND || i->kind == TRACE_PUT)
		trace_payload(i, q.data);
	switch (i->kind) {
	case TRACE_SEND:
		result = issue_send(&q);
		break;
	case TRACE_PUT:
	case TRACE_PUT_MASKED:
		result = issue_put(&q);
		break;
	case TRACE_GET:
		result = issue_get(&q);
		break;
	default:
		result = issue_atomic(
			&q, i->kind == TRACE_FETCH_ADD ? CAY_FAA : CAY_CAS);
	}
	if (result == 0 && !i->event && (atomic || i->kind == TRACE_GET))
		*data_digest = bytes_digest(q.data, trace_length(i));
	return result;
}
