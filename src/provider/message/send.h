/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends messages, tagged or not. */
#ifndef CAY_PROVIDER_SEND_H
#define CAY_PROVIDER_SEND_H

#include "provider/endpoint/endpoint.h"
#include "provider/wire.h"

/* A call that sends. */
struct send_request {
	bool tagged;
	bool has_data; /* remote CQ data */
	bool inject;   /* an inject call: the data is copied, no completion */
	const struct iovec *iov;
	size_t count;
	fi_addr_t to;
	uint64_t tag, data;
	void *context;
	uint64_t flags;
};

/* Sends until the endpoint makes progress, so that XOFF is seen. */
#define SENDS_WITHOUT_POLL_MAX 64

/* After more sends without progress in between others follow: a stream. */
#define SENDS_ALONE 2

/* Completion levels for which the receiver must send FIN. */
#define SEND_NEEDS_FIN (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

/* Header of a message with remote CQ data up to WIRE_IMMEDIATE_MAX. */
static inline uint32_t send_head(bool tagged, uint64_t data)
{
	return (tagged ? WIRE_TAGGED : WIRE_MESSAGE) | WIRE_DATA |
	       (uint32_t)data << WIRE_IMMEDIATE_SHIFT;
}

/* The same as send_eager_fast(), for a stream. */
bool send_eager_stream(struct endpoint *, const void *, size_t length,
	fi_addr_t to, uint32_t head, uint64_t tag);

/* The same for a peer that may have an ULTRA path, or NULL. */
bool send_path(struct endpoint *, struct peer *, const void *, size_t length,
	uint32_t head, uint64_t tag);

/* Sends one buffer eagerly to a peer that is ready, without a completion. */
static inline bool send_eager_fast(struct endpoint *ep, const void *buffer,
	size_t length, fi_addr_t to, uint32_t head, uint64_t tag)
{
	if (unlikely(to >= ep->index_capacity || ep->sends >= SENDS_ALONE))
		return send_eager_stream(ep, buffer, length, to, head, tag);
	struct peer *p = ep->by_index[to];
	if (unlikely(!p || p->state != PEER_READY || p->xoff))
		return send_path(ep, p, buffer, length, head, tag);
	ep->sends++;
	return cay_send_tagged(
		       ep->port, p->port, tag, head, buffer, length, 0) == 0;
}

/* Decides whether send_fast() applies: the flags of the endpoint are new. */
void send_mode_set(struct endpoint *);

/*
 * The fast path of calls with one buffer and a completion. Returns false if it
 * does not apply; then send_post() sends the message or returns the error.
 */
bool send_fast(struct fid_ep *, const void *, size_t length, fi_addr_t to,
	uint32_t head, uint64_t tag, void *context);

/* The fast path of inject calls; as above. */
static inline bool send_inject_fast(struct fid_ep *fid, const void *buffer,
	size_t length, fi_addr_t to, uint32_t head, uint64_t tag)
{
	struct endpoint *ep = endpoint_of(fid);
	if (unlikely(length > PROVIDER_INJECT_BYTES))
		return false;
	domain_lock(ep->domain);
	bool sent = send_eager_fast(ep, buffer, length, to, head, tag);
	if (sent && ep->counters[COUNT_SEND])
		cntr_count(ep->counters[COUNT_SEND], false);
	domain_unlock(ep->domain);
	return sent;
}

/* All calls of fi_msg(3) and fi_tagged(3) that send. Takes the lock. */
ssize_t send_post(struct fid_ep *, const struct send_request *);
/*
 * The slow path of send_buffer(). Its arguments are scalars, so that the fast
 * path builds no request in memory. `head` has the kind, and WIRE_DATA.
 */
ssize_t send_buffer_slow(struct fid_ep *, const void *, size_t length,
	fi_addr_t to, uint32_t head, uint64_t tag, uint64_t data, void *context,
	bool inject);

/*
 * Calls with one buffer and the flags of the endpoint. The caller sets tagged,
 * to, tag, data, context and inject of the request.
 */
static inline ssize_t send_buffer(struct fid_ep *fid, const void *buffer,
	size_t length, struct send_request q)
{
	bool sent = false;
	if (likely(!q.has_data || q.data <= WIRE_IMMEDIATE_MAX)) {
		uint32_t head = q.has_data ? send_head(q.tagged, q.data)
				: q.tagged ? WIRE_TAGGED
					   : WIRE_MESSAGE;
		sent = q.inject ? send_inject_fast(fid, buffer, length, q.to,
					  head, q.tag)
				: send_fast(fid, buffer, length, q.to, head,
					  q.tag, q.context);
	}
	if (likely(sent))
		return 0;
	return send_buffer_slow(fid, buffer, length, q.to,
		(q.tagged ? WIRE_TAGGED : WIRE_MESSAGE) |
			(q.has_data ? WIRE_DATA : 0),
		q.tag, q.data, q.context, q.inject);
}

#endif
