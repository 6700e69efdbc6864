/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends messages: see send.h. Up to settings.eager_bytes a message is eager and
 * complete when the call returns, unless its completion level needs FIN. A
 * longer one is sent by rendezvous: RTS, the receiver gets it (fetch.c), FIN.
 */
#include "provider/message/send.h"

#include <stdlib.h>
#include <string.h>

#include "provider/message/path.h"
#include "provider/progress/progress.h"
#include "provider/rma/rma.h"

#define SEND_FLAGS                                            \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |     \
		FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
		FI_MATCH_COMPLETE | FI_REMOTE_CQ_DATA | FI_MORE | FI_FENCE)

/* The header of a message, and the words that precede its payload. */
struct send_header {
	uint32_t head;
	unsigned words;
	uint64_t word[2];
};

static uint64_t completion_flags(bool tagged)
{
	return FI_SEND | (tagged ? FI_TAGGED : FI_MSG);
}

/* Returns true if the request reports only errors. */
static bool send_silent(const struct endpoint *ep, const struct send_request *q)
{
	return q->inject || !ep->tx_cq || endpoint_tx_silent(ep, q->flags);
}

/* Appends a completion. Uses a reservation. */
static void send_complete(struct endpoint *ep, uint64_t flags, void *context)
{
	const struct fi_cq_tagged_entry e = { .op_context = context,
		.flags = flags };
	cq_complete(ep->tx_cq, &e, FI_ADDR_NOTAVAIL);
}

/* Translates an error of the device. After -EAGAIN, makes progress. */
static ssize_t send_failed(struct peer *p, int error)
{
	if (error == -EAGAIN)
		endpoint_progress(p->ep);
	if (unlikely(error == -EBADMSG)) {
		peer_damaged(p);
		return -FI_EHOSTUNREACH;
	}
	return peer_error(p, error);
}

/* Copies all segments of a request. Returns the number of bytes. */
static size_t request_gather(const struct send_request *q, unsigned char *to)
{
	size_t at = 0;
	for (size_t i = 0; i < q->count; i++) {
		if (q->iov[i].iov_len)
			memcpy(to + at, q->iov[i].iov_base, q->iov[i].iov_len);
		at += q->iov[i].iov_len;
	}
	return at;
}

/* ---- eager ---- */

/* Sends header words and payload as one eager message. */
static inline int issue_eager(struct endpoint *ep, struct peer *p,
	const struct send_request *q, const struct send_header *h,
	size_t length)
{
	size_t words = h->words * sizeof(h->word[0]);
	bool path = p->state == PEER_PATH;
	if (likely(words == 0 && q->count == 1 && !path))
		return cay_send_tagged(ep->port, p->port, q->tag, h->head,
			q->iov->iov_base, length, 0);
	/* Inline: gathered on the stack. */
	if (words + length <= CAY_FAST_SEND_BYTES && !path) {
		unsigned char bytes[CAY_FAST_SEND_BYTES];
		memcpy(bytes, h->word, words);
		request_gather(q, bytes + words);
		return cay_send_tagged(ep->port, p->port, q->tag, h->head,
			bytes, words + length, 0);
	}
	struct iovec iov[PROVIDER_IOV_MAX + 1];
	int n = 0;
	if (words)
		iov[n++] = (struct iovec){ (void *)h->word, words };
	for (size_t i = 0; i < q->count; i++)
		iov[n++] = q->iov[i];
	if (path)
		return path_sendv(p, q->tag, h->head, iov, n, words + length);
	return cay_sendv_tagged(ep->port, p->port, q->tag, h->head, iov, n, 0);
}

static ssize_t send_tracked(struct endpoint *, struct peer *,
	const struct send_request *, struct send_header *, size_t length,
	bool eager);

static inline ssize_t send_eager(struct endpoint *ep, struct peer *p,
	const struct send_request *q, struct send_header *h, size_t length)
{
	bool silent = send_silent(ep, q);
	if (!silent) {
		int r = cq_reserve(ep->tx_cq);
		if (unlikely(r))
			return r;
	}
	int r = issue_eager(ep, p, q, h, length);
	if (unlikely(r)) {
		if (!silent)
			cq_unreserve(ep->tx_cq);
		/* No memory to stage it: the receiver copies it from here. */
		return r == -ENOMEM && length > CAY_EAGER_MAX / 2
			       ? send_tracked(ep, p, q, h, length, false)
			       : send_failed(p, r);
	}
	if (!silent)
		send_complete(ep, completion_flags(q->tagged), q->context);
	if (ep->counters[COUNT_SEND])
		cntr_count(ep->counters[COUNT_SEND], false);
	return 0;
}

/* ---- with FIN: rendezvous, or delivery completion ---- */

/* Sends RTS. Segments and injected data are gathered first. */
static int issue_rts(struct op *op, const struct send_request *q,
	struct send_header *h, size_t length)
{
	unsigned char payload[sizeof(h->word) + sizeof(struct wire_rts)];
	size_t words = h->words * sizeof(h->word[0]);
	op->send.source = q->count ? q->iov->iov_base : NULL;
	op->send.length = length;
	if (q->count > 1 || q->inject || q->flags & FI_INJECT) {
		op->copy = malloc(length + 1);
		if (!op->copy)
			return -EAGAIN;
		request_gather(q, op->copy);
		op->send.source = op->copy;
	}
	const struct wire_rts rts = { .address = (uintptr_t)op->send.source,
		.length = length,
		.key = wire_key(&op->ep->bulk_key) };
	memcpy(payload, h->word, words);
	memcpy(payload + words, &rts, sizeof(rts));
	/* WIRE_RTS and WIRE_TAGGED_RTS follow WIRE_MESSAGE and WIRE_TAGGED. */
	h->head += WIRE_RTS - WIRE_MESSAGE;
	if (op->peer->state == PEER_PATH)
		return path_send(op->peer, q->tag, h->head, payload,
			words + sizeof(rts));
	return cay_send_tagged(op->ep->port, op->peer->port, q->tag, h->head,
		payload, words + sizeof(rts), 0);
}

/* Sends a message whose OP_SEND ends with FIN. */
static ssize_t send_tracked(struct endpoint *ep, struct peer *p,
	const struct send_request *q, struct send_header *h, size_t length,
	bool eager)
{
	struct op *op = op_new_tx(ep, p, OP_SEND, COUNT_SEND);
	if (!op)
		return -FI_EAGAIN;
	op->silent = send_silent(ep, q);
	op->flags = completion_flags(q->tagged);
	op->context = q->context;
	h->head |= WIRE_ID;
	h->word[h->words++] = op_id(op);
	int r = eager ? issue_eager(ep, p, q, h, length) : -ENOMEM;
	if (r == -ENOMEM && length > CAY_EAGER_MAX / 2)
		r = issue_rts(op, q, h, length);
	if (r) {
		op_drop(op);
		return send_failed(p, r);
	}
	return 0;
}

/* ---- all calls ---- */

static ssize_t send_locked(
	struct endpoint *ep, const struct send_request *q, size_t length)
{
	struct peer *p;
	int r = endpoint_peer(ep, q->to, &p);
	if (unlikely(r)) {
		if (r == -FI_EAGAIN)
			endpoint_progress(ep);
		return r;
	}
	if (unlikely(p->xoff || ++ep->sends > SENDS_WITHOUT_POLL_MAX)) {
		endpoint_progress(ep);
		if (p->xoff || !(p->state & PEER_READY))
			return -FI_EAGAIN;
	}
	if (unlikely(q->flags & FI_FENCE) && rma_hazard(ep, p, q->flags)) {
		endpoint_progress(ep);
		return -FI_EAGAIN;
	}
	struct send_header h = { .head = q->tagged ? WIRE_TAGGED
						   : WIRE_MESSAGE };
	if (q->has_data && q->data <= WIRE_IMMEDIATE_MAX) {
		h.head = send_head(q->tagged, q->data);
	} else if (q->has_data) {
		h.head |= WIRE_DATA | WIRE_DATA_WORD;
		h.word[h.words++] = q->data;
	}
	bool eager = length <= settings.eager_bytes;
	if (likely(eager && !(q->flags & SEND_NEEDS_FIN)))
		return send_eager(ep, p, q, &h, length);
	return send_tracked(ep, p, q, &h, length, eager);
}

static ssize_t send_checked(struct endpoint *ep, const struct send_request *q)
{
	size_t length = 0;
	if (q->count > PROVIDER_IOV_MAX || (q->count && !q->iov) ||
		q->flags & ~SEND_FLAGS)
		return -FI_EINVAL;
	for (size_t i = 0; i < q->count; i++) {
		if (q->iov[i].iov_len > PROVIDER_MESSAGE_MAX - length)
			return -FI_EMSGSIZE;
		length += q->iov[i].iov_len;
	}
	if ((q->inject || q->flags & FI_INJECT) &&
		length > PROVIDER_INJECT_BYTES)
		return -FI_EMSGSIZE;
	domain_lock(ep->domain);
	ssize_t r = send_locked(ep, q, length);
	domain_unlock(ep->domain);
	return r;
}

ssize_t send_post(struct fid_ep *fid, const struct send_request *q)
{
	ssize_t r = send_checked(endpoint_of(fid), q);
	return likely(r == 0) ? 0 : provider_call_failed("fi_send", r);
}

ssize_t send_buffer_slow(struct fid_ep *fid, const void *buffer, size_t length,
	fi_addr_t to, uint32_t head, uint64_t tag, uint64_t data, void *context,
	bool inject)
{
	const struct iovec iov = { (void *)buffer, length };
	const struct send_request q = { .tagged = WIRE_KIND(head) ==
						  WIRE_TAGGED,
		.has_data = head & WIRE_DATA,
		.inject = inject,
		.iov = &iov,
		.count = 1,
		.to = to,
		.tag = tag,
		.data = data,
		.context = context,
		.flags = inject ? 0 : endpoint_of(fid)->tx_flags };
	return send_post(fid, &q);
}

bool send_eager_stream(struct endpoint *ep, const void *buffer, size_t length,
	fi_addr_t to, uint32_t head, uint64_t tag)
{
	if (unlikely(to >= ep->index_capacity ||
		     ep->sends >= SENDS_WITHOUT_POLL_MAX))
		return false;
	struct peer *p = ep->by_index[to];
	if (unlikely(!p || p->state != PEER_READY || p->xoff))
		return send_path(ep, p, buffer, length, head, tag);
	ep->sends++;
	/* The store to an entry would else wait for its line each time. */
	cay_send_prefetch(ep->port, p->port);
	return cay_send_tagged(
		       ep->port, p->port, tag, head, buffer, length, 0) == 0;
}

__attribute__((noinline)) bool send_path(struct endpoint *ep, struct peer *p,
	const void *buffer, size_t length, uint32_t head, uint64_t tag)
{
	if (!p || p->state != PEER_PATH || p->xoff ||
		ep->sends >= SENDS_WITHOUT_POLL_MAX)
		return false;
	ep->sends++;
	return path_send(p, tag, head, buffer, length) == 0;
}

__attribute__((flatten)) bool send_fast(struct fid_ep *fid, const void *buffer,
	size_t length, fi_addr_t to, uint32_t head, uint64_t tag, void *context)
{
	struct endpoint *ep = endpoint_of(fid);
	struct cq *q = ep->tx_cq;
	/* Set-up decides this, so it needs no lock. */
	if (unlikely(!ep->tx_fast || length > settings.eager_bytes))
		return false;
	domain_lock(ep->domain);
	bool sent = cq_has_room(q) &&
		    send_eager_fast(ep, buffer, length, to, head, tag);
	if (likely(sent)) {
		/* The room that it has found is still there. */
		q->reserved++;
		send_complete(ep,
			completion_flags(WIRE_KIND(head) == WIRE_TAGGED),
			context);
		if (ep->counters[COUNT_SEND])
			cntr_count(ep->counters[COUNT_SEND], false);
	}
	domain_unlock(ep->domain);
	return sent;
}

void send_mode_set(struct endpoint *ep)
{
	ep->tx_fast = ep->tx_cq && !endpoint_tx_silent(ep, ep->tx_flags) &&
		      !(ep->tx_flags & (SEND_NEEDS_FIN | FI_INJECT));
}
