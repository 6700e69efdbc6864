/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting receives and delivering messages to them: see receive.h. A receive
 * with FI_MULTI_RECV takes messages one behind the other until less is left of
 * it than FI_OPT_MIN_MULTI_RECV says.
 */
#include "provider/message/receive.h"

#include <stdlib.h>
#include <string.h>

#include "provider/message/fetch.h"
#include "provider/message/unexpected.h"

/* ---- receives ---- */

/* Freed ones are kept for the next; the endpoint owns their memory. */
static struct receive *receive_new(struct endpoint *ep)
{
	struct receive *r = ep->spare;
	if (unlikely(!r))
		return malloc(sizeof(*r));
	ep->spare = r->spare;
	return r;
}

static inline void receive_keep(struct endpoint *ep, struct receive *r)
{
	r->spare = ep->spare;
	ep->spare = r;
}

void receive_free(struct endpoint *ep, struct receive *r)
{
	for (; r->reserved; r->reserved--)
		cq_unreserve(ep->rx_cq);
	receive_keep(ep, r);
}

/* Only an error is told. */
static inline bool receive_silent(
	const struct endpoint *ep, const struct receive *r)
{
	return ep->rx_selective && !(r->flags & FI_COMPLETION);
}

static void receive_tell(struct endpoint *ep, struct receive *r,
	const struct fi_cq_err_entry *e, fi_addr_t source)
{
	struct cntr *counter = ep->counters[COUNT_RECV];
	if (counter)
		cntr_count(counter, e->err != 0);
	if (!r->reserved)
		return;
	if (e->err)
		cq_fail(ep->rx_cq, e, source);
	else if (!receive_silent(ep, r) || e->flags & FI_MULTI_RECV)
		cq_complete(ep->rx_cq, (const void *)e, source);
	else
		return;
	r->reserved--;
}

/* With so many bytes more, will it take no further message? */
static bool receive_full(const struct receive *r, size_t more)
{
	size_t left = r->length - r->used - more;
	return !(r->flags & FI_MULTI_RECV) || left == 0 || left < r->least;
}

void receive_end(struct endpoint *ep, struct receive *r,
	struct fi_cq_err_entry *e, fi_addr_t source)
{
	bool last = receive_full(r, 0) && r->fetching == 0;
	if (unlikely(r->flags & FI_MULTI_RECV) && last)
		e->flags |= FI_MULTI_RECV;
	receive_tell(ep, r, e, source);
	if (last)
		receive_free(ep, r);
}

int receive_reserve(struct endpoint *ep, struct receive *r)
{
	if (likely(r->reserved > r->fetching) || !ep->rx_cq)
		return 0;
	int e = cq_reserve(ep->rx_cq);
	if (e == 0)
		r->reserved++;
	return e;
}

/*
 * Posted, or no more. Whoever we wait for must not wait for us, however much
 * we hold: see unexpected.h.
 */
static int receive_in(struct endpoint *ep, struct matcher *m, struct receive *r)
{
	int e = matcher_post(m, r);
	if (unlikely(e))
		return e;
	r->peer = r->source < ep->index_room ? ep->by_index[r->source] : NULL;
	if (r->source == FI_ADDR_UNSPEC)
		ep->awaited++;
	else if (r->peer)
		r->peer->awaited++;
	if (unlikely(!list_empty(&ep->halted)))
		unexpected_resume(ep);
	return 0;
}

void receive_out(struct endpoint *ep, struct matcher *m, struct receive *r)
{
	matcher_unpost(m, r);
	if (r->source == FI_ADDR_UNSPEC)
		ep->awaited--;
	else if (r->peer)
		r->peer->awaited--;
}

/* ---- delivering ---- */

static size_t scatter(
	const struct receive *r, const unsigned char *from, size_t length)
{
	size_t at = r->used, done = 0;
	for (uint32_t i = 0; i < r->iov_count && done < length; i++) {
		size_t here = r->iov[i].iov_len;
		if (at >= here) {
			at -= here;
			continue;
		}
		size_t n = bits_min(here - at, length - done);
		memcpy((char *)r->iov[i].iov_base + at, from + done, n);
		done += n;
		at = 0;
	}
	return done;
}

static void deliver_eager(
	struct endpoint *ep, struct receive *r, const struct arrival *a)
{
	struct fi_cq_err_entry e = { .op_context = r->context,
		.flags = receive_flags(a->head),
		.buf = (char *)r->iov[0].iov_base + r->used,
		.data = a->data,
		.tag = a->tag };
	e.len = scatter(r, a->bytes, a->length);
	if (unlikely(e.len < a->length)) {
		e.err = FI_ETRUNC;
		e.prov_errno = -FI_ETRUNC;
		e.olen = a->length - e.len;
	}
	r->used += e.len;
	receive_end(ep, r, &e, a->from->fi_addr);
}

/*
 * The message is this receive's, which leaves its matcher if that fills it. 0,
 * or -FI_EAGAIN, -FI_ENOMEM and nothing has happened.
 */
static int deliver(struct endpoint *ep, struct receive *r,
	const struct arrival *a, struct matcher *posted)
{
	struct op *op = NULL;
	int e = receive_reserve(ep, r);
	if (unlikely(e))
		return e;
	if (!a->bytes) {
		op = fetch_new(ep, r, a);
		if (!op)
			return -FI_ENOMEM;
	} else if (unlikely(a->head & WIRE_ID)) {
		e = endpoint_post(a->from, WIRE_TAKEN, a->id, NULL, 0);
		if (e)
			return e;
	}
	if (posted && receive_full(r, bits_min(a->length, r->length - r->used)))
		receive_out(ep, posted, r);
	if (op)
		fetch_start(op);
	else
		deliver_eager(ep, r, a);
	return 0;
}

/* What came in a notification is so short that a call would cost more. */
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

static void plain_tell(struct endpoint *ep, const struct receive *r,
	const struct peer *from, const struct cay_event *e)
{
	struct cq_slot *slot = cq_slot(ep->rx_cq);
	slot->entry.op_context = r->context;
	slot->entry.flags = receive_flags(e->api_tag);
	slot->entry.len = e->length;
	slot->entry.buf = r->iov[0].iov_base;
	slot->entry.data = e->api_tag >> WIRE_SMALL_SHIFT;
	slot->entry.tag = e->tag;
	slot->entry.err = 0;
	slot->source = from->fi_addr;
	if (unlikely(ep->rx_cq->wait.watched))
		wait_wake(&ep->rx_cq->wait);
	if (ep->counters[COUNT_RECV])
		cntr_count(ep->counters[COUNT_RECV], false);
}

/* The same as deliver() would do, in a straight line. */
bool receive_plain(
	struct endpoint *ep, struct peer *from, const struct cay_event *e)
{
	struct receive *r = matcher_receive(&ep->tagged, from->fi_addr, e->tag);
	if (unlikely(!r || r->iov_count != 1 || e->length > r->length ||
		     !r->reserved || receive_silent(ep, r)))
		return false;
	receive_out(ep, &ep->tagged, r);
	if (likely(e->length <= CAY_FAST_SEND_BYTES))
		copy_short(r->iov[0].iov_base, e->data, e->length);
	else
		memcpy(r->iov[0].iov_base, e->data, e->length);
	plain_tell(ep, r, from, e);
	r->reserved = 0;
	receive_keep(ep, r);
	return true;
}

int receive_arrived(struct endpoint *ep, const struct arrival *a)
{
	struct matcher *m = receive_matcher(ep, receive_tagged(a->head));
	struct receive *r = matcher_receive(m, a->from->fi_addr, a->tag);
	if (likely(r != NULL))
		return deliver(ep, r, a, m);
	return unexpected_hold(ep, m, a);
}

/* ---- posting ---- */

static int receive_fill(
	const struct endpoint *ep, struct receive *r, const struct wanted *w)
{
	list_init(&r->all);
	r->least = ep->min_multi_recv;
	r->iov_count = (uint32_t)w->count;
	r->length = r->used = 0;
	r->iov[0].iov_base = NULL;
	r->fetching = r->reserved = 0;
	r->source = w->source;
	r->tag = w->tag;
	r->ignore = w->ignore;
	r->flags = w->flags;
	r->context = w->context;
	if (likely(w->count == 1)) {
		r->iov[0].iov_base = w->iov->iov_base;
		r->iov[0].iov_len = r->length = w->iov->iov_len;
		return 0;
	}
	for (size_t i = 0; i < w->count; i++) {
		r->iov[i] = w->iov[i];
		if (w->iov[i].iov_len > SIZE_MAX - r->length)
			return -FI_EMSGSIZE;
		r->length += w->iov[i].iov_len;
	}
	return 0;
}

/* From somebody who is gone and has left nothing? */
static bool receive_hopeless(const struct endpoint *ep, const struct receive *r)
{
	return r->source < ep->index_room && ep->by_index[r->source] &&
	       ep->by_index[r->source]->state == PEER_GONE;
}

/* Gives a receive what was there before it; then posts what is left of it. */
static int receive_post(
	struct endpoint *ep, struct matcher *m, struct receive *r)
{
	for (bool more = true; more;) {
		struct unexpected *u;
		struct arrival a;
		int e = matcher_message(m, r->source, r->tag, r->ignore, &u);
		if (e)
			return e;
		if (likely(!u))
			return unlikely(receive_hopeless(ep, r))
				       ? -FI_EHOSTUNREACH
				       : receive_in(ep, m, r);
		unexpected_arrival(u, &a);
		more = !receive_full(
			r, bits_min(a.length, r->length - r->used));
		e = deliver(ep, r, &a, NULL);
		if (e)
			return e;
		unexpected_drop(ep, m, u);
	}
	return 0;
}

/* Tells that a buffer takes no more, without a message: see fi_cq(3). */
static void receive_release(struct endpoint *ep, struct receive *r)
{
	const struct fi_cq_tagged_entry e = { .op_context = r->context,
		.flags = FI_MULTI_RECV };
	if (receive_reserve(ep, r)) {
		LOG_WARN(CQ, "no memory to tell that a buffer is free\n");
	} else if (ep->rx_cq) {
		cq_complete(ep->rx_cq, &e, FI_ADDR_NOTAVAIL);
		r->reserved--;
	}
	receive_free(ep, r);
}

/* It could not be posted after all: what it has already got stays with it. */
static int receive_give_up(struct endpoint *ep, struct receive *r, int error)
{
	if (r->used == 0 && r->fetching == 0) {
		receive_free(ep, r);
		return error == -FI_ENOMEM ? -FI_EAGAIN : error;
	}
	r->length = r->used;
	if (r->fetching == 0)
		receive_release(ep, r);
	return 0;
}

static int receive_take_up(struct endpoint *ep, const struct wanted *w)
{
	struct receive *r = receive_new(ep);
	if (!r)
		return -FI_EAGAIN;
	int e = receive_fill(ep, r, w);
	if (e == 0)
		e = receive_reserve(ep, r);
	struct matcher *m = receive_matcher(ep, w->tagged);
	if (likely(e == 0 && m->held_count == 0 && !receive_hopeless(ep, r)))
		e = receive_in(ep, m, r);
	else if (e == 0)
		e = receive_post(ep, m, r);
	return unlikely(e) ? receive_give_up(ep, r, e) : 0;
}

int receive_claimed(
	struct endpoint *ep, const struct wanted *w, const struct arrival *a)
{
	struct receive *r = receive_new(ep);
	if (!r)
		return -FI_EAGAIN;
	int e = receive_fill(ep, r, w);
	r->flags &= ~FI_MULTI_RECV;
	if (e == 0)
		e = receive_reserve(ep, r);
	if (e == 0)
		e = deliver(ep, r, a, NULL);
	return e ? receive_give_up(ep, r, e) : 0;
}

/* Whom it is from, if the endpoint looks at that at all. */
static int wanted_source(struct endpoint *ep, struct wanted *w)
{
	if (!(ep->caps & FI_DIRECTED_RECV) || w->source == FI_ADDR_UNSPEC) {
		w->source = FI_ADDR_UNSPEC;
		return 0;
	}
	if (!av_has(ep->av, w->source))
		return -FI_EINVAL;
	w->source = av_first(ep->av, w->source);
	if (unlikely(w->source >= ep->index_room || !ep->by_index[w->source] ||
		     !ep->by_index[w->source]->port))
		peer_watch(ep, w->source);
	return 0;
}

static ssize_t receive_locked(struct endpoint *ep, struct wanted *w)
{
	if (unlikely(!ep->port))
		return -FI_EOPBADSTATE;
	int e = wanted_source(ep, w);
	if (e)
		return e;
	if (unlikely(w->flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)))
		return unexpected_look(ep, w);
	return receive_take_up(ep, w);
}

ssize_t receive_wanted(struct fid_ep *fid, struct wanted *w)
{
	struct endpoint *ep = endpoint_of(fid);
	if (unlikely(w->count > PROVIDER_IOV_MAX || (w->count && !w->iov)))
		return -FI_EINVAL;
	guard_enter(&ep->domain->guard);
	ssize_t e = receive_locked(ep, w);
	guard_leave(&ep->domain->guard);
	return e;
}
