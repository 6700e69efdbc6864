/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the port: messages of other endpoints, completions of requests to
 * the device, the death of peers. A message is parsed in place, and its fields
 * are checked before they are used.
 */
#include "provider/progress/dispatch.h"

#include <string.h>

#include "provider/message/cocopy.h"
#include "provider/message/fetch.h"
#include "provider/rma/atomic.h"
#include "provider/rma/rma.h"

/* Parses a word at the front of the payload. Returns false if it is missing. */
static bool word_parse(struct incoming *m, uint64_t *word)
{
	if (m->length < sizeof(*word))
		return false;
	memcpy(word, m->bytes, sizeof(*word));
	m->bytes += sizeof(*word);
	m->length -= sizeof(*word);
	return true;
}

static bool words_parse(struct incoming *m)
{
	if (m->head & WIRE_DATA_WORD) {
		if (!word_parse(m, &m->data))
			return false;
	} else {
		m->data = m->head >> WIRE_IMMEDIATE_SHIFT;
	}
	return !(m->head & WIRE_ID) || word_parse(m, &m->id);
}

static bool rts_parse(struct incoming *m)
{
	struct wire_rts rts;
	if (m->length != sizeof(rts))
		return false;
	memcpy(&rts, m->bytes, sizeof(rts));
	if (!(m->head & WIRE_ID) || rts.length > PROVIDER_MESSAGE_MAX ||
		rts.address < WIRE_BULK_BASE)
		return false;
	m->bytes = NULL;
	m->length = rts.length;
	m->address = rts.address;
	m->key = wire_key_of(rts.key);
	return true;
}

static int dispatch_message(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	/* Never NULL for an empty message: that would mean rendezvous. */
	struct incoming m = { .from = from,
		.head = e->api_tag,
		.tag = e->tag,
		.bytes = e->data ? e->data : (const void *)"",
		.length = e->length };
	unsigned kind = WIRE_KIND(m.head);
	bool valid = words_parse(&m);
	if (valid && (kind == WIRE_RTS || kind == WIRE_TAGGED_RTS))
		valid = rts_parse(&m);
	if (unlikely(!valid)) {
		LOG_WARN(EP_DATA, "malformed message from %s\n",
			from->address.name);
		return 0;
	}
	return deliver_incoming(ep, &m);
}

/* All messages but those of applications. */
static int dispatch_control(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	int status = (int)WIRE_STATUS(e->api_tag);
	struct op *op;
	switch (WIRE_KIND(e->api_tag)) {
	case WIRE_FIN:
		op = op_find(ep, e->tag, from);
		if (op && op->kind == OP_SEND) {
			op->error = status;
			op_end(op);
		}
		return 0;
	case WIRE_XOFF:
		from->xoff = 1;
		return 0;
	case WIRE_XON:
		from->xoff = 0;
		return 0;
	case WIRE_CQ_DATA:
		return rma_cq_data(ep, from, e);
	case WIRE_ACCESS:
		rma_accessed(ep, e);
		return 0;
	case WIRE_ATOMIC:
		return atomic_request_execute(
			ep, from, e->tag, e->data, e->length);
	case WIRE_ATOMIC_RESULT:
		op = op_find(ep, e->tag, from);
		if (op && op->kind == OP_ATOMIC)
			atomic_result(op, status, e->data, e->length);
		return 0;
	case WIRE_COCOPY:
		op = op_find(ep, e->tag, from);
		if (op && op->kind == OP_SEND && op->send.source)
			return cocopy_send_begin(op, e->data, e->length);
		return 0;
	case WIRE_COCOPY_RESULT:
		op = op_find(ep, e->tag, from);
		if (op && op->kind == OP_FETCH &&
			cocopy_result(op, status, e->data, e->length))
			fetch_continue(op);
		return 0;
	default:
		LOG_WARN(EP_DATA, "unknown message from %s\n",
			from->address.name);
		return 0;
	}
}

/* A request to the device has completed. */
static void dispatch_complete(struct endpoint *ep, const struct cay_event *e)
{
	struct op *op = op_find(ep, e->tag, NULL);
	if (!op)
		return;
	switch (op->kind) {
	case OP_FETCH:
		fetch_event(op, e);
		break;
	case OP_COCOPY:
		cocopy_send_event(op, e);
		break;
	case OP_RMA:
		rma_event(op, e);
		break;
	case OP_ATOMIC:
		atomic_event(op, e);
		break;
	default:
		break;
	}
}

int dispatch(struct endpoint *ep, const struct cay_event *e)
{
	if (e->kind == CAY_EVENT_COMPLETE) {
		dispatch_complete(ep, e);
		return 0;
	}
	if (e->kind == CAY_EVENT_GONE) {
		peer_gone(ep, e->peer.vpid);
		return 0;
	}
	if (e->kind == CAY_EVENT_RESOLVED) {
		peer_resolved(ep, e);
		return 0;
	}
	if (e->kind != CAY_EVENT_MESSAGE)
		return 0;
	unsigned kind = WIRE_KIND(e->api_tag);
	if (unlikely(kind == WIRE_HELLO))
		return peer_hello_received(ep, e->peer, e->data, e->length);
	struct peer *from = ep->by_vpid[e->peer.vpid];
	if (unlikely(!from)) {
		LOG_WARN(EP_DATA, "message without a hello from port %u\n",
			e->peer.vpid);
		return 0;
	}
	if (kind <= WIRE_TAGGED_RTS)
		return dispatch_message(ep, from, e);
	return dispatch_control(ep, from, e);
}
