/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the port: messages of other endpoints, completions of requests to
 * the device, the death of peers.
 */
#include "provider/progress/dispatch.h"

#include "provider/message/cocopy.h"
#include "provider/message/fetch.h"
#include "provider/message/path.h"
#include "provider/rma/atomic.h"
#include "provider/rma/rma.h"

/* A message with a sequence number: those before it on the path come first. */
static int dispatch_sequenced(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	struct cay_event plain = *e;
	plain.api_tag &= (WIRE_FORMAT_MASK | WIRE_DATA) & ~WIRE_SEQUENCE;
	int r = path_merge(ep, from, e->api_tag >> WIRE_IMMEDIATE_SHIFT);
	if (r == 0 && ((plain.api_tag & WIRE_FORMAT_MASK) != WIRE_TAGGED ||
			      !deliver_fast(ep, from, &plain)))
		r = deliver_message(ep, from, &plain);
	if (r == 0)
		path_merged(from);
	return r;
}

static int dispatch_message(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	bool sequenced = e->api_tag & WIRE_SEQUENCE;
	int r = sequenced ? dispatch_sequenced(ep, from, e)
			  : deliver_message(ep, from, e);
	if (likely(r != -EBADMSG))
		return r;
	if (sequenced)
		peer_damaged(from);
	else
		LOG_WARN(EP_DATA, "malformed message from %s\n",
			from->address.name);
	return 0;
}

static int dispatch_path(
	struct endpoint *ep, struct peer *from, int step, uint64_t tag)
{
	int r = 0;
	switch (step) {
	case WIRE_PATH_ASK:
		return path_asked(ep, from);
	case WIRE_PATH_REFUSE:
		path_refused(from);
		return 0;
	case WIRE_PATH_BEGIN:
		path_begun(from);
		return 0;
	case WIRE_PATH_CLOSE:
		path_leave(from);
		return 0;
	case WIRE_PATH_END:
		r = path_merge(ep, from, tag);
		if (r == 0)
			path_free(from->path_in);
		else if (r == -EBADMSG)
			peer_damaged(from);
		return r == -EBADMSG ? 0 : r;
	default:
		return 0;
	}
}

/* All messages but those of applications. */
static int dispatch_control(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	int status = (int)WIRE_STATUS(e->api_tag);
	struct op *op;
	int r = path_order_target(ep, from, WIRE_KIND(e->api_tag));
	if (r)
		return r;
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
	case WIRE_PATH:
		return dispatch_path(ep, from, status, e->tag);
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

static int dispatch_gone(struct endpoint *ep, uint16_t vpid)
{
	/* Its last message of a path may have been taken and not delivered. */
	struct peer *p = ep->by_vpid[vpid];
	int r = p ? path_drain(ep, p) : 0;
	if (r == 0)
		peer_gone(ep, vpid);
	return r;
}

int dispatch(struct endpoint *ep, const struct cay_event *e)
{
	if (e->kind == CAY_EVENT_COMPLETE) {
		dispatch_complete(ep, e);
		return 0;
	}
	if (e->kind == CAY_EVENT_GONE)
		return dispatch_gone(ep, e->peer.vpid);
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
