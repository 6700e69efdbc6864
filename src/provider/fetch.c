/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See fetch.h. One get at a time and of bounded length, so that other messages
 * pass in between and a peer whose memory the kernel does not let us read needs
 * no more than that of staging memory.
 */
#include "provider/fetch.h"

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

static int fetch_piece(struct op *op)
{
	struct endpoint *ep = op->ep;
	size_t room;
	void *to = place(op->receive, op->base + op->done, &room);
	op->piece = bits_min(
		room, bits_min(op->total - op->done, settings.piece_bytes));
	if (!op->peer->port)
		return -EPIPE;
	return cay_get(ep->port, op->peer->port, op->remote,
		op->remote_address + op->done - WIRE_BULK_BASE, to, op->piece,
		op_id(op), CAY_NOTIFY);
}

static void fetch_go_on(struct op *op)
{
	if (op->error || op->done == op->total) {
		fetch_end(op);
		return;
	}
	int r = fetch_piece(op);
	if (r == -EAGAIN) {
		endpoint_wait(op->ep, &op->ep->fetching, &op->waiting);
	} else if (r) {
		op->error = -provider_error(r);
		fetch_end(op);
	}
}

void fetch_start(struct op *op)
{
	op->receive->used += op->total;
	fetch_go_on(op);
}

void fetch_event(struct op *op, const struct cay_event *e)
{
	if (e->error) {
		op->error = provider_device_error(e->error);
		fetch_end(op);
		return;
	}
	op->done += op->piece;
	fetch_go_on(op);
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
		fetch_go_on(op);
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
		e.len = op->done;
	} else if (op->total < op->length) {
		e.err = FI_ETRUNC;
		e.olen = op->length - op->total;
	}
	e.prov_errno = -e.err;
	r->fetching--;
	receive_end(op->ep, r, &e, op->peer->fi_addr);
}

void fetch_end(struct op *op)
{
	/* Without memory for the answer it ends later. */
	if (fetch_answer(op)) {
		endpoint_wait(op->ep, &op->ep->fetching, &op->waiting);
		return;
	}
	fetch_tell(op);
	op_drop(op);
}
