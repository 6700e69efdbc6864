/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Issues the parts of RMA operations: see rma.h. Called by the thread that
 * posts and, for retries, by progress. Also the target of remote CQ data.
 */
#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/control.h"
#include "provider/rma/rma.h"
#include "provider/wire.h"

/* Bounds the time for which a part holds the domain lock. */
#define PART_BYTES (16u << 20)

/* Issues parts until all are, or one is refused. */
static int cursor_issue(struct op *op, struct rma_cursor *c)
{
	struct cay_port *port = op->ep->port;
	while (c->left) {
		while (!c->iov->iov_len)
			c->iov++;
		while (!c->segment->length)
			c->segment++;
		const struct rma_segment *s = c->segment;
		size_t bytes = bits_min(
			c->iov->iov_len, bits_min(s->length, PART_BYTES));
		int r = c->writes ? cay_put(port, op->peer->port, s->window,
					    s->offset, c->iov->iov_base, bytes,
					    op_id(op), CAY_ACK)
				  : cay_get(port, op->peer->port, s->window,
					    s->offset, c->iov->iov_base, bytes,
					    op_id(op), CAY_NOTIFY);
		if (r)
			return provider_error(r);
		op->rma.parts++;
		c->iov->iov_base = (unsigned char *)c->iov->iov_base + bytes;
		c->iov->iov_len -= bytes;
		c->segment->offset += bytes;
		c->segment->length -= bytes;
		c->left -= bytes;
	}
	/* The device keeps the order: it is seen after the data. */
	if (!c->cq_data)
		return 0;
	c->cq_data = false;
	return control_send(op->peer, WIRE_CQ_DATA | WIRE_DATA | WIRE_DATA_WORD,
		0, &op->rma.data, sizeof(op->rma.data));
}

static void rma_end_if_done(struct op *op)
{
	if (op->rma.parts == 0 && list_empty(&op->retry_link))
		op_end(op);
}

/* Gives up what is not issued. The operation ends after its parts in flight. */
static void rma_fail(struct op *op, int error)
{
	if (!op->error)
		op->error = error;
	list_remove(&op->retry_link);
}

static void cursor_copy(struct rma_cursor *to, const struct rma_cursor *from)
{
	memcpy(to, from, sizeof(*from));
	to->iov = to->iovs + (from->iov - from->iovs);
	to->segment = to->segments + (from->segment - from->segments);
}

/* Copies injected data. Returns the cursor for the copy, or NULL. */
static struct rma_cursor *cursor_inject(struct op *op, struct rma_cursor *c)
{
	unsigned char *to = op->rma.injected;
	const struct iovec *from = c->iovs;
	struct rma_cursor *kept = c;
	if (c->left > sizeof(op->rma.injected)) {
		kept = op->copy = malloc(sizeof(*kept) + c->left);
		if (!kept)
			return NULL;
		cursor_copy(kept, c);
		to = kept->bytes;
	}
	struct iovec all = { to, c->left };
	for (size_t left = c->left; left; from++) {
		if (from->iov_len)
			memcpy(to, from->iov_base, from->iov_len);
		to += from->iov_len;
		left -= from->iov_len;
	}
	kept->iovs[0] = all;
	return kept;
}

int rma_issue(struct op *op, struct rma_cursor *c, bool inject)
{
	if (inject)
		c = cursor_inject(op, c);
	int r = c ? cursor_issue(op, c) : -FI_ENOMEM;
	if (r && op->rma.parts == 0) {
		op_drop(op);
		return r;
	}
	if (r == -FI_EAGAIN && !op->copy) {
		op->copy = malloc(sizeof(*c));
		if (op->copy)
			cursor_copy(op->copy, c);
		else
			r = -FI_ENOMEM;
	}
	if (r == -FI_EAGAIN)
		retry_enqueue(op->ep, &op->ep->rma_retries, &op->retry_link);
	else if (r)
		rma_fail(op, -r);
	rma_end_if_done(op);
	return 0;
}

bool rma_hazard(struct endpoint *ep, const struct peer *peer, uint64_t flags)
{
	if (unlikely(flags & FI_FENCE) && !list_empty(&peer->ops))
		return true;
	list_for_each (at, &ep->rma_retries)
		if (list_of(at, struct op, retry_link)->peer == peer)
			return true;
	return false;
}

static void rma_continue(struct op *op)
{
	int r = cursor_issue(op, op->copy);
	if (r == -FI_EAGAIN)
		return;
	list_remove(&op->retry_link);
	if (r)
		rma_fail(op, -r);
	rma_end_if_done(op);
}

void rma_event(struct op *op, const struct cay_event *e)
{
	if (op->rma.parts == 0)
		return;
	op->rma.parts--;
	if (e->error)
		rma_fail(op, provider_device_error(e->error));
	if (unlikely(!list_empty(&op->retry_link)))
		rma_continue(op);
	else
		rma_end_if_done(op);
}

void rma_retry(struct endpoint *ep)
{
	list_for_each_safe (at, after, &ep->rma_retries)
		rma_continue(list_of(at, struct op, retry_link));
}

int rma_cq_data(struct endpoint *ep, struct peer *peer, uint64_t data)
{
	const struct fi_cq_tagged_entry e = {
		.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
		.data = data
	};
	if (!ep->rx_cq)
		return 0;
	int r = cq_reserve(ep->rx_cq);
	if (r == 0)
		cq_complete(ep->rx_cq, &e, peer->fi_addr);
	return r;
}
