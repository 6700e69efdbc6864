/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaying what the device executes: from a public call to an entrance, as
 * port/send.c and port/remote.c choose it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/bytes.h"
#include "trace/replay_parts.h"

/* What every entrance is told. */
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
		.origin_lock = q->origin->self,
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

/* It stays where it is until its target has taken it. */
static int send_long(const struct issue *q, const struct packet *p)
{
	struct replay_port *port = &q->r->port[q->i->port];
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
		port->sent[index].data = copy;
	else
		free(copy);
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
		return on->send_fast(q->origin, q->op, q->to, i->tag,
			i->api_tag, q->data, i->bytes);
	if (flags & CAY_ACK)
		command |= CAY_COMMAND_ACK;
	if (i->bytes > QUEUE_PAYLOAD_MAX)
		flags |= CAY_NOTIFY;
	struct packet p = packet_of(q, (uint16_t)command, flags, &payload);
	int r = on->send(q->origin, q->op, q->to, &p);
	return r == -E2BIG ? send_long(q, &p) : r;
}

/* ---- remote memory ---- */

static int issue_put(const struct issue *q)
{
	const struct trace_instruction *i = q->i;
	const struct target t = target_of(i);
	const struct iovec payload = { q->data, i->bytes };
	if (!i->flags)
		return q->r->platform->put(
			q->origin, q->op, q->to, &t, q->data, i->bytes, i->tag);
	unsigned command = i->bytes >= 1 && i->bytes <= CAY_FAST_PUT_BYTES
				   ? CAY_FAST_PUT | (i->bytes + 7) / 8
				   : CAY_PUT;
	if (i->flags & CAY_ACK)
		command |= CAY_COMMAND_ACK;
	struct packet p = packet_of(q, (uint16_t)command, i->flags, &payload);
	return q->r->platform->access(q->origin, q->op, q->to, &p);
}

static int issue_put_masked(const struct issue *q)
{
	unsigned command = CAY_MISALIGNED_PUT;
	if (q->i->flags & CAY_ACK)
		command |= CAY_COMMAND_ACK;
	struct packet p = packet_of(q, (uint16_t)command, q->i->flags, NULL);
	return q->r->platform->access(q->origin, q->op, q->to, &p);
}

/* What has a result is acknowledged by it. */
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
		return q->r->platform->get(
			q->origin, q->op, q->to, &t, q->data, i->bytes, i->tag);
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
	if (!i->event && !i->flags) {
		r = q->r->platform->atomic(q->origin, q->op, q->to, &t, command,
			i->operand, &previous, i->tag);
	} else {
		struct packet p = packet_of(q, command, result_flags(i->flags),
			i->event ? NULL : &payload);
		r = q->r->platform->access(q->origin, q->op, q->to, &p);
	}
	memcpy(q->data, &previous, sizeof(previous));
	return r;
}

static int issue_kind(const struct issue *q)
{
	switch (q->i->kind) {
	case TRACE_SEND:
		return issue_send(q);
	case TRACE_PUT:
		return issue_put(q);
	case TRACE_PUT_MASKED:
		return issue_put_masked(q);
	case TRACE_GET:
		return issue_get(q);
	case TRACE_FETCH_ADD:
		return issue_atomic(q, CAY_FAA);
	default:
		return issue_atomic(q, CAY_CAS);
	}
}

int issue(struct replay *r, const struct trace_instruction *i, uint64_t *got)
{
	struct workbench_port *from = &r->bench.port[i->port];
	const struct issue q = { .r = r,
		.i = i,
		.origin = &from->origin,
		.op = from->op,
		.to = workbench_route(&r->bench, i->port, i->peer),
		.data = r->port[i->port].data };
	bool atomic = i->kind == TRACE_FETCH_ADD ||
		      i->kind == TRACE_COMPARE_SWAP;
	if (i->kind == TRACE_SEND || i->kind == TRACE_PUT)
		trace_payload(i, q.data);
	int result = issue_kind(&q);
	if (result == 0 && !i->event && (atomic || i->kind == TRACE_GET))
		*got = bytes_digest(q.data, atomic ? 8 : i->bytes);
	return result;
}
