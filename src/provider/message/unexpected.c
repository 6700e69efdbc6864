/* SPDX-License-Identifier: BSD-2-Clause */
/* See unexpected.h. */
#include "provider/message/unexpected.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD | FI_COMPLETION | FI_MORE)

/* ---- how much is held ---- */

static size_t unexpected_weight(const struct unexpected *u)
{
	return sizeof(*u) + (u->by_reference ? 0 : u->length);
}

static bool flow_awaits(const struct endpoint *ep, const struct peer *p)
{
	return ep->awaited || p->awaited;
}

/* Tells whoever sends while too much is here to stop. */
static void flow_halt(struct endpoint *ep, struct peer *from)
{
	if (from->halting || from->state == PEER_GONE || flow_awaits(ep, from))
		return;
	/* Without memory for it the next message of that peer tries again. */
	if (endpoint_post(from, WIRE_HALT, 0, NULL, 0))
		return;
	from->halting = true;
	list_append(&ep->halted, &from->halt_link);
	LOG_INFO(EP_DATA, "%zu bytes are unexpected: %s must wait\n",
		ep->held_bytes, from->address.name);
}

static void flow_resume(struct endpoint *ep, bool all)
{
	list_for_each_safe (link, after, &ep->halted) {
		struct peer *p = list_of(link, struct peer, halt_link);
		if (!all && !flow_awaits(ep, p))
			continue;
		if (endpoint_post(p, WIRE_RESUME, 0, NULL, 0))
			return;
		p->halting = false;
		list_remove(&p->halt_link);
	}
}

static void flow_add(struct endpoint *ep, const struct unexpected *u)
{
	ep->held_bytes += unexpected_weight(u);
	u->from->held++;
	if (unlikely(ep->held_bytes > settings.unexpected_bytes))
		flow_halt(ep, u->from);
}

static void flow_subtract(struct endpoint *ep, const struct unexpected *u)
{
	ep->held_bytes -= unexpected_weight(u);
	u->from->held--;
	peer_settle(u->from);
	if (unlikely(!list_empty(&ep->halted)) &&
		ep->held_bytes <= settings.unexpected_bytes / 2)
		flow_resume(ep, true);
}

void unexpected_resume(struct endpoint *ep)
{
	flow_resume(ep, false);
}

/* ---- holding ---- */

static struct unexpected *unexpected_new(const struct arrival *a)
{
	struct unexpected *u = malloc(sizeof(*u) + (a->bytes ? a->length : 0));
	if (!u)
		return NULL;
	*u = (struct unexpected){ .from = a->from,
		.source = a->from->fi_addr,
		.tag = a->tag,
		.head = a->head,
		.data = a->data,
		.id = a->id,
		.by_reference = !a->bytes,
		.key = a->key,
		.address = a->address,
		.length = a->length };
	if (a->bytes)
		memcpy(u->bytes, a->bytes, a->length);
	return u;
}

int unexpected_hold(
	struct endpoint *ep, struct matcher *m, const struct arrival *a)
{
	struct unexpected *u = unexpected_new(a);
	if (!u)
		return -FI_ENOMEM;
	int r = matcher_hold(m, u);
	if (r) {
		free(u);
		return r;
	}
	flow_add(ep, u);
	return 0;
}

void unexpected_arrival(const struct unexpected *u, struct arrival *a)
{
	*a = (struct arrival){ .from = u->from,
		.head = u->head,
		.tag = u->tag,
		.data = u->data,
		.id = u->id,
		.length = u->length,
		.bytes = u->by_reference ? NULL : u->bytes,
		.key = u->key,
		.address = u->address };
}

void unexpected_drop(
	struct endpoint *ep, struct matcher *m, struct unexpected *u)
{
	matcher_unhold(m, u);
	flow_subtract(ep, u);
	free(u);
}

/* ---- looking, claiming, discarding ---- */

/* A message that a call has taken out for a later call with its context. */
struct claim {
	struct list link; /* endpoint->claimed */
	void *context;
	struct unexpected *message;
};

static struct claim *claim_find(struct endpoint *ep, const void *context)
{
	list_for_each (link, &ep->claimed) {
		struct claim *c = list_of(link, struct claim, link);
		if (c->context == context)
			return c;
	}
	return NULL;
}

static void claim_free(struct endpoint *ep, struct claim *c)
{
	flow_subtract(ep, c->message);
	list_remove(&c->link);
	free(c->message);
	free(c);
}

/* Its sender may wait to hear that it was taken. */
static int message_refuse(const struct unexpected *u)
{
	if (!u->by_reference && !(u->head & WIRE_ID))
		return 0;
	return endpoint_post(u->from, WIRE_TAKEN, u->id, NULL, 0);
}

static void look_found(
	struct endpoint *ep, const struct wanted *w, const struct unexpected *u)
{
	const struct fi_cq_tagged_entry e = { .op_context = w->context,
		.flags = receive_flags(u->head),
		.len = u->length,
		.data = u->data,
		.tag = u->tag };
	if (ep->rx_cq)
		cq_complete(ep->rx_cq, &e, u->source);
}

static void look_missed(struct endpoint *ep, const struct wanted *w)
{
	const struct fi_cq_err_entry e = { .op_context = w->context,
		.flags = FI_RECV | (w->tagged ? FI_TAGGED : FI_MSG),
		.tag = w->tag,
		.err = FI_ENOMSG,
		.prov_errno = -FI_ENOMSG };
	if (ep->rx_cq)
		cq_fail(ep->rx_cq, &e, FI_ADDR_NOTAVAIL);
}

static int look_claim(struct endpoint *ep, struct matcher *m,
	const struct wanted *w, struct unexpected *u)
{
	struct claim *c = malloc(sizeof(*c));
	if (!c)
		return -FI_EAGAIN;
	*c = (struct claim){ .context = w->context, .message = u };
	matcher_unhold(m, u);
	list_append(&ep->claimed, &c->link);
	return 0;
}

static int look_use(struct endpoint *ep, struct matcher *m,
	const struct wanted *w, struct unexpected *u)
{
	int r = 0;
	if (w->flags & FI_CLAIM)
		r = look_claim(ep, m, w, u);
	else if (w->flags & FI_DISCARD)
		r = message_refuse(u);
	if (r)
		return -FI_EAGAIN;
	look_found(ep, w, u);
	if (!(w->flags & FI_CLAIM) && w->flags & FI_DISCARD)
		unexpected_drop(ep, m, u);
	return 0;
}

/* There is room for one completion. */
static int peek(struct endpoint *ep, const struct wanted *w)
{
	struct matcher *m = receive_matcher(ep, w->tagged);
	struct unexpected *u;
	int r = matcher_message(m, w->source, w->tag, w->ignore, &u);
	if (r == 0 && !u) {
		endpoint_progress(ep);
		r = matcher_message(m, w->source, w->tag, w->ignore, &u);
	}
	if (r)
		return -FI_EAGAIN;
	if (u)
		return look_use(ep, m, w, u);
	look_missed(ep, w);
	return 0;
}

/* There is room for one completion. */
static int claim_discard(
	struct endpoint *ep, const struct wanted *w, struct claim *c)
{
	if (message_refuse(c->message))
		return -FI_EAGAIN;
	look_found(ep, w, c->message);
	claim_free(ep, c);
	return 0;
}

static int claim_receive(
	struct endpoint *ep, const struct wanted *w, struct claim *c)
{
	struct arrival a;
	unexpected_arrival(c->message, &a);
	int r = receive_claimed(ep, w, &a);
	if (r == 0)
		claim_free(ep, c);
	return r;
}

ssize_t unexpected_look(struct endpoint *ep, const struct wanted *w)
{
	struct claim *c = NULL;
	if (w->flags & ~LOOK_FLAGS)
		return -FI_EINVAL;
	if (!(w->flags & FI_PEEK)) {
		c = w->flags & FI_CLAIM ? claim_find(ep, w->context) : NULL;
		if (!c)
			return -FI_EINVAL;
		if (!(w->flags & FI_DISCARD))
			return claim_receive(ep, w, c);
	}
	int r = ep->rx_cq ? cq_reserve(ep->rx_cq) : 0;
	if (r)
		return r;
	r = c ? claim_discard(ep, w, c) : peek(ep, w);
	if (r && ep->rx_cq)
		cq_unreserve(ep->rx_cq);
	return r;
}

/* ---- the end ---- */

static void free_held(struct endpoint *ep, struct matcher *m)
{
	list_for_each_safe (link, after, &m->messages)
		unexpected_drop(ep, m, list_of(link, struct unexpected, all));
}

void unexpected_free_all(struct endpoint *ep)
{
	free_held(ep, &ep->tagged);
	free_held(ep, &ep->untagged);
	list_for_each_safe (link, after, &ep->claimed)
		claim_free(ep, list_of(link, struct claim, link));
}
