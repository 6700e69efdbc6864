/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of RMA operations: see rma.h. Issued by the thread that posts and,
 * with the events of earlier ones, by progress. Also what the target of a write
 * does with its remote CQ data.
 */
#include <stdlib.h>
#include <string.h>

#include "provider/rma/rma.h"
#include "provider/wire.h"

/* A longer part would keep others from the guard for too long. */
#define PART_BYTES (16u << 20)

static int part_issue(struct op *op, struct rma_rest *rest, size_t bytes)
{
	struct cay_port *port = op->ep->port;
	const struct rma_piece *to = rest->piece;
	int r = rest->writes ? cay_put(port, op->peer->port, to->window,
				       to->offset, rest->iov->iov_base, bytes,
				       op_id(op), CAY_ACK)
			     : cay_get(port, op->peer->port, to->window,
				       to->offset, rest->iov->iov_base, bytes,
				       op_id(op), CAY_NOTIFY);
	return r ? provider_error(r) : 0;
}

static void rest_advance(struct rma_rest *rest, size_t bytes)
{
	rest->iov->iov_base = (unsigned char *)rest->iov->iov_base + bytes;
	rest->iov->iov_len -= bytes;
	rest->piece->offset += bytes;
	rest->piece->length -= bytes;
	rest->left -= bytes;
}

static int rest_issue(struct op *op, struct rma_rest *rest)
{
	while (rest->left) {
		while (!rest->iov->iov_len)
			rest->iov++;
		while (!rest->piece->length)
			rest->piece++;
		size_t bytes = bits_min(rest->iov->iov_len,
			bits_min(rest->piece->length, PART_BYTES));
		int r = part_issue(op, rest, bytes);
		if (r)
			return r;
		op->parts++;
		rest_advance(rest, bytes);
	}
	/* The device keeps the order, so it is seen after the bytes. */
	if (!rest->tells)
		return 0;
	rest->tells = false;
	return endpoint_post(op->peer,
		WIRE_WRITTEN | WIRE_DATA | WIRE_DATA_WORD, 0, &op->data,
		sizeof(op->data));
}

static void rma_settle(struct op *op)
{
	if (op->parts == 0 && list_empty(&op->waiting))
		op_end(op);
}

/* The rest is given up. Parts that are under way end first. */
static void rma_fail(struct op *op, int error)
{
	if (!op->error)
		op->error = error;
	list_remove(&op->waiting);
}

static void rest_copy(struct rma_rest *to, const struct rma_rest *from)
{
	memcpy(to, from, sizeof(*from));
	to->iov = to->iovs + (from->iov - from->iovs);
	to->piece = to->pieces + (from->piece - from->pieces);
}

static void rma_wait(struct op *op, const struct rma_rest *rest)
{
	if (!op->copy) {
		op->copy = malloc(sizeof(*rest));
		if (!op->copy) {
			rma_fail(op, FI_ENOMEM);
			return;
		}
		rest_copy(op->copy, rest);
	}
	endpoint_wait(op->ep, &op->ep->rma_waiting, &op->waiting);
}

/* Copies what is injected. NULL, or the rest from there. */
static struct rma_rest *rest_inject(struct op *op, struct rma_rest *rest)
{
	unsigned char *to = op->injected;
	const struct iovec *from = rest->iovs;
	struct rma_rest *kept = rest;
	if (rest->left > sizeof(op->injected)) {
		kept = op->copy = malloc(sizeof(*kept) + rest->left);
		if (!kept)
			return NULL;
		rest_copy(kept, rest);
		to = kept->bytes;
	}
	struct iovec all = { to, rest->left };
	for (size_t left = rest->left; left; from++) {
		if (from->iov_len)
			memcpy(to, from->iov_base, from->iov_len);
		to += from->iov_len;
		left -= from->iov_len;
	}
	kept->iovs[0] = all;
	return kept;
}

int rma_issue(struct op *op, struct rma_rest *rest, bool inject)
{
	if (inject)
		rest = rest_inject(op, rest);
	int r = rest ? rest_issue(op, rest) : -FI_ENOMEM;
	if (r && op->parts == 0) {
		op_drop(op);
		return r;
	}
	if (r == -FI_EAGAIN)
		rma_wait(op, rest);
	else if (r)
		rma_fail(op, -r);
	rma_settle(op);
	return 0;
}

bool rma_behind(struct endpoint *ep, const struct peer *peer, uint64_t flags)
{
	if (unlikely(flags & FI_FENCE) && !list_empty(&peer->ops))
		return true;
	list_for_each (at, &ep->rma_waiting)
		if (list_of(at, struct op, waiting)->peer == peer)
			return true;
	return false;
}

static void rma_go_on(struct op *op)
{
	int r = rest_issue(op, op->copy);
	if (r == -FI_EAGAIN)
		return;
	list_remove(&op->waiting);
	if (r)
		rma_fail(op, -r);
	rma_settle(op);
}

void rma_event(struct op *op, const struct cay_event *e)
{
	if (op->parts == 0)
		return;
	op->parts--;
	if (e->error)
		rma_fail(op, provider_device_error(e->error));
	if (unlikely(!list_empty(&op->waiting)))
		rma_go_on(op);
	else
		rma_settle(op);
}

void rma_continue(struct endpoint *ep)
{
	list_for_each_safe (at, after, &ep->rma_waiting)
		rma_go_on(list_of(at, struct op, waiting));
}

int rma_written(struct endpoint *ep, struct peer *peer, uint64_t data)
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
