/* SPDX-License-Identifier: BSD-2-Clause */
/* The beginning and the end of a peer: hello and death. See peer.h. */
#include <string.h>

#include "base/clock.h"
#include "provider/endpoint/control.h"
#include "provider/message/fetch.h"
#include "provider/message/path.h"
#include "provider/message/receive.h"
#include "provider/rma/key_table.h"
#include "provider/wire.h"

/*
 * Asks the node whether a port has the name that its hello claims. Returns 1,
 * 0, or -FI_EAGAIN: the node does not reply.
 */
static int name_is_at(
	struct endpoint *ep, const struct address *a, uint16_t vpid)
{
	struct cay_peer *port;
	int r = cay_peer_lookup(ep->port, a->name, 0, &port);
	if (r)
		return r == -ETIMEDOUT ? -FI_EAGAIN : 0;
	bool there = cay_peer_addr(port).vpid == vpid;
	cay_peer_release(port);
	if (!there)
		LOG_WARN(EP_CTRL, "port %u claims the name %s of another\n",
			vpid, a->name);
	return there;
}

/* No port has the name. Its owner may still start, or has exited. */
static void peer_absent(struct peer *p)
{
	if (!p->first_try_ns)
		p->first_try_ns = p->contact_ns;
	uint64_t ms = (p->contact_ns - p->first_try_ns) / CLOCK_NS_PER_MS;
	if (!p->contact_sends || (!p->seen && ms < settings.connect_ms))
		return;
	p->contact_error = FI_EHOSTUNREACH;
	LOG_WARN(EP_CTRL, "%s: no endpoint has this address: its process %s\n",
		p->address.name,
		p->seen ? "has exited or closed it"
			: "has exited, or needs longer than FI_CAY_CONNECT_MS "
			  "to start");
}

void peer_resolved(struct endpoint *ep, const struct cay_event *e)
{
	struct peer *p = (struct peer *)(uintptr_t)e->tag;
	list_remove(&p->contact_link);
	p->contact = CONTACT_NONE;
	p->contact_ns = clock_now_ns();
	if (e->error == 0) {
		/* The endpoint may have been reopened: which sent the hello? */
		if (peer_heard(p) && p->vpid != e->peer.vpid) {
			cay_peer_release(e->handle);
			peer_contact(p);
			return;
		}
		peer_set_port(p, e->handle);
	} else if (peer_heard(p)) {
		/* In the place of its CAY_EVENT_GONE: its last messages came.
		 */
		p->seen = true;
		peer_gone(ep, p->vpid);
		return;
	} else if (e->error == CAY_ERROR_TARGET_VPID) {
		peer_absent(p);
	} else {
		p->contact_error = provider_device_error(e->error);
		LOG_WARN(EP_CTRL, "cannot contact %s: %s; see cay(7)\n",
			p->address.name, cay_error_text(e->error));
	}
	p->contact_sends = false;
	peer_free_failed(p);
}

int peer_hello_received(struct endpoint *ep, struct cay_addr from,
	const void *data, size_t length)
{
	struct wire_hello h;
	struct address a;
	struct peer *p = NULL;
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
		r = name_is_at(ep, &a, from.vpid);
		if (r <= 0)
			return r;
		r = path_drain(ep, p);
		if (r)
			return r;
		peer_gone(ep, p->vpid);
		r = peer_of_address(ep, &a, &p);
		if (r)
			return r;
	}
	/* It begins anew: the hello follows its messages on the path. */
	r = path_drain(ep, p);
	if (r)
		return r;
	path_free(p->path_in);
	p->address.capability = a.capability;
	peer_set_vpid(p, from.vpid);
	if (!p->port)
		peer_contact(p);
	return 0;
}

void peer_damaged(struct peer *p)
{
	LOG_WARN(EP_DATA,
		"%s has written nonsense into an ULTRA path: its process is "
		"faulty; it counts as gone\n",
		p->address.name);
	peer_gone(p->ep, p->vpid);
}

void peer_gone(struct endpoint *ep, uint16_t vpid)
{
	struct peer *p = ep->by_vpid[vpid];
	if (!p)
		return;
	if (list_empty(&p->ops) && p->posted == 0)
		LOG_INFO(EP_CTRL, "%s is gone\n", p->address.name);
	else
		LOG_WARN(EP_CTRL,
			"%s is gone: its process has exited or closed the "
			"endpoint; operations to it and receives from it "
			"fail\n",
			p->address.name);
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
