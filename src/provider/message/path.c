/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on ULTRA paths, and their order: see path.h. */
#include "provider/message/path.h"

#include "provider/message/receive.h"

/* Messages of one path that are delivered before other work is done. */
#define TAKE_MAX 16
/* Polls that find a message too early until its origin is looked at. */
#define EARLY_POLLS 64
/*
 * After some messages of one path and from nowhere else, so many polls look at
 * that path alone: the next message will probably come the same way. Where
 * several peers take turns, their messages must not wait for such polls, which
 * yield the processor in between if others need it.
 */
#define PATH_STREAK 8
#define PATH_POLLS  256
/* Slices of a path. */
#define DRAIN_MAX 512

/* ---- target ---- */

/*
 * The message is not the next in sequence. Returns -EBUSY if the ones between
 * may still come: the queue holds no more than its entries, also while it is
 * replaced.
 */
static int path_early(struct endpoint *ep, struct path *path)
{
	struct cay_ultra_status s = { .size = sizeof(s) };
	uint64_t number = path->line[0] >> 32;
	if (number > WIRE_IMMEDIATE_MAX ||
		((number - path->next) & WIRE_IMMEDIATE_MAX) >
			4 * settings.nq_entries)
		return -EBADMSG;
	if (++path->early % EARLY_POLLS || ep->event_next < ep->event_count)
		return -EBUSY;
	/* All its messages in the queue precede the CAY_EVENT_GONE. */
	bool gone = cay_ultra_status(path->ultra, &s) == 0 && s.gone_held;
	return gone ? -EBADMSG : -EBUSY;
}

/* There is no message, or a damaged one. */
__attribute__((cold, noinline)) static int path_nothing(
	struct path *path, int result)
{
	if (result != -EPIPE)
		return result >= 0 || result == -EBADMSG ? -EBADMSG : 0;
	/* The numbers of messages in the queue are still checked. */
	path_unlist(path);
	cay_ultra_close(path->ultra);
	path->ultra = NULL;
	return 0;
}

/* The message was delivered. */
static inline int path_taken(struct endpoint *ep, struct path *path)
{
	path->next = path_next(path->next);
	if (unlikely(path->full)) {
		path->full = false;
		ep->path_full--;
	}
	return 1;
}

/* All but a tagged message for a posted receive, in sequence. */
__attribute__((noinline)) static int path_take_other(
	struct endpoint *ep, struct path *path)
{
	unsigned kind = WIRE_KIND(path->message.api_tag);
	if (kind < WIRE_MESSAGE || kind > WIRE_TAGGED_RTS ||
		path->message.api_tag & WIRE_SEQUENCE)
		return -EBADMSG;
	int r = path->line[0] >> 32 == path->next
			? deliver_message(ep, path->peer, &path->message)
			: path_early(ep, path);
	if (r == 0)
		return path_taken(ep, path);
	if (r != -EBADMSG && !path->full) {
		path->full = true;
		ep->path_full++;
	}
	return r;
}

/*
 * Delivers the message that was taken from a path, of n bytes, if it is the
 * next in sequence. Returns 1, or -EBADMSG, or -EBUSY (it is too early),
 * -FI_EAGAIN, -FI_ENOMEM: it stays.
 */
static inline int path_deliver(struct endpoint *ep, struct path *path, int n)
{
	path->message.api_tag = (uint32_t)path->line[0];
	path->message.length = (size_t)n - sizeof(path->line[0]);
	if (likely(path->line[0] >> 32 == path->next &&
		    (path->message.api_tag & WIRE_FORMAT_MASK) == WIRE_TAGGED &&
		    deliver_fast(ep, path->peer, &path->message)))
		return path_taken(ep, path);
	return path_take_other(ep, path);
}

/* Takes and delivers the next message. Also returns 0: there is none. */
static int path_take(struct endpoint *ep, struct path *path)
{
	if (unlikely(path->full))
		return path_take_other(ep, path);
	int n = path_recv(path);
	if (n == -EAGAIN)
		return 0;
	if (unlikely(n < (int)sizeof(path->line[0])))
		return path_nothing(path, n);
	return path_deliver(ep, path, n);
}

int path_found(struct path *path, int n)
{
	struct endpoint *ep = path->peer->ep;
	int found = 0, r;
	if (unlikely(path->full))
		r = path_take_other(ep, path);
	else if (unlikely(n < (int)sizeof(path->line[0])))
		r = path_nothing(path, n);
	else
		r = path_deliver(ep, path, n);
	/* As events_poll(): another look delays the only message. */
	while (r == 1 && ++found < path->batch)
		r = path_take(ep, path);
	path->finds += found > 0;
	path->batch = found ? (int)bits_min(2 * (unsigned)found, TAKE_MAX) : 1;
	ep->path_streak = ep->path_last == path ? ep->path_streak + 1 : 0;
	ep->path_last = path;
	/* A message that stays needs the queue, or memory. */
	ep->path_hot = ep->path_streak >= PATH_STREAK && r >= 0 && path->ultra
			       ? PATH_POLLS
			       : 0;
	return unlikely(r == -EBADMSG) ? r : found;
}

int path_poll(struct endpoint *ep)
{
	int found = 0;
	list_for_each_safe (at, after, &ep->paths) {
		struct path *path = list_of(at, struct path, link);
		int n = likely(!path->full) ? path_recv(path) : 0;
		if (n == -EAGAIN)
			continue;
		n = path_found(path, n);
		if (unlikely(n < 0))
			return n;
		found += n;
	}
	/* One of the others has a message that stays. */
	if (unlikely(ep->path_full))
		ep->path_hot = 0;
	return found;
}

int path_merge(struct endpoint *ep, struct peer *from, uint64_t number)
{
	struct path *path = from->path_in;
	if (!path || path->state < PATH_OPEN)
		return -EBADMSG;
	while (path->next != number) {
		int r = path->ultra ? path_take(ep, path) : 0;
		if (r <= 0)
			return r == 0 || r == -EBUSY ? -EBADMSG : r;
	}
	return 0;
}

int path_drain(struct endpoint *ep, struct peer *from)
{
	struct path *path = from->path_in;
	int r = 1;
	/* No more than a path holds, however fast its origin is. */
	for (int i = 0; i < DRAIN_MAX && r == 1; i++)
		r = path && path->state >= PATH_OPEN && path->ultra
			    ? path_take(ep, path)
			    : 0;
	/* path_poll() finds nonsense again. */
	return r == -FI_EAGAIN || r == -FI_ENOMEM ? r : 0;
}

/* ---- origin ---- */

/* Sends a message through the queue, in its place in the sequence. */
__attribute__((noinline)) static int path_queue(struct peer *p, uint64_t tag,
	uint32_t head, const struct iovec *iov, int count)
{
	struct path *path = p->path_out;
	struct iovec all[PROVIDER_IOV_MAX + 2];
	uint64_t data = head >> WIRE_IMMEDIATE_SHIFT;
	int n = 0;
	/* The sequence number takes the place of the data. */
	if (head & WIRE_DATA && !(head & WIRE_DATA_WORD)) {
		head |= WIRE_DATA_WORD;
		all[n++] = (struct iovec){ &data, sizeof(data) };
	}
	while (count-- > 0)
		all[n++] = *iov++;
	head = (head & ((1u << WIRE_IMMEDIATE_SHIFT) - 1)) | WIRE_SEQUENCE |
	       path->next << WIRE_IMMEDIATE_SHIFT;
	int r = n == 1 ? cay_send_tagged(p->ep->port, p->port, tag, head,
				 all->iov_base, all->iov_len, 0)
		       : cay_sendv_tagged(
				 p->ep->port, p->port, tag, head, all, n, 0);
	if (likely(r == 0)) {
		path->next = path_next(path->next);
		path->queue_next = false;
	}
	return r;
}

int path_send_other(struct peer *p, uint64_t tag, uint32_t head,
	const void *bytes, size_t length)
{
	const struct iovec iov = { (void *)bytes, length };
	return path_queue(p, tag, head, &iov, 1);
}

int path_sendv(struct peer *p, uint64_t tag, uint32_t head,
	const struct iovec *iov, int count, size_t length)
{
	unsigned char bytes[PATH_BYTES_MAX];
	if (length > sizeof(bytes) || p->path_out->queue_next)
		return path_queue(p, tag, head, iov, count);
	for (size_t at = 0; count-- > 0; at += iov++->iov_len)
		if (iov->iov_len)
			memcpy(bytes + at, iov->iov_base, iov->iov_len);
	return path_send(p, tag, head, bytes, length);
}
