/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers: index, resolution, hello. See peer.h. Not on the fast path. */
#include "provider/endpoint/peer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "provider/endpoint/control.h"
#include "provider/endpoint/endpoint.h"
#include "provider/message/path.h"
#include "provider/rma/key_table.h"
#include "provider/wire.h"

/* A peer that is not up is looked up again after a pause. */
#define PAUSE_NS CLOCK_NS_PER_MS
/* How long an error is kept for the call that it is for. */
#define ERROR_NS (100 * CLOCK_NS_PER_MS)
/* Between two looks at the node. */
#define CHECK_NS (10 * CLOCK_NS_PER_MS)

static struct peer *peer_new(struct endpoint *ep, const struct address *a)
{
	struct peer *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->ep = ep;
	p->address = *a;
	p->fi_addr = FI_ADDR_NOTAVAIL;
	p->until_path = (uint32_t)settings.ultra_messages;
	p->batches = ep->event_batches;
	list_init(&p->ops);
	list_init(&p->xoff_link);
	list_init(&p->contact_link);
	list_append(&ep->peers, &p->link);
	ep->unlisted++;
	return p;
}

void peer_unresolve(struct peer *p)
{
	if (p->ep->by_vpid[p->vpid] == p)
		p->ep->by_vpid[p->vpid] = NULL;
	path_free(p->path_in);
	path_free(p->path_out);
	cay_peer_release(p->port);
	p->port = NULL;
	p->state = PEER_UNKNOWN;
}

static void peer_free(struct peer *p)
{
	if (p->fi_addr == FI_ADDR_NOTAVAIL)
		p->ep->unlisted--;
	peer_unresolve(p);
	list_remove(&p->link);
	list_remove(&p->xoff_link);
	list_remove(&p->contact_link);
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

static bool peer_unused(const struct peer *p)
{
	return list_empty(&p->ops) && p->control_count == 0 &&
	       p->unexpected == 0 && p->posted == 0 &&
	       p->contact == CONTACT_NONE;
}

void peer_free_unused(struct peer *p)
{
	if (!p->port && p->state == PEER_GONE &&
		p->fi_addr == FI_ADDR_NOTAVAIL && peer_unused(p))
		peer_free(p);
}

void peer_free_failed(struct peer *p)
{
	if (!p->port && p->fi_addr == FI_ADDR_NOTAVAIL && peer_unused(p))
		peer_free(p);
}

/* ---- the index by fi_addr_t ---- */

static int index_set(struct endpoint *ep, fi_addr_t at, struct peer *p)
{
	if (at >= ep->index_capacity) {
		size_t n = (size_t)1 << bits_log2_up(at < 64 ? 64 : at + 1);
		struct peer **table = realloc(ep->by_index, n * sizeof(*table));
		if (!table)
			return -FI_ENOMEM;
		memset(table + ep->index_capacity, 0,
			(n - ep->index_capacity) * sizeof(*table));
		ep->by_index = table;
		ep->index_capacity = n;
	}
	ep->by_index[at] = p;
	return 0;
}

/* Gives an unlisted peer its index in the address vector. */
static int peer_list(struct peer *p, fi_addr_t at)
{
	int r = index_set(p->ep, at, p);
	if (r)
		return r;
	p->fi_addr = at;
	p->ep->unlisted--;
	matcher_set_source(&p->ep->tagged, p, at);
	matcher_set_source(&p->ep->untagged, p, at);
	return 0;
}

/* Finds or makes the peer of an index, which may be an alias of another. */
static int peer_at(struct endpoint *ep, fi_addr_t at, struct peer **out)
{
	fi_addr_t first = av_first(ep->av, at);
	struct peer *p = first < ep->index_capacity ? ep->by_index[first]
						    : NULL;
	int r = 0;
	if (!p) {
		p = peer_new(ep, &ep->av->entries[first].address);
		if (!p)
			return -FI_ENOMEM;
		r = peer_list(p, first);
		if (r)
			peer_free(p);
	}
	if (r == 0 && at != first)
		r = index_set(ep, at, p);
	*out = p;
	return r;
}

static struct peer *unlisted_find(struct endpoint *ep, const struct address *a)
{
	if (ep->unlisted == 0)
		return NULL;
	list_for_each (link, &ep->peers) {
		struct peer *p = list_of(link, struct peer, link);
		if (p->fi_addr == FI_ADDR_NOTAVAIL &&
			strcmp(p->address.name, a->name) == 0)
			return p;
	}
	return NULL;
}

int peer_of_address(
	struct endpoint *ep, const struct address *a, struct peer **out)
{
	fi_addr_t at = av_find(ep->av, a);
	if (at != FI_ADDR_NOTAVAIL)
		return peer_at(ep, at, out);
	*out = unlisted_find(ep, a);
	if (!*out)
		*out = peer_new(ep, a);
	return *out ? 0 : -FI_ENOMEM;
}

void peer_inserted(struct endpoint *ep, fi_addr_t at)
{
	const struct av_entry *e = &ep->av->entries[at];
	struct peer *p = e->first == at ? unlisted_find(ep, &e->address) : NULL;
	if (p && peer_list(p, at))
		LOG_WARN(AV, "no memory: the source of %s stays unknown\n",
			p->address.name);
}

void peer_removed(struct endpoint *ep, fi_addr_t at)
{
	fi_addr_t first = av_first(ep->av, at);
	struct peer *p = first < ep->index_capacity ? ep->by_index[first]
						    : NULL;
	if (at != first && at < ep->index_capacity)
		ep->by_index[at] = NULL;
	/* The first index stays while it has aliases: see av_table.c. */
	if (!p || ep->av->entries[first].users > 1)
		return;
	/* The index may be reused for another address. */
	ep->by_index[p->fi_addr] = NULL;
	p->fi_addr = FI_ADDR_NOTAVAIL;
	ep->unlisted++;
	matcher_set_source(&ep->tagged, p, FI_ADDR_NOTAVAIL);
	matcher_set_source(&ep->untagged, p, FI_ADDR_NOTAVAIL);
	if (!p->port && peer_unused(p))
		peer_free(p);
}

/* ---- resolution ---- */

void peer_set_vpid(struct peer *p, uint16_t vpid)
{
	if (p->ep->by_vpid[p->vpid] == p)
		p->ep->by_vpid[p->vpid] = NULL;
	p->vpid = vpid;
	p->ep->by_vpid[vpid] = p;
}

void peer_set_port(struct peer *p, struct cay_peer *port)
{
	p->port = port;
	p->contact_ns = 0;
	peer_set_vpid(p, cay_peer_addr(port).vpid);
	p->seen = true;
	p->first_try_ns = 0;
	p->state = PEER_UNKNOWN;
}

bool peer_heard(const struct peer *p)
{
	return p->ep->by_vpid[p->vpid] == p;
}

/* By the address of its hello, or else by its name. */
static void contact_start(struct peer *p)
{
	struct cay_addr at = cay_port_addr(p->ep->port);
	at.vpid = p->vpid;
	int r = peer_heard(p) ? cay_peer_resolve_start(p->ep->port, at, p)
			      : cay_peer_lookup_start(
					p->ep->port, p->address.name, p);
	if (r == 0) {
		p->contact = CONTACT_STARTED;
	} else if (r != -EAGAIN && r != -ENOMEM) {
		list_remove(&p->contact_link);
		p->contact = CONTACT_NONE;
		p->contact_error = -provider_error(r);
		p->contact_ns = clock_now_ns();
		if (!p->ep->node_lost)
			LOG_WARN(EP_CTRL, "cannot contact %s: %s\n",
				p->address.name,
				cay_call_strerror("cay_peer_lookup_start", r));
		p->ep->node_lost = r == -ENOTCONN;
	}
}

void peer_contact(struct peer *p)
{
	if (p->contact != CONTACT_NONE)
		return;
	p->contact = CONTACT_WANTED;
	p->contact_error = 0;
	retry_enqueue(p->ep, &p->ep->contacts, &p->contact_link);
	contact_start(p);
}

void peer_contacts_retry(struct endpoint *ep)
{
	uint64_t now = clock_now_ns();
	list_for_each_safe (at, after, &ep->contacts) {
		struct peer *p = list_of(at, struct peer, contact_link);
		if (p->contact == CONTACT_WANTED)
			contact_start(p);
	}
	if (now < ep->contact_check_ns)
		return;
	ep->contact_check_ns = now + CHECK_NS;
	/* Ends them if the node has exited. */
	cay_wait(ep->port, 0);
}

/* The end of a contact that a call asks for. */
static int contact_result(struct peer *p)
{
	uint64_t now = clock_now_ns();
	int error = p->contact_error;
	p->contact_error = 0;
	/* The call that the error was for may have given up long ago. */
	if (error && now - p->contact_ns < ERROR_NS)
		return -error;
	p->contact_sends = true;
	if (p->contact == CONTACT_NONE && now - p->contact_ns >= PAUSE_NS)
		peer_contact(p);
	return p->contact_error ? contact_result(p) : -FI_EAGAIN;
}

int peer_error(const struct peer *p, int error)
{
	if (error == -EPIPE)
		LOG_WARN(EP_DATA,
			"%s is gone: its process has exited or "
			"closed the endpoint\n",
			p->address.name);
	return provider_error(error);
}

static int peer_hello(struct peer *p)
{
	struct endpoint *ep = p->ep;
	struct wire_hello h = { .capability = ep->address.capability };
	memcpy(h.name, ep->address.name, sizeof(h.name));
	int r = cay_send_tagged(
		ep->port, p->port, 0, WIRE_HELLO, &h, sizeof(h), 0);
	if (r)
		return peer_error(p, r);
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
		r = contact_result(p);
	if (r == 0 && !(p->state & PEER_READY))
		r = peer_hello(p);
	*out = p;
	return r;
}

void peer_watch(struct endpoint *ep, fi_addr_t at)
{
	struct peer *p = NULL;
	/* A peer that is not up yet is resolved by its hello. */
	if (peer_at(ep, at, &p) == 0 && !p->port && p->state != PEER_GONE &&
		clock_now_ns() - p->contact_ns >= PAUSE_NS)
		peer_contact(p);
}
