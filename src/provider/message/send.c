/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See send.h. Up to settings.eager_bytes a message travels at once and is
 * complete when the call returns, unless its delivery is to be confirmed. A
 * longer one stays where it is: its receiver fetches it (fetch.c) and says so.
 */
#include "provider/message/send.h"

#include <stdlib.h>
#include <string.h>

#include "provider/rma/rma.h"

#define SEND_FLAGS                                            \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |     \
		FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
		FI_MATCH_COMPLETE | FI_REMOTE_CQ_DATA | FI_MORE | FI_FENCE)

/* What precedes the bytes of a message. */
struct head {
	uint32_t head;
	unsigned words;
	uint64_t word[2];
};

static void head_data(struct head *h, const struct request *q)
{
	if (!q->data_given)
		return;
	h->head |= WIRE_DATA;
	if (q->data <= WIRE_SMALL_MAX) {
		h->head |= (uint32_t)q->data << WIRE_SMALL_SHIFT;
	} else {
		h->head |= WIRE_DATA_WORD;
		h->word[h->words++] = q->data;
	}
}

static void head_id(struct head *h, const struct op *op)
{
	h->head |= WIRE_ID;
	h->word[h->words++] = op_id(op);
}

static uint64_t send_flags(bool tagged)
{
	return FI_SEND | (tagged ? FI_TAGGED : FI_MSG);
}

static bool send_silent(const struct endpoint *ep, const struct request *q)
{
	return q->inject || !ep->tx_cq || endpoint_tx_silent(ep, q->flags);
}

/* What the device said, for the caller. No room: what came in may make some. */
static ssize_t send_refused(struct endpoint *ep, int error)
{
	if (error == -EAGAIN)
		endpoint_progress(ep);
	return provider_error(error);
}

/* All of its bytes in one place; how many. */
static size_t request_gather(const struct request *q, unsigned char *to)
{
	size_t at = 0;
	for (size_t i = 0; i < q->count; i++) {
		if (q->iov[i].iov_len)
			memcpy(to + at, q->iov[i].iov_base, q->iov[i].iov_len);
		at += q->iov[i].iov_len;
	}
	return at;
}

/* Uses a reservation. */
static void send_tell(struct endpoint *ep, uint64_t flags, void *context)
{
	const struct fi_cq_tagged_entry e = { .op_context = context,
		.flags = flags };
	cq_complete(ep->tx_cq, &e, FI_ADDR_NOTAVAIL);
}

/* ---- at once ---- */

/* In one piece on the stack, as short as it is. */
static int issue_short(struct endpoint *ep, struct peer *p,
	const struct request *q, const struct head *h)
{
	unsigned char bytes[CAY_FAST_SEND_BYTES];
	size_t at = h->words * sizeof(h->word[0]);
	memcpy(bytes, h->word, at);
	at += request_gather(q, bytes + at);
	return cay_send_tagged(
		ep->port, p->port, q->tag, h->head, bytes, at, 0);
}

static int issue_gathered(struct endpoint *ep, struct peer *p,
	const struct request *q, const struct head *h)
{
	struct iovec iov[PROVIDER_IOV_MAX + 1];
	int n = 0;
	if (h->words)
		iov[n++] = (struct iovec){ (void *)h->word,
			h->words * sizeof(h->word[0]) };
	for (size_t i = 0; i < q->count; i++)
		iov[n++] = q->iov[i];
	return cay_sendv_tagged(ep->port, p->port, q->tag, h->head, iov, n, 0);
}

static inline int issue(struct endpoint *ep, struct peer *p,
	const struct request *q, const struct head *h, size_t length)
{
	if (likely(h->words == 0 && q->count == 1))
		return cay_send_tagged(ep->port, p->port, q->tag, h->head,
			q->iov->iov_base, length, 0);
	if (h->words * sizeof(h->word[0]) + length <= CAY_FAST_SEND_BYTES)
		return issue_short(ep, p, q, h);
	return issue_gathered(ep, p, q, h);
}

static inline ssize_t send_eager(struct endpoint *ep, struct peer *p,
	const struct request *q, struct head *h, size_t length)
{
	bool silent = send_silent(ep, q);
	if (!silent) {
		int r = cq_reserve(ep->tx_cq);
		if (unlikely(r))
			return r;
	}
	int r = issue(ep, p, q, h, length);
	if (unlikely(r)) {
		if (!silent)
			cq_unreserve(ep->tx_cq);
		return send_refused(ep, r);
	}
	if (!silent)
		send_tell(ep, send_flags(q->tagged), q->context);
	if (ep->counters[COUNT_SEND])
		cntr_count(ep->counters[COUNT_SEND], false);
	return 0;
}

/* ---- to be confirmed, or fetched ---- */

/* Scattered or injected messages are joined first. */
static int send_join(struct op *op, const struct request *q, size_t length,
	const void **bytes)
{
	*bytes = q->count ? q->iov->iov_base : NULL;
	if (q->count <= 1 && !q->inject && !(q->flags & FI_INJECT))
		return 0;
	unsigned char *copy = malloc(length + 1);
	if (!copy)
		return -EAGAIN;
	request_gather(q, copy);
	*bytes = op->copy = copy;
	return 0;
}

static int send_long(struct endpoint *ep, struct peer *p,
	const struct request *q, struct head *h, struct op *op, size_t length)
{
	const void *bytes;
	struct {
		uint64_t word[2];
		struct wire_long at;
	} payload;
	int r = send_join(op, q, length, &bytes);
	if (r)
		return r;
	size_t words = h->words * sizeof(h->word[0]);
	const struct wire_long at = { .address = (uintptr_t)bytes,
		.length = length,
		.key = wire_key(&ep->bulk_key) };
	op->source = bytes;
	op->length = length;
	memcpy(&payload, h->word, words);
	memcpy((char *)&payload + words, &at, sizeof(at));
	/* Behind WIRE_MESSAGE and WIRE_TAGGED come their long forms. */
	h->head += WIRE_LONG - WIRE_MESSAGE;
	return cay_send_tagged(ep->port, p->port, q->tag, h->head, &payload,
		words + sizeof(at), 0);
}

static ssize_t send_awaited(struct endpoint *ep, struct peer *p,
	const struct request *q, struct head *h, size_t length)
{
	struct op *op = op_new_tx(ep, p, OP_SEND, COUNT_SEND);
	if (!op)
		return -FI_EAGAIN;
	op->silent = send_silent(ep, q);
	op->flags = send_flags(q->tagged);
	op->context = q->context;
	head_id(h, op);
	int r = length <= settings.eager_bytes
			? issue(ep, p, q, h, length)
			: send_long(ep, p, q, h, op, length);
	if (r) {
		op_drop(op);
		return send_refused(ep, r);
	}
	return 0;
}

/* ---- all of them ---- */

static int request_length(const struct request *q, size_t *length)
{
	*length = 0;
	if (q->count > PROVIDER_IOV_MAX || (q->count && !q->iov) ||
		q->flags & ~SEND_FLAGS)
		return -FI_EINVAL;
	for (size_t i = 0; i < q->count; i++) {
		if (q->iov[i].iov_len > PROVIDER_MESSAGE_MAX - *length)
			return -FI_EMSGSIZE;
		*length += q->iov[i].iov_len;
	}
	if ((q->inject || q->flags & FI_INJECT) &&
		*length > PROVIDER_INJECT_BYTES)
		return -FI_EMSGSIZE;
	return 0;
}

static ssize_t send_locked(
	struct endpoint *ep, const struct request *q, size_t length)
{
	struct peer *p;
	int r = endpoint_peer(ep, q->to, &p);
	if (unlikely(r)) {
		if (r == -FI_EAGAIN)
			endpoint_progress(ep);
		return r;
	}
	if (unlikely(p->halted || ++ep->sends > SENDS_BLIND_MAX)) {
		endpoint_progress(ep);
		if (p->halted || p->state != PEER_READY)
			return -FI_EAGAIN;
	}
	if (unlikely(q->flags & FI_FENCE) && rma_behind(ep, p, q->flags)) {
		endpoint_progress(ep);
		return -FI_EAGAIN;
	}
	struct head h = { .head = q->tagged ? WIRE_TAGGED : WIRE_MESSAGE };
	head_data(&h, q);
	if (likely(length <= settings.eager_bytes &&
		    !(q->flags & SEND_CONFIRMED)))
		return send_eager(ep, p, q, &h, length);
	return send_awaited(ep, p, q, &h, length);
}

static bool send_completed_locked(struct endpoint *ep, const void *buffer,
	size_t length, fi_addr_t to, uint32_t head, uint64_t tag, void *context)
{
	if (!ep->tx_cq || ep->tx_selective ||
		ep->tx_flags & (SEND_CONFIRMED | FI_INJECT) ||
		length > settings.eager_bytes || cq_reserve(ep->tx_cq))
		return false;
	bool sent = send_plainly(ep, buffer, length, to, head, tag);
	if (unlikely(!sent)) {
		cq_unreserve(ep->tx_cq);
		return false;
	}
	send_tell(ep, send_flags(WIRE_KIND(head) == WIRE_TAGGED), context);
	if (ep->counters[COUNT_SEND])
		cntr_count(ep->counters[COUNT_SEND], false);
	return true;
}

bool send_completed(struct fid_ep *fid, const void *buffer, size_t length,
	fi_addr_t to, uint32_t head, uint64_t tag, void *context)
{
	struct endpoint *ep = endpoint_of(fid);
	guard_enter(&ep->domain->guard);
	bool sent = send_completed_locked(
		ep, buffer, length, to, head, tag, context);
	guard_leave(&ep->domain->guard);
	return sent;
}

ssize_t send_request(struct fid_ep *fid, const struct request *q)
{
	struct endpoint *ep = endpoint_of(fid);
	size_t length;
	int r = request_length(q, &length);
	if (unlikely(r))
		return r;
	guard_enter(&ep->domain->guard);
	ssize_t done = send_locked(ep, q, length);
	guard_leave(&ep->domain->guard);
	return done;
}
