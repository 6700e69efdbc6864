/* SPDX-License-Identifier: BSD-2-Clause */
/* See peer.h. Everything here but peer_from() is off the hot path. */
#include "provider/endpoint/peer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "provider/endpoint/endpoint.h"
#include "provider/message/fetch.h"
#include "provider/message/receive.h"
#include "provider/rma/key_table.h"
#include "provider/wire.h"

static struct peer *peer_new(struct endpoint *ep, const struct address *a)
{
	struct peer *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->ep = ep;
	p->address = *a;
	p->fi_addr = FI_ADDR_NOTAVAIL;
	list_init(&p->ops);
	list_init(&p->halt_link);
	list_append(&ep->peers, &p->link);
	ep->strangers++;
	return p;
}

static void peer_unresolve(struct peer *p)
{
	if (p->ep->by_vpid[p->vpid] == p)
		p->ep->by_vpid[p->vpid] = NULL;
	cay_peer_release(p->port);
	p->port = NULL;
	p->state = PEER_UNKNOWN;
}

static void peer_free(struct peer *p)
{
	if (p->fi_addr == FI_ADDR_NOTAVAIL)
		p->ep->strangers--;
	peer_unresolve(p);
	list_remove(&p->link);
	list_remove(&p->halt_link);
	key_cache_free(p);
	free(p);
}

void peers_free(struct endpoint *ep)
{
	list_for_each_safe (link, after, &ep->peers)
		peer_free(list_of(link, struct peer, link));
	free(ep->by_index);
	free(ep->by_vpid);
}

/* ---- by index ---- */

static int index_grow(struct endpoint *ep, size_t want)
{
	size_t room = (size_t)1 << bits_log2_up(want < 64 ? 64 : want);
	struct peer **table = realloc(ep->by_index, room * sizeof(*table));
	if (!table)
		return -FI_ENOMEM;
	memset(table + ep->index_room, 0,
		(room - ep->index_room) * sizeof(*table));
	ep->by_index = table;
	ep->index_room = room;
	return 0;
}

static int index_set(struct endpoint *ep, fi_addr_t at, struct peer *p)
{
	if (at >= ep->index_room) {
		int r = index_grow(ep, at + 1);
		if (r)
			return r;
	}
	ep->by_index[at] = p;
	return 0;
}

/* A stranger has got a place in the address vector. */
static int peer_place(struct peer *p, fi_addr_t at)
{
	int r = index_set(p->ep, at, p);
	if (r)
		return r;
	p->fi_addr = at;
	p->ep->strangers--;
	matcher_known(&p->ep->tagged, p, at);
	matcher_known(&p->ep->untagged, p, at);
	return 0;
}

/* The peer of an index, made if there is none; at stands for its like. */
static int peer_at(struct endpoint *ep, fi_addr_t at, struct peer **out)
{
	fi_addr_t first = av_first(ep->av, at);
	struct peer *p = first < ep->index_room ? ep->by_index[first] : NULL;
	int r = 0;
	if (!p) {
		p = peer_new(ep, &ep->av->entries[first].address);
		if (!p)
			return -FI_ENOMEM;
		r = peer_place(p, first);
		if (r)
			peer_free(p);
	}
	if (r == 0 && at != first)
		r = index_set(ep, at, p);
	*out = p;
	return r;
}

void peer_inserted(struct endpoint *ep, fi_addr_t at)
{
	const struct av_entry *e = &ep->av->entries[at];
	if (!ep->strangers || e->first != at)
		return;
	list_for_each (link, &ep->peers) {
		struct peer *p = list_of(link, struct peer, link);
		if (p->fi_addr != FI_ADDR_NOTAVAIL ||
			strcmp(p->address.name, e->address.name) != 0)
			continue;
		/* Without memory it stays a stranger. */
		if (peer_place(p, at))
			LOG_WARN(AV, "no memory: %s stays unknown\n",
				p->address.name);
		return;
	}
}

/* Nobody needs what we know of it any more. */
static bool peer_idle(const struct peer *p)
{
	return list_empty(&p->ops) && p->posts == 0 && p->held == 0 &&
	       p->awaited == 0;
}

void peer_settle(struct peer *p)
{
	if (!p->port && p->state == PEER_GONE &&
		p->fi_addr == FI_ADDR_NOTAVAIL && peer_idle(p))
		peer_free(p);
}

/* It is nobody's source any more; its index may become another's. */
static void peer_displace(struct peer *p)
{
	p->ep->by_index[p->fi_addr] = NULL;
	p->fi_addr = FI_ADDR_NOTAVAIL;
	p->ep->strangers++;
	matcher_known(&p->ep->tagged, p, FI_ADDR_NOTAVAIL);
	matcher_known(&p->ep->untagged, p, FI_ADDR_NOTAVAIL);
}

void peer_removed(struct endpoint *ep, fi_addr_t at)
{
	fi_addr_t first = av_first(ep->av, at);
	struct peer *p = first < ep->index_room ? ep->by_index[first] : NULL;
	if (at != first && at < ep->index_room)
		ep->by_index[at] = NULL;
	/* The first one stays for the sake of the others: see av.c. */
	if (!p || ep->av->entries[first].users > 1)
		return;
	peer_displace(p);
	if (!p->port && peer_idle(p))
		peer_free(p);
}

/* ---- resolving ---- */

/* It may not be up yet; it is given some time for that. */
static int peer_absent(struct peer *p)
{
	uint64_t now = clock_now_ns();
	if (!p->first_try_ns)
		p->first_try_ns = now;
	uint64_t patience = settings.connect_ms * CLOCK_NS_PER_MS;
	if (p->seen || now - p->first_try_ns >= patience)
		return -FI_EHOSTUNREACH;
	return -FI_EAGAIN;
}

/* What comes from this port is from it, and from no other. */
static void peer_number(struct peer *p, uint16_t vpid)
{
	if (p->ep->by_vpid[p->vpid] == p)
		p->ep->by_vpid[p->vpid] = NULL;
	p->vpid = vpid;
	p->ep->by_vpid[vpid] = p;
}

static void peer_resolved(struct peer *p, struct cay_peer *port)
{
	p->port = port;
	peer_number(p, cay_peer_addr(port).vpid);
	p->seen = true;
	p->first_try_ns = 0;
	p->state = PEER_UNKNOWN;
}

static int peer_resolve(struct peer *p)
{
	struct cay_peer *port;
	int r = cay_peer_lookup(p->ep->port, p->address.name, 0, &port);
	if (r == -ENXIO)
		return peer_absent(p);
	if (r)
		return provider_error(r);
	peer_resolved(p, port);
	return 0;
}

static int peer_greet(struct peer *p)
{
	struct endpoint *ep = p->ep;
	struct wire_greeting g = { .card = ep->address.card };
	memcpy(g.name, ep->address.name, sizeof(g.name));
	int r = cay_send_tagged(
		ep->port, p->port, 0, WIRE_GREETING, &g, sizeof(g), 0);
	if (r)
		return provider_error(r);
	p->state = PEER_READY;
	LOG_INFO(EP_CTRL, "%s: path %d, port %u\n", p->address.name,
		(int)cay_peer_path(p->port), p->vpid);
	return 0;
}

int peer_get(struct endpoint *ep, fi_addr_t at, struct peer **out)
{
	struct peer *p = NULL;
	if (!ep->port)
		return -FI_EOPBADSTATE;
	if (!av_has(ep->av, at))
		return -FI_EINVAL;
	int r = peer_at(ep, at, &p);
	if (r == 0 && !p->port)
		r = peer_resolve(p);
	if (r == 0 && p->state != PEER_READY)
		r = peer_greet(p);
	*out = p;
	return r;
}

void peer_watch(struct endpoint *ep, fi_addr_t at)
{
	struct peer *p = NULL;
	/* Not there is as good as not yet there. */
	if (peer_at(ep, at, &p) == 0 && !p->port && p->state != PEER_GONE)
		peer_resolve(p);
}

struct peer *peer_from(struct endpoint *ep, uint16_t vpid)
{
	return ep->by_vpid[vpid];
}

/* ---- greetings ---- */

static bool greeting_read(const void *data, size_t length, struct address *a)
{
	struct wire_greeting g;
	if (length != sizeof(g))
		return false;
	memcpy(&g, data, sizeof(g));
	*a = (struct address){ .card = g.card };
	memcpy(a->name, g.name, sizeof(g.name));
	return strlen(a->name) == ADDRESS_NAME;
}

static struct peer *stranger_find(struct endpoint *ep, const struct address *a)
{
	list_for_each (link, &ep->peers) {
		struct peer *p = list_of(link, struct peer, link);
		if (p->fi_addr == FI_ADDR_NOTAVAIL &&
			strcmp(p->address.name, a->name) == 0)
			return p;
	}
	return NULL;
}

static int peer_of_address(
	struct endpoint *ep, const struct address *a, struct peer **out)
{
	fi_addr_t at = av_find(ep->av, a);
	if (at != FI_ADDR_NOTAVAIL)
		return peer_at(ep, at, out);
	*out = ep->strangers ? stranger_find(ep, a) : NULL;
	if (!*out)
		*out = peer_new(ep, a);
	return *out ? 0 : -FI_ENOMEM;
}

/*
 * Already gone again, and nobody will tell us: we do, behind what it has sent,
 * which is still from it. 0, -FI_ENOMEM.
 */
static int peer_expire(struct peer *p)
{
	struct peer *self;
	p->seen = true;
	int r = peer_of_address(p->ep, &p->ep->address, &self);
	if (r == 0 && !self->port)
		r = peer_resolve(self);
	if (r == 0)
		r = endpoint_post(self, WIRE_GONE, p->vpid, NULL, 0);
	return r == -FI_ENOMEM ? r : 0;
}

/* Who says that he is somebody else must have that name at the node. */
static bool name_is_at(
	struct endpoint *ep, const struct address *a, uint16_t vpid)
{
	struct cay_peer *port;
	if (cay_peer_lookup(ep->port, a->name, 0, &port))
		return false;
	bool there = cay_peer_addr(port).vpid == vpid;
	cay_peer_release(port);
	if (!there)
		LOG_WARN(
			EP_CTRL, "port %u says that it is %s\n", vpid, a->name);
	return there;
}

int peer_greeted(struct endpoint *ep, struct cay_addr from, const void *data,
	size_t length)
{
	struct address a;
	struct peer *p = NULL;
	struct cay_peer *port;
	if (!greeting_read(data, length, &a))
		return 0;
	int r = peer_of_address(ep, &a, &p);
	if (r)
		return r;
	/* The same name from another port: it was closed and opened anew. */
	if (p->port && p->vpid != from.vpid) {
		if (!name_is_at(ep, &a, from.vpid))
			return 0;
		peer_gone(ep, p->vpid);
		r = peer_of_address(ep, &a, &p);
		if (r)
			return r;
	}
	p->address.card = a.card;
	peer_number(p, from.vpid);
	if (p->port)
		return 0;
	r = cay_peer_resolve(ep->port, from, &port);
	if (r == 0)
		peer_resolved(p, port);
	else
		r = r == -ENOMEM ? -FI_ENOMEM : peer_expire(p);
	return r;
}

/* ---- death ---- */

static void ops_fail(struct peer *p)
{
	while (!list_empty(&p->ops)) {
		struct op *op = list_of(p->ops.next, struct op, link);
		op->error = FI_EHOSTUNREACH;
		if (op->kind == OP_FETCH)
			fetch_end(op);
		else
			op_end(op);
	}
}

void peer_gone(struct endpoint *ep, uint16_t vpid)
{
	struct peer *p = ep->by_vpid[vpid];
	if (!p)
		return;
	LOG_INFO(EP_CTRL, "%s is gone\n", p->address.name);
	peer_unresolve(p);
	p->state = PEER_GONE;
	p->halted = p->halting = false;
	p->atomics = 0;
	list_remove(&p->halt_link);
	key_cache_free(p);
	endpoint_unpost(p);
	ops_fail(p);
	if (p->fi_addr != FI_ADDR_NOTAVAIL)
		receive_fail_from(ep, p->fi_addr);
	else
		peer_settle(p);
}
