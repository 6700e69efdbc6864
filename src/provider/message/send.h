/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending messages, tagged or not. */
#ifndef CAY_PROVIDER_SEND_H
#define CAY_PROVIDER_SEND_H

#include "provider/endpoint/endpoint.h"
#include "provider/wire.h"

/* A call to send something. */
struct request {
	bool tagged;
	bool data_given;
	bool inject; /* the buffer is the caller's again, and no completion */
	const struct iovec *iov;
	size_t count;
	fi_addr_t to;
	uint64_t tag, data;
	void *context;
	uint64_t flags;
};

/* Sends without a look at what has come in, before one is made. */
#define SENDS_BLIND_MAX 64

#define SEND_CONFIRMED (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

/* Remote CQ data, where it fits into the head. */
static inline uint32_t send_head(bool tagged, uint64_t data)
{
	return (tagged ? WIRE_TAGGED : WIRE_MESSAGE) | WIRE_DATA |
	       (uint32_t)data << WIRE_SMALL_SHIFT;
}

/* One buffer, at once, to a peer that is ready, and no completion. */
static inline bool send_plainly(struct endpoint *ep, const void *buffer,
	size_t length, fi_addr_t to, uint32_t head, uint64_t tag)
{
	if (unlikely(to >= ep->index_room || ep->sends >= SENDS_BLIND_MAX))
		return false;
	const struct peer *p = ep->by_index[to];
	if (unlikely(!p || p->state != PEER_READY || p->halted))
		return false;
	ep->sends++;
	return cay_send_tagged(
		       ep->port, p->port, tag, head, buffer, length, 0) == 0;
}

/*
 * The short way of calls that inject; false: take the long one, which also
 * tells why.
 */
static inline bool send_injected(struct fid_ep *fid, const void *buffer,
	size_t length, fi_addr_t to, uint32_t head, uint64_t tag)
{
	struct endpoint *ep = endpoint_of(fid);
	if (unlikely(length > PROVIDER_INJECT_BYTES))
		return false;
	guard_enter(&ep->domain->guard);
	bool sent = send_plainly(ep, buffer, length, to, head, tag);
	if (sent && ep->counters[COUNT_SEND])
		cntr_count(ep->counters[COUNT_SEND], false);
	guard_leave(&ep->domain->guard);
	return sent;
}

/* The short way of calls with a completion. */
bool send_completed(struct fid_ep *, const void *, size_t length, fi_addr_t to,
	uint32_t head, uint64_t tag, void *context);

/* All calls of fi_msg(3) and fi_tagged(3) that send. Takes the guard. */
ssize_t send_request(struct fid_ep *, const struct request *);

#endif
