/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cay_reply(): sends to the peer of an event; see cay_send(3). The consuming
 * thread. A sender that the application has not resolved is resolved here; the
 * port owns that peer until its CAY_EVENT_GONE is released.
 *
 * A reply does not reach a later port with the VPID of the sender: the node
 * does not reuse the VPID while the entry of the event is not returned
 * (node/vpid.c), so a request to resolve it finds the sender or no port.
 */
#include <errno.h>

#include "port/lock.h"
#include "port/resolved.h"

/* Returns a peer of port->replied whose GONE is released, or NULL. */
static struct cay_peer *reply_unused(struct cay_port *port)
{
	struct cay_peer *found = NULL;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	list_for_each (at, &port->replied) {
		struct cay_peer *peer = list_of(at, struct cay_peer, link);
		if (peer->unused) {
			found = peer;
			list_remove(&peer->link);
			break;
		}
	}
	lock_drop(&port->lock, &guard);
	return found;
}

/* Resolves the sender of an event; another thread may have done so. */
__attribute__((cold, noinline)) static int reply_resolve(
	struct cay_port *port, struct cay_addr addr)
{
	struct cay_peer *peer, *unused;
	while ((unused = reply_unused(port)))
		cay_peer_release(unused);
	int r = cay_peer_resolve(port, addr, &peer);
	/* No port has the VPID, or one in another realm has it. */
	if (r == -ENXIO || (r == -EACCES && port_valid(port)))
		return -EPIPE;
	if (r)
		return r;
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	bool first = resolved_find(port, addr.vpid) == peer;
	if (first)
		list_append(&port->replied, &peer->link);
	lock_drop(&port->lock, &guard);
	if (!first)
		cay_peer_release(peer);
	return 0;
}

/* Several consuming threads: another one may release the GONE of the peer. */
static int reply_shared(struct cay_port *port, const struct cay_event *e,
	uint64_t tag, const void *data, size_t length, unsigned flags)
{
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	struct cay_peer *peer = resolved_find(port, e->peer.vpid);
	if (peer)
		atomic_fetch_add_explicit(
			&peer->users, 1, memory_order_relaxed);
	lock_drop(&port->lock, &guard);
	if (!peer)
		return -EPIPE;
	int r = cay_send(port, peer, tag, data, length, flags);
	peer_put(peer);
	return r;
}

int cay_reply(struct cay_port *port, const struct cay_event *e, uint64_t tag,
	const void *data, size_t length, unsigned flags)
{
	if (unlikely(!port_usable(port)))
		return port_error(port);
	if (unlikely(!e || e->kind == CAY_EVENT_NONE ||
		     e->kind == CAY_EVENT_STATUS))
		return -EINVAL;
	if (unlikely(e->kind == CAY_EVENT_GONE))
		return -EPIPE;
	if (unlikely(!resolved_find(port, e->peer.vpid))) {
		int r = reply_resolve(port, e->peer);
		if (r)
			return r;
	}
	if (unlikely(port->flags & CAY_PORT_SHARED))
		return reply_shared(port, e, tag, data, length, flags);
	struct cay_peer *peer = resolved_find(port, e->peer.vpid);
	return peer ? cay_send(port, peer, tag, data, length, flags) : -EPIPE;
}
