/* SPDX-License-Identifier: BSD-2-Clause */
/* Unexpected messages and their flow control. See unexpected.h. */
#include "provider/message/unexpected.h"

#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/control.h"

/* ---- flow control ---- */

/* Returns true if a posted receive could match a message of the peer. */
static bool peer_awaited(const struct endpoint *ep, const struct peer *p)
{
	return ep->posted_any || p->posted;
}

static void xoff_send(struct endpoint *ep, struct peer *from)
{
	if (from->xoff_sent || from->state == PEER_GONE ||
		peer_awaited(ep, from))
		return;
	/* Without memory the next message of that peer tries again. */
	if (control_send(from, WIRE_XOFF, 0, NULL, 0))
		return;
	from->xoff_sent = true;
	list_append(&ep->xoff_peers, &from->xoff_link);
	LOG_INFO(EP_DATA, "%zu unexpected bytes held: XOFF to %s\n",
		ep->unexpected_bytes, from->address.name);
}

static void xon_send(struct endpoint *ep, bool all)
{
	list_for_each_safe (link, after, &ep->xoff_peers) {
		struct peer *p = list_of(link, struct peer, xoff_link);
		if (!all && !peer_awaited(ep, p))
			continue;
		if (control_send(p, WIRE_XON, 0, NULL, 0))
			return;
		p->xoff_sent = false;
		list_remove(&p->xoff_link);
	}
}

void unexpected_xon(struct endpoint *ep)
{
	xon_send(ep, false);
}

/* ---- messages ---- */

static size_t memory_of(const struct unexpected *u)
{
	return sizeof(*u) + (u->rendezvous ? 0 : u->length);
}

int unexpected_hold(
	struct endpoint *ep, struct matcher *matcher, const struct incoming *m)
{
	struct unexpected *u = malloc(sizeof(*u) + (m->bytes ? m->length : 0));
	if (!u)
		return -FI_ENOMEM;
	*u = (struct unexpected){ .from = m->from,
		.source = m->from->fi_addr,
		.tag = m->tag,
		.head = m->head,
		.data = m->data,
		.id = m->id,
		.rendezvous = !m->bytes,
		.key = m->key,
		.address = m->address,
		.length = m->length };
	if (m->bytes)
		memcpy(u->bytes, m->bytes, m->length);
	matcher_hold(matcher, u);
	ep->unexpected_bytes += memory_of(u);
	u->from->unexpected++;
	if (unlikely(ep->unexpected_bytes > settings.unexpected_bytes))
		xoff_send(ep, u->from);
	return 0;
}

void unexpected_incoming(const struct unexpected *u, struct incoming *m)
{
	*m = (struct incoming){ .from = u->from,
		.head = u->head,
		.tag = u->tag,
		.data = u->data,
		.id = u->id,
		.length = u->length,
		.bytes = u->rendezvous ? NULL : u->bytes,
		.key = u->key,
		.address = u->address };
}

void unexpected_free_claimed(struct endpoint *ep, struct unexpected *u)
{
	ep->unexpected_bytes -= memory_of(u);
	u->from->unexpected--;
	peer_free_unused(u->from);
	if (unlikely(!list_empty(&ep->xoff_peers)) &&
		ep->unexpected_bytes <= settings.unexpected_bytes / 2)
		xon_send(ep, true);
	free(u);
}

void unexpected_free(
	struct endpoint *ep, struct matcher *m, struct unexpected *u)
{
	matcher_release(m, u);
	unexpected_free_claimed(ep, u);
}

void unexpected_free_all(struct endpoint *ep)
{
	list_for_each_safe (link, after, &ep->tagged.messages)
		unexpected_free(
			ep, &ep->tagged, list_of(link, struct unexpected, all));
	list_for_each_safe (link, after, &ep->untagged.messages)
		unexpected_free(ep, &ep->untagged,
			list_of(link, struct unexpected, all));
}
