/* SPDX-License-Identifier: BSD-2-Clause */
/* Resolving peers; see cay_peer(3). Any thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "node/address.h"
#include "port/lock.h"
#include "port/resolved.h"

static void peer_release_at_node(struct cay_port *port, uint32_t index)
{
	struct node_request request = { .kind = NODE_RELEASE };
	request.release.vpid = port->origin.vpid;
	request.release.index = index;
	control_tell(port->member, &request);
}

struct cay_peer *peer_alloc(struct cay_port *port, uint16_t vpid)
{
	struct cay_peer *peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->port = port;
	peer->vpid = vpid;
	peer->path = CAY_PATH_DIRECT;
	atomic_init(&peer->users, 1);
	list_init(&peer->link);
	return peer;
}

/* The device finds the context of a VCI's target in the routes. */
int peer_prepare(struct cay_port *port)
{
	if (!port->origin.routes)
		port->origin.routes = calloc(
			port->origin.peer_count, sizeof(*port->origin.routes));
	return port->origin.routes ? 0 : -ENOMEM;
}

/* Creates the peer that the node has resolved, and its route. */
static int peer_new(struct cay_port *port, const struct node_reply *reply,
	struct cay_peer **out)
{
	struct cay_peer *peer = peer_alloc(port, reply->resolve.vpid);
	struct context *context = malloc(sizeof(*context));
	struct lock_guard guard;
	int r = -ENOMEM;
	if (!peer || !context)
		goto err;
	peer->index = reply->resolve.index;
	peer->path = reply->resolve.path;
	r = context_load(&port->member->arena, peer->vpid, reply->resolve.epoch,
		context);
	if (r)
		goto err;
	atomic_init(&peer->context, context);
	lock_take(&port->lock, &guard);
	r = peer_prepare(port);
	if (r == 0 && peer->index >= port->origin.peer_count)
		r = -EPROTO;
	if (r == 0)
		r = resolved_add(port, peer);
	if (r == 0)
		port->origin.routes[peer->index] = &peer->context;
	lock_drop(&port->lock, &guard);
	if (r)
		goto err;
	*out = peer;
	return 0;
err:
	free(context);
	free(peer);
	peer_release_at_node(port, reply->resolve.index);
	return r == -EPIPE ? -ENXIO : r;
}

static int peer_request(struct cay_port *port, struct node_request *request,
	uint64_t deadline, struct cay_peer **out)
{
	struct node_reply reply;
	if (!port_usable(port))
		return port_error(port);
	if (!out)
		return -EFAULT;
	request->kind = NODE_RESOLVE;
	request->resolve.vpid = port->origin.vpid;
	int r = control_call_until(port->member, request, &reply, NULL,
		control_reply_deadline(deadline));
	return r ? r : peer_new(port, &reply, out);
}

int cay_peer_resolve(
	struct cay_port *port, struct cay_addr addr, struct cay_peer **out)
{
	struct node_request request = { 0 };
	request.resolve.node = addr.node;
	request.resolve.target = addr.vpid;
	return peer_request(port, &request, 0, out);
}

int cay_peer_lookup(struct cay_port *port, const char *name, uint64_t deadline,
	struct cay_peer **out)
{
	struct node_request request = { 0 };
	if (!name || !node_name_valid(name))
		return -EINVAL;
	memcpy(request.resolve.name, name, strlen(name) + 1);
	for (uint64_t nap = 50 * CLOCK_NS_PER_US;;
		nap = bits_min(2 * nap, 10 * CLOCK_NS_PER_MS)) {
		int r = peer_request(port, &request, deadline, out);
		if ((r != -ENXIO && r != -ETIMEDOUT) || deadline == 0)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		clock_nap_ns(nap);
	}
}

enum cay_path cay_peer_path(const struct cay_peer *peer)
{
	return peer ? (enum cay_path)peer->path : CAY_PATH_NONE;
}

struct cay_addr cay_peer_addr(const struct cay_peer *peer)
{
	return peer ? (struct cay_addr){ peer->port->origin.node, peer->vpid }
		    : (struct cay_addr){ 0 };
}

uint32_t cay_peer_route(const struct cay_peer *peer)
{
	return peer ? peer->index : 0;
}

const char *cay_peer_bulk(const struct cay_peer *peer)
{
	static const char *const names[] = { [BULK_UNKNOWN] = "unknown",
		[BULK_PROCESS] = "process",
		[BULK_STAGED] = "staged" };
	return names[peer ? atomic_load_explicit(
				    &peer->bulk, memory_order_relaxed)
			  : BULK_UNKNOWN];
}

void cay_peer_set_data(struct cay_peer *peer, void *data)
{
	if (peer)
		peer->data = data;
}

void *cay_peer_data(const struct cay_peer *peer)
{
	return peer ? peer->data : NULL;
}

void peer_put(struct cay_peer *peer)
{
	/* acq_rel: the last user frees the peer after all others are done. */
	if (atomic_fetch_sub_explicit(&peer->users, 1, memory_order_acq_rel) !=
		1)
		return;
	context_free(peer->context);
	free(peer);
}

void cay_peer_release(struct cay_peer *peer)
{
	if (!peer)
		return;
	struct cay_port *port = peer->port;
	if (port_valid(port)) {
		struct lock_guard guard;
		lock_take(&port->lock, &guard);
		port->origin.routes[peer->index] = NULL;
		resolved_remove(port, peer);
		list_remove(&peer->link);
		lock_drop(&port->lock, &guard);
		peer_release_at_node(port, peer->index);
	}
	peer_put(peer);
}
