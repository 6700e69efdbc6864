/* SPDX-License-Identifier: BSD-2-Clause */
/* Posted receives, and the messages that match them. */
#ifndef CAY_PROVIDER_RECEIVE_H
#define CAY_PROVIDER_RECEIVE_H

#include "provider/endpoint/endpoint.h"
#include "provider/wire.h"

/* An incoming message, or an unexpected one that was held. */
struct incoming {
	struct peer *from;
	uint32_t head; /* wire.h */
	uint64_t tag, data, id;
	size_t length;
	const unsigned char *bytes; /* NULL: rendezvous */
	struct cay_key key;	    /* rendezvous: the sender's bulk window */
	uint64_t address;	    /* rendezvous: in the sender's memory */
};

/* A call that receives. */
struct receive_request {
	bool tagged;
	const struct iovec *iov;
	size_t count;
	fi_addr_t source;
	uint64_t tag, ignore;
	void *context;
	uint64_t flags; /* FI_MULTI_RECV, FI_COMPLETION, FI_PEEK, ... */
};

static inline bool receive_tagged(uint32_t head)
{
	unsigned kind = WIRE_KIND(head);
	return kind == WIRE_TAGGED || kind == WIRE_TAGGED_RTS;
}

static inline struct matcher *receive_matcher(struct endpoint *ep, bool tagged)
{
	return tagged ? &ep->tagged : &ep->untagged;
}

/* Flags of the completion of a receive of such a message. */
static inline uint64_t receive_flags(uint32_t head)
{
	return FI_RECV | (receive_tagged(head) ? FI_TAGGED : FI_MSG) |
	       (head & WIRE_DATA ? FI_REMOTE_CQ_DATA : 0);
}

/* Returns true if the receive reports only errors. */
static inline bool receive_silent(
	const struct endpoint *ep, const struct receive *r)
{
	return ep->rx_selective && !(r->flags & FI_COMPLETION);
}

/* Returns true if the receive is used up after so many more bytes. */
static inline bool receive_full(const struct receive *r, size_t more)
{
	size_t left = r->length - r->used - more;
	return !(r->flags & FI_MULTI_RECV) || left == 0 || left < r->min_left;
}

/* Reserves the completion of one more message. Returns 0 or -FI_EAGAIN. */
static inline int receive_reserve(struct endpoint *ep, struct receive *r)
{
	if (likely(r->reserved > r->fetching) || !ep->rx_cq)
		return 0;
	int e = cq_reserve(ep->rx_cq);
	if (e == 0)
		r->reserved++;
	return e;
}

/* Removes a posted receive from its matcher. */
static inline void receive_dequeue(
	struct endpoint *ep, struct matcher *m, struct receive *r)
{
	matcher_unpost(m, r);
	if (r->source == FI_ADDR_UNSPEC)
		ep->posted_any--;
	else if (r->peer)
		r->peer->posted--;
}

/* Puts a receive without reservations into the endpoint's free list. */
static inline void receive_recycle(struct endpoint *ep, struct receive *r)
{
	r->next_free = ep->free_receives;
	ep->free_receives = r;
}

/* ---- receive.c ---- */

void receive_free(struct endpoint *, struct receive *);
/*
 * Reports the end of a message, with an error or without, and frees the receive
 * unless it is an FI_MULTI_RECV buffer with enough space left.
 */
void receive_end(struct endpoint *, struct receive *, struct fi_cq_err_entry *,
	fi_addr_t source);
/* Ends a rendezvous message into it without a report. */
void receive_abandon(struct endpoint *, struct receive *);
/* Fails the receives that name a source, which is gone. */
void receive_fail_from(struct endpoint *, fi_addr_t source);
/* fi_cancel(). Returns 0 or -FI_ENOENT. */
ssize_t receive_cancel(struct endpoint *, void *context);
/* Frees all receives: the endpoint closes. */
void receive_free_all(struct endpoint *);

/* ---- deliver.c ---- */

/*
 * Delivers a message to a receive, and removes the receive from its matcher
 * (NULL: it is not posted) if that fills it. Returns 0, or -FI_EAGAIN,
 * -FI_ENOMEM with nothing done.
 */
int deliver(struct endpoint *, struct receive *, const struct incoming *,
	struct matcher *posted);
/*
 * Delivers a message or holds it as unexpected. Returns 0, or -FI_EAGAIN,
 * -FI_ENOMEM: the caller retries.
 */
int deliver_incoming(struct endpoint *, const struct incoming *);
/*
 * Parses a message in place, whose fields are checked before they are used, and
 * delivers it. Uses api_tag, tag, data and length of the event. Also returns
 * -EBADMSG: it is malformed.
 */
int deliver_message(
	struct endpoint *, struct peer *from, const struct cay_event *);
/*
 * Fast path of an eager tagged message without extra words, for a receive with
 * one buffer. Returns false with nothing done if it does not apply.
 */
bool deliver_fast(
	struct endpoint *, struct peer *from, const struct cay_event *);

/* ---- recv.c ---- */

/* All calls of fi_msg(3) and fi_tagged(3) that receive. Takes the lock. */
ssize_t recv_post(struct fid_ep *, struct receive_request *);
/* Frees the messages that were claimed and not received. */
void recv_free_claimed(struct endpoint *);

#endif
