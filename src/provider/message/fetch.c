/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rendezvous, receiver: see fetch.h. One get at a time and of bounded length,
 * so that other messages pass in between, and so that an emulated access needs
 * no more staging memory than that.
 */
#include "provider/message/fetch.h"

#include "provider/endpoint/control.h"
#include "provider/message/cocopy.h"
#include "provider/wire.h"

struct op *fetch_new(
	struct endpoint *ep, struct receive *r, const struct incoming *m)
{
	struct op *op = op_new(ep, m->from, OP_FETCH);
	if (!op)
		return NULL;
	op->flags = receive_flags(m->head);
	op->fetch = (struct op_fetch){ .receive = r,
		.send_id = m->id,
		.key = m->key,
		.address = m->address,
		.tag = m->tag,
		.data = m->data,
		.length = m->length,
		.total = bits_min(m->length, r->length - r->used),
		.base = r->used };
	r->fetching++;
	return op;
}

/*
 * Returns the address of byte `at` of a receive and the contiguous bytes from
 * there on.
 */
static void *receive_at(const struct receive *r, size_t at, size_t *contiguous)
{
	for (uint32_t i = 0; i < r->iov_count; i++) {
		if (at < r->iov[i].iov_len) {
			*contiguous = r->iov[i].iov_len - at;
			return (char *)r->iov[i].iov_base + at;
		}
		at -= r->iov[i].iov_len;
	}
	*contiguous = 0;
	return NULL;
}

/* Gets up to `length` bytes from offset `at` of the message. */
static int fetch_get(struct op *op, size_t at, size_t length)
{
	struct op_fetch *f = &op->fetch;
	size_t contiguous;
	void *to = receive_at(f->receive, f->base + at, &contiguous);
	f->piece = bits_min(contiguous, length);
	if (unlikely(!op->peer->port))
		return op->peer->contact == CONTACT_NONE ? -EPIPE : -EAGAIN;
	int r = cay_get(op->ep->port, op->peer->port, f->key,
		f->address + at - WIRE_BULK_BASE, to, f->piece, op_id(op),
		CAY_NOTIFY);
	f->get_in_flight = r == 0;
	/* Its event is nearly always there already. */
	op->ep->poll_again = true;
	return r;
}

/*
 * Issues the get of the next chunk. Returns 0, -errno, or 1 if no chunk is left
 * to claim. After an error all chunks that are left are claimed and counted as
 * copied.
 */
static int fetch_chunk(struct op *op)
{
	struct op_fetch *f = &op->fetch;
	if (op->error) {
		f->copied += f->claimed;
		f->claimed = false;
		while (!cocopy_complete(op) && cocopy_claim(op) >= 0)
			f->copied++;
		return 1;
	}
	if (!f->claimed) {
		int64_t chunk = cocopy_claim(op);
		if (chunk < 0)
			return 1;
		f->claimed = true;
		f->chunk = (uint32_t)chunk;
	}
	return fetch_get(op, cocopy_chunk_at(f->total, f->chunk),
		cocopy_chunk_length(f->total, f->chunk));
}

void fetch_continue(struct op *op)
{
	struct op_fetch *f = &op->fetch;
	int r;
	/* It continues with the event, or is in the retry list. */
	if (f->get_in_flight || !list_empty(&op->retry_link))
		return;
	do {
		if (f->completed)
			r = 1;
		else if (f->cocopy)
			r = fetch_chunk(op);
		else if (op->error || f->done == f->total)
			r = 1;
		else
			r = fetch_get(op, f->done,
				bits_min(f->total - f->done,
					settings.piece_bytes));
		if (r == -EAGAIN) {
			retry_enqueue(op->ep, &op->ep->rendezvous_retries,
				&op->retry_link);
			return;
		}
		if (r < 0 && !op->error)
			op->error = -provider_error(r);
	} while (r < 0);
	/* Co-copy: WIRE_COCOPY_RESULT may still be missing. */
	if (r == 1 && (f->completed || !f->cocopy || cocopy_complete(op) ||
			      !op->peer->port))
		fetch_end(op);
}

void fetch_start(struct op *op)
{
	struct op_fetch *f = &op->fetch;
	size_t contiguous;
	void *to = receive_at(f->receive, f->base, &contiguous);
	f->receive->used += f->total;
	if (contiguous >= f->total)
		cocopy_begin(op, to);
	fetch_continue(op);
}

void fetch_event(struct op *op, const struct cay_event *e)
{
	struct op_fetch *f = &op->fetch;
	f->get_in_flight = false;
	if (e->error) {
		if (!op->error)
			op->error = provider_device_error(e->error);
	} else if (f->cocopy) {
		f->copied++;
		f->claimed = false;
	} else {
		f->done += f->piece;
	}
	fetch_continue(op);
}

static void fetch_complete(const struct op *op)
{
	const struct op_fetch *f = &op->fetch;
	struct receive *r = f->receive;
	size_t contiguous;
	struct fi_cq_err_entry e = { .op_context = r->context,
		.flags = op->flags,
		.len = f->total,
		.buf = receive_at(r, f->base, &contiguous),
		.data = f->data,
		.tag = f->tag };
	if (op->error) {
		e.err = op->error;
		e.len = 0;
	} else if (f->total < f->length) {
		e.err = FI_ETRUNC;
		e.olen = f->length - f->total;
	}
	e.prov_errno = -e.err;
	r->fetching--;
	receive_end(op->ep, r, &e, op->peer->fi_addr);
}

void fetch_end(struct op *op)
{
	/* The completion first: the application may be waiting for it. */
	if (!op->fetch.completed)
		fetch_complete(op);
	op->fetch.completed = true;
	/* FIN in any case: the sender gets its buffer back. */
	uint32_t status = op->error ? FI_EIO : 0;
	if (control_send(op->peer, WIRE_FIN | status << WIRE_IMMEDIATE_SHIFT,
		    op->fetch.send_id, NULL, 0)) {
		retry_enqueue(
			op->ep, &op->ep->rendezvous_retries, &op->retry_link);
		return;
	}
	cocopy_end(op);
	op_drop(op);
}

void fetch_drop(struct op *op)
{
	if (!op->fetch.completed)
		receive_abandon(op->ep, op->fetch.receive);
	op_drop(op);
}
