/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths for the small messages of a pair of endpoints, per direction.
 *
 * The receiver counts small messages of each peer. After
 * settings.ultra_messages it accepts a path and asks the peer to connect; the
 * peer says when it begins to use it:
 *
 *	target				origin
 *	cay_ultra_accept_start()
 *	WIRE_PATH_ASK		->	cay_ultra_connect_start()
 *				<-	WIRE_PATH_BEGIN, or WIRE_PATH_REFUSE
 *	  ... messages with sequence numbers 0, 1, ... on path and queue ...
 *	WIRE_PATH_CLOSE		->
 *				<-	WIRE_PATH_END with the next number
 *
 * Nothing waits for the node, which may be slow. BEGIN and END go through the
 * port's queue as messages do, so they separate messages with a sequence number
 * from those without.
 *
 * Between BEGIN and END each message has a number, whichever way it takes: one
 * of up to PATH_BYTES_MAX bytes the path, others the queue. The receiver
 * delivers them in the order of these numbers, without a place to hold any but
 * the one that it has taken from the path:
 *
 *   The sender publishes message n after all messages before n, and both ways
 *   publish with release and are read with acquire. So a receiver that sees n
 *   on one way finds every message before n, which it has not delivered yet, on
 *   the other way or before n on the same.
 *
 *   n in the queue: the messages before it that are not delivered are on the
 *   path, because the queue is delivered in order. They are taken first
 *   (path_merge()). If the next one of the path is not the next one in
 *   sequence, the sender has violated the protocol.
 *
 *   n on the path, and not the next in sequence: the missing ones are in the
 *   queue, perhaps behind an entry that another sender has claimed and not
 *   published. n stays where it is until they are delivered, and with it what
 *   follows on the path.
 *
 * Control messages have no number. FIN, results and the requests of rendezvous
 * name an operation; XOFF and XON are ordered among themselves. Remote CQ data,
 * counted accesses and atomic operations keep their place among the messages,
 * although no FI_ORDER_* of the provider says so, since programs learn of them
 * by a later message: the next message takes the queue, too, so that it and its
 * successors come after them; and the receiver delivers what is on the path
 * before it handles them.
 *
 * A refused message (-EAGAIN: no slice, or no entry of the queue) uses no
 * number. The origin ends with its process or endpoint: then the path is
 * drained, and the port's CAY_EVENT_GONE follows. A peer that violates the
 * protocol counts as gone.
 */
#ifndef CAY_PROVIDER_PATH_H
#define CAY_PROVIDER_PATH_H

#include <string.h>

#include "provider/endpoint/endpoint.h"
#include "provider/wire.h"

/* A line of an ULTRA path without its header word. */
#define PATH_BYTES_MAX (CAY_ULTRA_LINE_MAX - sizeof(uint64_t))

enum path_state {
	PATH_SETUP, /* the node replies, some time */
	PATH_ASKED, /* target: BEGIN or REFUSE follows */
	PATH_BEGIN, /* origin: BEGIN is to be sent */
	PATH_OPEN,
	PATH_LEAVE, /* target: CLOSE was sent; origin: END is to be sent */
};

struct path {
	struct peer *peer;
	struct cay_ultra *ultra; /* NULL: the origin is gone, and drained */
	uint32_t next;		 /* sequence number of the next message */
	enum path_state state;
	bool out;	 /* this end is the origin */
	bool queue_next; /* origin: the next message takes the queue */
	/* Target: the message that was taken, with the header in line[0]. */
	bool full; /* it could not be delivered yet */
	uint64_t line[CAY_ULTRA_LINE_MAX / sizeof(uint64_t)];
	struct cay_event message;
	uint32_t finds;		/* polls that found messages, since reviewed */
	int batch;		/* messages to take next */
	unsigned early;		/* polls that found a later message first */
	struct list link;	/* endpoint->paths: OPEN or LEAVE, target */
	struct list retry_link; /* endpoint->path_retries */
	uint64_t position;	/* of the target, when it was last reviewed */
	uint64_t used_ns;	/* when that had changed */
};

static inline uint32_t path_next(uint32_t number)
{
	return (number + 1) & WIRE_IMMEDIATE_MAX;
}

/* A short payload, for which a call of memcpy() would cost more. */
static inline void copy_short(
	unsigned char *to, const unsigned char *from, size_t length)
{
	size_t at = 0;
	if (length < 8) {
		for (; at < length; at++)
			to[at] = from[at];
		return;
	}
	for (; at + 8 < length; at += 8)
		memcpy(to + at, from + at, 8);
	memcpy(to + length - 8, from + length - 8, 8);
}

/* ---- path_setup.c ---- */

/* The peer has sent many small messages: gives it a path, if there is one. */
void path_nominate(struct peer *);

/* Counts a small message of the peer. */
static inline void path_count(struct peer *from)
{
	if (unlikely(--from->until_path == 0))
		path_nominate(from);
}

/* Handle the steps of enum wire_path. Return 0 or -FI_ENOMEM. */
int path_asked(struct endpoint *, struct peer *);
void path_refused(struct peer *);
void path_begun(struct peer *);
void path_leave(struct peer *);
/* Continues set-ups, BEGIN and END. Called by progress. */
void path_retry(struct endpoint *);
/* Closes paths that are not used any more. Called by progress, now and then. */
void path_review(struct endpoint *);
/* Ends the polling of a path. */
void path_unlist(struct path *);
/* Closes a path, or NULL, and forgets it. */
void path_free(struct path *);

/* ---- path.c: target ---- */

/* Takes the next message. Returns its bytes, or as cay_ultra_recv(). */
static inline int path_recv(struct path *path)
{
	return cay_ultra_recv(path->ultra, &path->message.tag, path->line,
		sizeof(path->line));
}
/*
 * Delivers a message of n bytes that was taken, or whatever else path_recv()
 * returned but -EAGAIN, and further ones. Returns how many, or -EBADMSG:
 * peer_damaged() applies. What cannot be delivered stays.
 */
int path_found(struct path *, int n);
/* The same for all paths. endpoint->path_last is that of the last message. */
int path_poll(struct endpoint *);
/*
 * Delivers the messages before this number, of which none is in the queue any
 * more. Returns 0, -EBADMSG (the peer is damaged), or -FI_EAGAIN,
 * -FI_ENOMEM: the caller retries.
 */
int path_merge(struct endpoint *, struct peer *, uint64_t number);
/* The message with this number, of the queue, is delivered. */
static inline void path_merged(struct peer *from)
{
	from->path_in->next = path_next(from->path_in->next);
}
/* Delivers what is on the path of a peer. Returns 0, -FI_EAGAIN, -FI_ENOMEM. */
int path_drain(struct endpoint *, struct peer *);
/* Before a control message of this kind is handled. Returns the same. */
static inline int path_order_target(
	struct endpoint *ep, struct peer *from, unsigned kind)
{
	bool ordered = kind == WIRE_CQ_DATA || kind == WIRE_ACCESS ||
		       kind == WIRE_ATOMIC;
	return unlikely(from->path_in) && ordered ? path_drain(ep, from) : 0;
}

/* ---- path.c: origin ---- */

/* After a control message whose place among messages is kept was sent. */
static inline void path_order_origin(struct peer *to)
{
	if (unlikely(to->path_out != NULL))
		to->path_out->queue_next = true;
}
/* The part of path_send() for messages that take the queue. */
int path_send_other(struct peer *, uint64_t tag, uint32_t head, const void *,
	size_t length);
/*
 * Send a message to a peer with PEER_PATH, of at most PROVIDER_IOV_MAX + 1
 * segments. Return as cay_send_tagged(), or -EBADMSG: peer_damaged() applies.
 */
static inline int path_send(struct peer *p, uint64_t tag, uint32_t head,
	const void *bytes, size_t length)
{
	struct path *path = p->path_out;
	uint64_t line[CAY_ULTRA_LINE_MAX / sizeof(uint64_t)];
	if (unlikely(length > PATH_BYTES_MAX || path->queue_next))
		return path_send_other(p, tag, head, bytes, length);
	line[0] = head | (uint64_t)path->next << 32;
	copy_short((unsigned char *)&line[1], bytes, length);
	int r = cay_ultra_send(
		path->ultra, tag, line, sizeof(line[0]) + length, 0);
	if (likely(r == 0))
		path->next = path_next(path->next);
	return r;
}
int path_sendv(struct peer *, uint64_t tag, uint32_t head, const struct iovec *,
	int count, size_t length);

#endif
