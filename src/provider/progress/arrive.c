/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes out of the port: messages of other endpoints, completions of
 * requests to the device, the death of peers. A message is read where it lies
 * and its parts are checked before they are used.
 */
#include "provider/progress/arrive.h"

#include <string.h>

#include "provider/message/fetch.h"
#include "provider/message/receive.h"
#include "provider/message/share.h"

/* Takes a word off the front; false: there is none. */
static bool word_take(struct arrival *a, uint64_t *word)
{
	if (a->length < sizeof(*word))
		return false;
	memcpy(word, a->bytes, sizeof(*word));
	a->bytes += sizeof(*word);
	a->length -= sizeof(*word);
	return true;
}

static bool words_take(struct arrival *a)
{
	if (a->head & WIRE_DATA_WORD) {
		if (!word_take(a, &a->data))
			return false;
	} else {
		a->data = a->head >> WIRE_SMALL_SHIFT;
	}
	return !(a->head & WIRE_ID) || word_take(a, &a->id);
}

static bool reference_take(struct arrival *a)
{
	struct wire_long at;
	if (a->length != sizeof(at))
		return false;
	memcpy(&at, a->bytes, sizeof(at));
	if (!(a->head & WIRE_ID) || at.length > PROVIDER_MESSAGE_MAX ||
		at.address < WIRE_BULK_BASE)
		return false;
	a->bytes = NULL;
	a->length = at.length;
	a->address = at.address;
	a->key = wire_key_of(at.key);
	return true;
}

static int arrive_message(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	/* Of no bytes there is no address: that would be a reference. */
	struct arrival a = { .from = from,
		.head = e->api_tag,
		.tag = e->tag,
		.bytes = e->data ? e->data : (const void *)"",
		.length = e->length };
	unsigned kind = WIRE_KIND(a.head);
	bool whole = words_take(&a);
	if (whole && (kind == WIRE_LONG || kind == WIRE_TAGGED_LONG))
		whole = reference_take(&a);
	if (unlikely(!whole)) {
		LOG_WARN(EP_DATA, "a message from %s makes no sense\n",
			from->address.name);
		return 0;
	}
	return receive_arrived(ep, &a);
}

static void arrive_taken(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	struct op *op = op_find(ep, e->tag, from);
	if (!op || op->kind != OP_SEND)
		return;
	op->error = (int)WIRE_STATUS(e->api_tag);
	op_end(op);
}

static int arrive_push(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	struct op *op = op_find(ep, e->tag, from);
	if (!op || op->kind != OP_SEND || !op->source)
		return 0;
	return push_begin(op, e->data, e->length);
}

static void arrive_pushed(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	struct op *op = op_find(ep, e->tag, from);
	if (op && op->kind == OP_FETCH)
		share_pushed(
			op, (int)WIRE_STATUS(e->api_tag), e->data, e->length);
}

static void arrive_result(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	struct op *op = op_find(ep, e->tag, from);
	if (op && op->kind == OP_ATOMIC)
		atomic_result(
			op, (int)WIRE_STATUS(e->api_tag), e->data, e->length);
}

static int arrive_written(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	struct arrival a = {
		.head = e->api_tag, .bytes = e->data, .length = e->length
	};
	return words_take(&a) ? rma_written(ep, from, a.data) : 0;
}

/* Only we know; and meanwhile the port may be another's. */
static void arrive_gone(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	bool own = from->vpid == cay_port_addr(ep->port).vpid;
	if (!own || e->tag >= ENDPOINT_VPIDS)
		return;
	const struct peer *p = peer_from(ep, (uint16_t)e->tag);
	if (p && !p->port)
		peer_gone(ep, p->vpid);
}

/* All but the messages of applications. */
static int arrive_other(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	switch (WIRE_KIND(e->api_tag)) {
	case WIRE_TAKEN:
		arrive_taken(ep, from, e);
		return 0;
	case WIRE_HALT:
		from->halted = true;
		return 0;
	case WIRE_RESUME:
		from->halted = false;
		return 0;
	case WIRE_WRITTEN:
		return arrive_written(ep, from, e);
	case WIRE_ATOMIC:
		return atomic_serve(ep, from, e->tag, e->data, e->length);
	case WIRE_RESULT:
		arrive_result(ep, from, e);
		return 0;
	case WIRE_PUSH:
		return arrive_push(ep, from, e);
	case WIRE_PUSHED:
		arrive_pushed(ep, from, e);
		return 0;
	case WIRE_GONE:
		arrive_gone(ep, from, e);
		return 0;
	default:
		LOG_WARN(EP_DATA, "%s says something unknown\n",
			from->address.name);
		return 0;
	}
}

static int arrive_from(struct endpoint *ep, const struct cay_event *e)
{
	unsigned kind = WIRE_KIND(e->api_tag);
	if (unlikely(kind == WIRE_GREETING))
		return peer_greeted(ep, e->peer, e->data, e->length);
	struct peer *from = peer_from(ep, e->peer.vpid);
	if (unlikely(!from)) {
		LOG_WARN(EP_DATA, "port %u has not greeted\n", e->peer.vpid);
		return 0;
	}
	if (kind <= WIRE_TAGGED_LONG)
		return arrive_message(ep, from, e);
	return arrive_other(ep, from, e);
}

static void arrive_complete(struct endpoint *ep, const struct cay_event *e)
{
	struct op *op = op_find(ep, e->tag, NULL);
	if (!op)
		return;
	switch (op->kind) {
	case OP_FETCH:
		fetch_event(op, e);
		break;
	case OP_PUSH:
		push_event(op, e);
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

int arrive(struct endpoint *ep, const struct cay_event *e)
{
	switch (e->kind) {
	case CAY_EVENT_MESSAGE:
		return arrive_from(ep, e);
	case CAY_EVENT_COMPLETE:
		arrive_complete(ep, e);
		return 0;
	case CAY_EVENT_GONE:
		peer_gone(ep, e->peer.vpid);
		return 0;
	default:
		return 0;
	}
}
