/* SPDX-License-Identifier: BSD-2-Clause */
/* The beginning and the end of a peer: hello and death. See peer.h. */
#include <string.h>

#include "provider/endpoint/control.h"
#include "provider/message/fetch.h"
#include "provider/message/receive.h"
#include "provider/rma/key_table.h"
#include "provider/wire.h"

/*
 * Handles a peer that is gone before it could be resolved, so that the device
 * reports no death: a message from the endpoint to itself, queued behind those
 * of the peer, takes the place of the event. Returns 0 or -FI_ENOMEM.
 */
static int peer_expire(struct peer *p)
{
	struct peer *self;
	p->seen = true;
	int r = peer_of_address(p->ep, &p->ep->address, &self);
	if (r == 0 && !self->port)
		r = peer_resolve(self);
	if (r == 0)
		r = control_send(self, WIRE_PEER_GONE, p->vpid, NULL, 0);
	return r == -FI_ENOMEM ? r : 0;
}

/* Asks the node whether a port has the name that its hello claims. */
static bool name_is_at(
	struct endpoint *ep, const struct address *a, uint16_t vpid)
{
	struct cay_peer *port;
	if (cay_peer_lookup(ep->port, a->name, 0, &port))
		return false;
	bool there = cay_peer_addr(port).vpid == vpid;
	cay_peer_release(port);
	if (!there)
		LOG_WARN(EP_CTRL, "port %u claims the name %s of another\n",
			vpid, a->name);
	return there;
}

int peer_hello_received(struct endpoint *ep, struct cay_addr from,
	const void *data, size_t length)
{
	struct wire_hello h;
	struct address a;
	struct peer *p = NULL;
	struct cay_peer *port;
	if (length != sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	a = (struct address){ .capability = h.capability };
	memcpy(a.name, h.name, sizeof(h.name));
	if (strlen(a.name) != ADDRESS_NAME)
		return 0;
	int r = peer_of_address(ep, &a, &p);
	if (r)
		return r;
	/* The same name at another port: the endpoint was reopened. */
	if (p->port && p->vpid != from.vpid) {
		if (!name_is_at(ep, &a, from.vpid))
			return 0;
		peer_gone(ep, p->vpid);
		r = peer_of_address(ep, &a, &p);
		if (r)
			return r;
	}
	p->address.capability = a.capability;
	peer_set_vpid(p, from.vpid);
	if (p->port)
		return 0;
	r = cay_peer_resolve(ep->port, from, &port);
	if (r == 0)
		peer_set_port(p, port);
	else
		r = r == -ENOMEM ? -FI_ENOMEM : peer_expire(p);
	return r;
}

void peer_gone(struct endpoint *ep, uint16_t vpid)
{
	struct peer *p = ep->by_vpid[vpid];
	if (!p)
		return;
	LOG_INFO(EP_CTRL, "%s is gone\n", p->address.name);
	peer_unresolve(p);
	p->state = PEER_GONE;
	p->xoff = 0;
	p->xoff_sent = false;
	p->atomics = 0;
	list_remove(&p->xoff_link);
	key_cache_free(p);
	control_discard(p);
	while (!list_empty(&p->ops)) {
		struct op *op = list_of(p->ops.next, struct op, link);
		op->error = FI_EHOSTUNREACH;
		if (op->kind == OP_FETCH)
			fetch_end(op);
		else
			op_end(op);
	}
	if (p->fi_addr != FI_ADDR_NOTAVAIL)
		receive_fail_from(ep, p->fi_addr);
	else
		peer_free_unused(p);
}
