/* SPDX-License-Identifier: BSD-2-Clause */
/* Posted receives, and the messages that come for them. */
#ifndef CAY_PROVIDER_RECEIVE_H
#define CAY_PROVIDER_RECEIVE_H

#include "provider/endpoint/endpoint.h"
#include "provider/wire.h"

/* A message as it comes in, or as it was held. */
struct arrival {
	struct peer *from;
	uint32_t head; /* wire.h */
	uint64_t tag, data, id;
	size_t length;
	const unsigned char *bytes; /* NULL: by reference */
	struct cay_key key;	    /* by reference */
	uint64_t address;
};

/* A call to receive something. */
struct wanted {
	bool tagged;
	const struct iovec *iov;
	size_t count;
	fi_addr_t source;
	uint64_t tag, ignore;
	void *context;
	uint64_t flags; /* FI_MULTI_RECV, FI_COMPLETION, FI_PEEK, ... */
};

/* All calls of fi_msg(3) and fi_tagged(3) that receive. Takes the guard. */
ssize_t receive_wanted(struct fid_ep *, struct wanted *);

static inline bool receive_tagged(uint32_t head)
{
	unsigned kind = WIRE_KIND(head);
	return kind == WIRE_TAGGED || kind == WIRE_TAGGED_LONG;
}

static inline struct matcher *receive_matcher(struct endpoint *ep, bool tagged)
{
	return tagged ? &ep->tagged : &ep->untagged;
}

/* The flags of the completion of a receive of such a message. */
static inline uint64_t receive_flags(uint32_t head)
{
	return FI_RECV | (receive_tagged(head) ? FI_TAGGED : FI_MSG) |
	       (head & WIRE_DATA ? FI_REMOTE_CQ_DATA : 0);
}

/* A message has come. 0, or -FI_EAGAIN, -FI_ENOMEM: offer it again. */
int receive_arrived(struct endpoint *, const struct arrival *);
/*
 * A tagged message that is nothing but its bytes, for a receive that is nothing
 * but a buffer. False: it is not so simple, and nothing has happened.
 */
bool receive_plain(
	struct endpoint *, struct peer *from, const struct cay_event *);
/* A message for this very call. 0, -FI_EAGAIN. */
int receive_claimed(
	struct endpoint *, const struct wanted *, const struct arrival *);
/*
 * A receive has its message: tells of it, error or not, and frees the receive
 * unless it takes more than one and has room left.
 */
void receive_end(struct endpoint *, struct receive *, struct fi_cq_err_entry *,
	fi_addr_t source);

/* ---- ending without a message: receive_fail.c ---- */

/* A long message into it comes no more, and nobody is told. */
void receive_abandon(struct endpoint *, struct receive *);
/* Receives that only a peer could meet that is gone. */
void receive_fail_from(struct endpoint *, fi_addr_t source);
/* fi_cancel(). 0 or -FI_ENOENT. */
ssize_t receive_cancel(struct endpoint *, void *context);
/* Drops them all: the endpoint closes. */
void receive_free_all(struct endpoint *);

/* What receive.c does for these: */

/* Room for the completion of one more message. 0, -FI_EAGAIN. */
int receive_reserve(struct endpoint *, struct receive *);
/* It is posted no more. */
void receive_out(struct endpoint *, struct matcher *, struct receive *);
void receive_free(struct endpoint *, struct receive *);

#endif
