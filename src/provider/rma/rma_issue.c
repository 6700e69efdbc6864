/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Issues the parts of RMA operations: see rma.h. Called by the thread that
 * posts and, for retries, by progress. Also the target of remote CQ data and
 * of counted accesses.
 */
#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/control.h"
#include "provider/message/path.h"
#include "provider/rma/mr.h"
#include "provider/rma/rma.h"
#include "provider/wire.h"

/* Bounds the time for which a part holds the domain lock. */
#define PART_BYTES (16u << 20)

/*
 * Tells the target of an operation whose parts are all issued. The device keeps
 * the order: the target learns it after the data. So an operation of several
 * parts counts once, which notified accesses of the device would not achieve.
 */
static int cursor_tell(struct op *op, struct rma_cursor *c)
{
	uint64_t words[1 + PROVIDER_RMA_IOV_MAX] = { op->rma.data };
	uint64_t *keys = words;
	uint32_t head = WIRE_ACCESS | (c->writes ? MR_WRITE : MR_READ)
					      << WIRE_IMMEDIATE_SHIFT;
	if (c->after & RMA_AFTER_CQ_DATA) {
		head = WIRE_CQ_DATA | WIRE_DATA | WIRE_DATA_WORD;
		keys++;
	}
	if (c->after & RMA_AFTER_COUNT)
		for (unsigned i = 0; i < c->key_count; i++)
			*keys++ = c->keys[i];
	c->after = 0;
	path_order_origin(op->peer);
	return control_send(op->peer, head, 0, words,
		(size_t)(keys - words) * sizeof(*words));
}

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
		if (unlikely(r))
			return peer_error(op->peer, r);
		op->rma.parts++;
		c->iov->iov_base = (unsigned char *)c->iov->iov_base + bytes;
		c->iov->iov_len -= bytes;
		c->segment->offset += bytes;
		c->segment->length -= bytes;
		c->left -= bytes;
	}
	return c->after ? cursor_tell(op, c) : 0;
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

/* ---- target ---- */

/* Counts an operation at the endpoint and at the regions of these keys. */
static void operation_count(const struct endpoint *ep, enum mr_access access,
	const void *keys, size_t bytes)
{
	size_t count = bits_min(bytes / sizeof(uint64_t), PROVIDER_RMA_IOV_MAX);
	mr_count_endpoint(ep, access);
	for (size_t i = 0; i < count; i++) {
		uint64_t key;
		memcpy(&key, (const unsigned char *)keys + i * sizeof(key),
			sizeof(key));
		mr_count_region(ep->domain, key, access);
	}
}

int rma_cq_data(
	struct endpoint *ep, struct peer *peer, const struct cay_event *message)
{
	struct fi_cq_tagged_entry e = { .flags = FI_RMA | FI_REMOTE_WRITE |
						 FI_REMOTE_CQ_DATA };
	if (message->length < sizeof(e.data))
		return 0;
	memcpy(&e.data, message->data, sizeof(e.data));
	if (ep->rx_cq) {
		int r = cq_reserve(ep->rx_cq);
		if (r)
			return r;
		cq_complete(ep->rx_cq, &e, peer->fi_addr);
	}
	operation_count(ep, MR_WRITE,
		(const unsigned char *)message->data + sizeof(e.data),
		message->length - sizeof(e.data));
	return 0;
}

void rma_accessed(struct endpoint *ep, const struct cay_event *message)
{
	operation_count(ep,
		WIRE_STATUS(message->api_tag) == MR_READ ? MR_READ : MR_WRITE,
		message->data, message->length);
}
