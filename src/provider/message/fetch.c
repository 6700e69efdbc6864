/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See fetch.h. One get at a time and of bounded length, so that other messages
 * pass in between and a peer whose memory the kernel does not let us read needs
 * no more than that of staging memory.
 */
#include "provider/message/fetch.h"

#include "provider/message/share.h"

struct op *fetch_new(
	struct endpoint *ep, struct receive *r, const struct arrival *a)
{
	struct op *op = op_new(ep, a->from, OP_FETCH);
	if (!op)
		return NULL;
	op->receive = r;
	op->flags = receive_flags(a->head);
	op->tag = a->tag;
	op->data = a->data;
	op->length = a->length;
	op->remote_id = a->id;
	op->remote = a->key;
	op->remote_address = a->address;
	op->base = r->used;
	op->total = bits_min(a->length, r->length - r->used);
	r->fetching++;
	return op;
}

/* Where the byte at `at` of a receive belongs, and how many fit behind it. */
static void *place(const struct receive *r, size_t at, size_t *room)
{
	for (uint32_t i = 0; i < r->iov_count; i++) {
		if (at < r->iov[i].iov_len) {
			*room = r->iov[i].iov_len - at;
			return (char *)r->iov[i].iov_base + at;
		}
		at -= r->iov[i].iov_len;
	}
	*room = 0;
	return NULL;
}

/* Gets so much from there in the message. */
static int fetch_get(struct op *op, size_t at, size_t length)
{
	size_t room;
	void *to = place(op->receive, op->base + at, &room);
	op->piece = bits_min(room, length);
	if (!op->peer->port)
		return -EPIPE;
	int r = cay_get(op->ep->port, op->peer->port, op->remote,
		op->remote_address + at - WIRE_BULK_BASE, to, op->piece,
		op_id(op), CAY_NOTIFY);
	op->flying = r == 0;
	/* Its event is nearly always there already. */
	op->ep->look = true;
	return r;
}

static int fetch_piece(struct op *op)
{
	return fetch_get(op, op->done,
		bits_min(op->total - op->done, settings.piece_bytes));
}

/* -1: nothing is left to do, or all that is left is the sender's. */
static int fetch_chunk(struct op *op)
{
	if (!op->claimed) {
		int64_t chunk = share_claim(op);
		if (chunk < 0)
			return -1;
		op->claimed = true;
		op->chunk = (uint32_t)chunk;
	}
	return fetch_get(op, share_chunk_at(op->total, op->chunk),
		share_chunk_length(op->total, op->chunk));
}

static void fetch_failed(struct op *op, int error)
{
	if (!op->error)
		op->error = error;
	fetch_continue_one(op);
}

/*
 * An operation that has failed claims what is left, and gets none of it: all
 * of this, and what it had claimed, counts as copied.
 */
static void share_give_up(struct op *op)
{
	op->chunks += op->claimed;
	op->claimed = false;
	while (!share_complete(op) && share_claim(op) >= 0)
		op->chunks++;
}

static void share_go_on(struct op *op)
{
	if (op->error)
		share_give_up(op);
	int r = op->error ? -1 : fetch_chunk(op);
	if (r == 0)
		return;
	if (r == -EAGAIN)
		endpoint_wait(op->ep, &op->ep->fetching, &op->waiting);
	else if (r < -1)
		fetch_failed(op, -provider_error(r));
	else if (share_complete(op) || !op->peer->port)
		fetch_end(op);
}

static void fetch_go_on(struct op *op)
{
	int r = 0;
	if (op->error || op->done == op->total)
		fetch_end(op);
	else
		r = fetch_piece(op);
	if (r == -EAGAIN)
		endpoint_wait(op->ep, &op->ep->fetching, &op->waiting);
	else if (r)
		fetch_failed(op, -provider_error(r));
}

void fetch_continue_one(struct op *op)
{
	/* It goes on with the event, or is in the list already. */
	if (op->flying || !list_empty(&op->waiting))
		return;
	if (op->told)
		fetch_end(op);
	else if (op->shared)
		share_go_on(op);
	else
		fetch_go_on(op);
}

void fetch_start(struct op *op)
{
	size_t room;
	void *to = place(op->receive, op->base, &room);
	op->receive->used += op->total;
	if (room >= op->total)
		share_begin(op, to);
	fetch_continue_one(op);
}

void fetch_event(struct op *op, const struct cay_event *e)
{
	op->flying = false;
	if (e->error) {
		fetch_failed(op, provider_device_error(e->error));
		return;
	}
	if (op->shared) {
		op->chunks++;
		op->claimed = false;
	} else {
		op->done += op->piece;
	}
	fetch_continue_one(op);
}

void fetch_continue(struct endpoint *ep)
{
	struct list waiting;
	list_init(&waiting);
	while (!list_empty(&ep->fetching)) {
		struct list *link = ep->fetching.next;
		list_remove(link);
		list_append(&waiting, link);
	}
	while (!list_empty(&waiting)) {
		struct op *op = list_of(waiting.next, struct op, waiting);
		list_remove(&op->waiting);
		if (op->kind == OP_PUSH)
			push_continue(op);
		else
			fetch_continue_one(op);
	}
}

/* The sender may have its memory back, whatever became of the message. */
static int fetch_answer(const struct op *op)
{
	uint32_t status = op->error ? FI_EIO : 0;
	return endpoint_post(op->peer, WIRE_TAKEN | status << WIRE_SMALL_SHIFT,
		op->remote_id, NULL, 0);
}

static void fetch_tell(const struct op *op)
{
	struct receive *r = op->receive;
	size_t room;
	struct fi_cq_err_entry e = { .op_context = r->context,
		.flags = op->flags,
		.len = op->total,
		.buf = place(r, op->base, &room),
		.data = op->data,
		.tag = op->tag };
	if (op->error) {
		e.err = op->error;
		e.len = 0;
	} else if (op->total < op->length) {
		e.err = FI_ETRUNC;
		e.olen = op->length - op->total;
	}
	e.prov_errno = -e.err;
	r->fetching--;
	receive_end(op->ep, r, &e, op->peer->fi_addr);
}

/* The application first: it may have something to do. */
void fetch_end(struct op *op)
{
	if (!op->told)
		fetch_tell(op);
	op->told = true;
	/* Without memory for the answer it ends later. */
	if (fetch_answer(op)) {
		endpoint_wait(op->ep, &op->ep->fetching, &op->waiting);
		return;
	}
	share_end(op);
	op_drop(op);
}

void fetch_drop(struct op *op)
{
	if (!op->told)
		receive_abandon(op->ep, op->receive);
	op_drop(op);
}
