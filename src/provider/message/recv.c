/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts receives; peeks at, claims and discards unexpected messages. An
 * FI_MULTI_RECV buffer receives messages one behind the other until less than
 * FI_OPT_MIN_MULTI_RECV bytes of it are left.
 */
#include <stdlib.h>

#include "provider/endpoint/control.h"
#include "provider/message/receive.h"
#include "provider/message/unexpected.h"
#include "provider/progress/progress.h"

#define PEEK_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD | FI_COMPLETION | FI_MORE)

/* ---- posting ---- */

static struct receive *receive_new(struct endpoint *ep)
{
	struct receive *r = ep->free_receives;
	if (unlikely(!r))
		return malloc(sizeof(*r));
	ep->free_receives = r->next_free;
	return r;
}

static int receive_init(const struct endpoint *ep, struct receive *r,
	const struct receive_request *q)
{
	list_init(&r->all);
	r->min_left = ep->min_multi_recv;
	r->iov_count = (uint32_t)q->count;
	r->length = r->used = 0;
	r->iov[0].iov_base = NULL;
	r->fetching = r->reserved = 0;
	r->source = q->source;
	r->tag = q->tag;
	r->ignore = q->ignore;
	r->flags = q->flags;
	r->context = q->context;
	if (likely(q->count == 1)) {
		r->iov[0].iov_base = q->iov->iov_base;
		r->iov[0].iov_len = r->length = q->iov->iov_len;
		return 0;
	}
	for (size_t i = 0; i < q->count; i++) {
		r->iov[i] = q->iov[i];
		if (q->iov[i].iov_len > SIZE_MAX - r->length)
			return -FI_EMSGSIZE;
		r->length += q->iov[i].iov_len;
	}
	return 0;
}

static void receive_enqueue(
	struct endpoint *ep, struct matcher *m, struct receive *r)
{
	matcher_post(m, r);
	r->peer = r->source < ep->index_capacity ? ep->by_index[r->source]
						 : NULL;
	if (r->source == FI_ADDR_UNSPEC)
		ep->posted_any++;
	else if (r->peer)
		r->peer->posted++;
	/* A peer that could match it must be able to send: unexpected.h. */
	if (unlikely(!list_empty(&ep->xoff_peers)))
		unexpected_xon(ep);
}

static bool source_gone(const struct endpoint *ep, const struct receive *r)
{
	return r->source < ep->index_capacity && ep->by_index[r->source] &&
	       ep->by_index[r->source]->state == PEER_GONE;
}

/* Delivers unexpected messages to a receive; then posts what is left of it. */
__attribute__((noinline)) static int receive_match(
	struct endpoint *ep, struct matcher *matcher, struct receive *r)
{
	for (bool more = true; more;) {
		struct unexpected *u;
		struct incoming m;
		int e = matcher_find_message(
			matcher, r->source, r->tag, r->ignore, &u);
		if (e)
			return e;
		if (likely(!u)) {
			if (unlikely(source_gone(ep, r)))
				return -FI_EHOSTUNREACH;
			receive_enqueue(ep, matcher, r);
			return 0;
		}
		unexpected_incoming(u, &m);
		more = !receive_full(
			r, bits_min(m.length, r->length - r->used));
		e = deliver(ep, r, &m, NULL);
		if (e)
			return e;
		unexpected_free(ep, matcher, u);
	}
	return 0;
}

/*
 * Handles a receive that could not be posted. An FI_MULTI_RECV buffer that has
 * already received messages ends with these.
 */
static int receive_post_failed(
	struct endpoint *ep, struct receive *r, int error)
{
	const struct fi_cq_tagged_entry e = { .op_context = r->context,
		.flags = FI_MULTI_RECV };
	if (r->used == 0 && r->fetching == 0) {
		receive_free(ep, r);
		return error == -FI_ENOMEM ? -FI_EAGAIN : error;
	}
	r->length = r->used;
	if (r->fetching)
		return 0;
	/* Releases the buffer without a message: see fi_cq(3). */
	if (receive_reserve(ep, r)) {
		LOG_WARN(CQ, "no memory to report a released buffer\n");
	} else if (ep->rx_cq) {
		cq_complete(ep->rx_cq, &e, FI_ADDR_NOTAVAIL);
		r->reserved--;
	}
	receive_free(ep, r);
	return 0;
}

static int receive_post(struct endpoint *ep, const struct receive_request *q)
{
	struct receive *r = receive_new(ep);
	if (!r)
		return -FI_EAGAIN;
	int e = receive_init(ep, r, q);
	if (e == 0)
		e = receive_reserve(ep, r);
	struct matcher *m = receive_matcher(ep, q->tagged);
	if (likely(e == 0 && m->held_count == 0 && !source_gone(ep, r)))
		receive_enqueue(ep, m, r);
	else if (e == 0)
		e = receive_match(ep, m, r);
	return unlikely(e) ? receive_post_failed(ep, r, e) : 0;
}

/* ---- peek, claim, discard ---- */

/* A message that FI_CLAIM has reserved for a later call with its context. */
struct claim {
	struct list link; /* endpoint->claimed */
	void *context;
	struct unexpected *message;
};

static void claim_free(struct endpoint *ep, struct claim *c)
{
	unexpected_free_claimed(ep, c->message);
	list_remove(&c->link);
	free(c);
}

static void report_found(struct endpoint *ep, const struct receive_request *q,
	const struct unexpected *u)
{
	const struct fi_cq_tagged_entry e = { .op_context = q->context,
		.flags = receive_flags(u->head),
		.len = u->length,
		.data = u->data,
		.tag = u->tag };
	if (ep->rx_cq)
		cq_complete(ep->rx_cq, &e, u->source);
}

/* Sends FIN for a discarded message if its sender waits for that. */
static int discard_fin(const struct unexpected *u)
{
	if (!u->rendezvous && !(u->head & WIRE_ID))
		return 0;
	return control_send(u->from, WIRE_FIN, u->id, NULL, 0);
}

/* FI_PEEK, with FI_CLAIM or FI_DISCARD. Uses a reservation if it returns 0. */
static int recv_peek(struct endpoint *ep, const struct receive_request *q)
{
	struct matcher *m = receive_matcher(ep, q->tagged);
	struct unexpected *u;
	int r = matcher_find_message(m, q->source, q->tag, q->ignore, &u);
	if (r == 0 && !u) {
		endpoint_progress(ep);
		r = matcher_find_message(m, q->source, q->tag, q->ignore, &u);
	}
	if (r)
		return -FI_EAGAIN;
	if (!u) {
		const struct fi_cq_err_entry e = { .op_context = q->context,
			.flags = FI_RECV | (q->tagged ? FI_TAGGED : FI_MSG),
			.tag = q->tag,
			.err = FI_ENOMSG,
			.prov_errno = -FI_ENOMSG };
		if (ep->rx_cq)
			cq_fail(ep->rx_cq, &e, FI_ADDR_NOTAVAIL);
		return 0;
	}
	if (q->flags & FI_CLAIM) {
		struct claim *c = malloc(sizeof(*c));
		if (!c)
			return -FI_EAGAIN;
		*c = (struct claim){ .context = q->context, .message = u };
		matcher_release(m, u);
		list_append(&ep->claimed, &c->link);
		report_found(ep, q, u);
	} else if (q->flags & FI_DISCARD) {
		if (discard_fin(u))
			return -FI_EAGAIN;
		report_found(ep, q, u);
		unexpected_free(ep, m, u);
	} else {
		report_found(ep, q, u);
	}
	return 0;
}

/* FI_CLAIM without FI_PEEK: receives the message that was claimed. */
static int recv_claimed(
	struct endpoint *ep, const struct receive_request *q, struct claim *c)
{
	struct incoming m;
	struct receive *r = receive_new(ep);
	if (!r)
		return -FI_EAGAIN;
	unexpected_incoming(c->message, &m);
	int e = receive_init(ep, r, q);
	r->flags &= ~FI_MULTI_RECV;
	if (e == 0)
		e = receive_reserve(ep, r);
	if (e == 0)
		e = deliver(ep, r, &m, NULL);
	if (e)
		e = receive_post_failed(ep, r, e);
	if (e == 0)
		claim_free(ep, c);
	return e;
}

/* FI_PEEK, FI_CLAIM and FI_DISCARD. */
static ssize_t recv_unexpected(
	struct endpoint *ep, const struct receive_request *q)
{
	struct claim *c = NULL;
	if (q->flags & ~PEEK_FLAGS)
		return -FI_EINVAL;
	if (!(q->flags & FI_PEEK)) {
		if (q->flags & FI_CLAIM)
			list_for_each (link, &ep->claimed) {
				c = list_of(link, struct claim, link);
				if (c->context == q->context)
					break;
				c = NULL;
			}
		if (!c)
			return -FI_EINVAL;
		if (!(q->flags & FI_DISCARD))
			return recv_claimed(ep, q, c);
	}
	int r = ep->rx_cq ? cq_reserve(ep->rx_cq) : 0;
	if (r)
		return r;
	if (!c) {
		r = recv_peek(ep, q);
	} else if (discard_fin(c->message)) {
		r = -FI_EAGAIN;
	} else {
		report_found(ep, q, c->message);
		claim_free(ep, c);
	}
	if (r && ep->rx_cq)
		cq_unreserve(ep->rx_cq);
	return r;
}

void recv_free_claimed(struct endpoint *ep)
{
	list_for_each_safe (link, after, &ep->claimed)
		claim_free(ep, list_of(link, struct claim, link));
}

/* ---- all calls ---- */

static ssize_t recv_locked(struct endpoint *ep, struct receive_request *q)
{
	if (unlikely(!ep->port))
		return -FI_EOPBADSTATE;
	/* The source counts only with FI_DIRECTED_RECV. */
	if (!(ep->caps & FI_DIRECTED_RECV) || q->source == FI_ADDR_UNSPEC) {
		q->source = FI_ADDR_UNSPEC;
	} else {
		if (!av_has(ep->av, q->source))
			return -FI_EINVAL;
		q->source = av_first(ep->av, q->source);
		if (unlikely(q->source >= ep->index_capacity ||
			     !ep->by_index[q->source] ||
			     !ep->by_index[q->source]->port))
			peer_watch(ep, q->source);
	}
	if (unlikely(q->flags & (FI_PEEK | FI_CLAIM | FI_DISCARD)))
		return recv_unexpected(ep, q);
	return receive_post(ep, q);
}

ssize_t recv_post(struct fid_ep *fid, struct receive_request *q)
{
	struct endpoint *ep = endpoint_of(fid);
	if (unlikely(q->count > PROVIDER_IOV_MAX || (q->count && !q->iov)))
		return -FI_EINVAL;
	domain_lock(ep->domain);
	ssize_t r = recv_locked(ep, q);
	domain_unlock(ep->domain);
	return likely(r == 0) ? 0 : provider_call_failed("fi_recv", r);
}
