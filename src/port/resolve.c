/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See resolve.h. Everything that can fail for lack of memory or room happens
 * before the request is sent; the consumer then only fills in the peer. Any
 * thread, under port->lock.
 */
#include "port/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/queue.h"
#include "node/address.h"
#include "node/client.h"
#include "port/lock.h"
#include "port/record.h"
#include "port/resolved.h"

#define RESOLVING_MAX 64 /* under way on one port */

struct resolving {
	struct cay_peer *peer; /* NULL: the entry is free */
	struct context *context;
	struct resolved_leaf *leaf; /* of a name, whose VPID is not known */
	uint32_t number;	    /* of this use of the entry */
	bool aborted;		    /* completed by this process */
};

/* The tag of the request: entry and number. */
static uint64_t resolving_tag(const struct cay_port *port, uint32_t index)
{
	return index | (uint64_t)port->resolving[index].number << 32;
}

/* Under the lock. */
static void resolving_free(struct resolving *q)
{
	free(q->peer);
	free(q->context);
	free(q->leaf);
	*q = (struct resolving){ .number = q->number };
}

/*
 * Under the lock: returns a free entry with its memory, or NULL and *error. The
 * VPID is 0 if only the name is known.
 */
static struct resolving *resolving_new(
	struct cay_port *port, uint16_t vpid, void *data, int *error)
{
	struct resolving *q = NULL;
	*error = -ENOMEM;
	if (!port->resolving)
		port->resolving =
			calloc(RESOLVING_MAX, sizeof(*port->resolving));
	if (!port->resolving || peer_prepare(port) != 0 ||
		resolved_reserve(port, vpid) != 0)
		return NULL;
	for (uint32_t i = 0; !q && i < RESOLVING_MAX; i++)
		if (!port->resolving[i].peer)
			q = &port->resolving[i];
	*error = -EAGAIN;
	if (!q)
		return NULL;
	*q = (struct resolving){ .peer = peer_alloc(port, vpid),
		.context = malloc(sizeof(*q->context)),
		.leaf = vpid ? NULL : calloc(1, sizeof(*q->leaf)),
		.number = q->number + 1 };
	*error = -ENOMEM;
	if (!q->peer || !q->context || !(vpid || q->leaf)) {
		resolving_free(q);
		return NULL;
	}
	q->peer->data = data;
	return q;
}

/* Sends the request, in which the target is filled in. */
static int resolve_start(
	struct cay_port *port, struct node_request *request, void *data)
{
	struct lock_guard guard;
	int r;
	lock_take(&port->lock, &guard);
	struct resolving *q =
		resolving_new(port, request->resolve.target, data, &r);
	if (q && !device_reserve_completion(&port->origin)) {
		resolving_free(q);
		q = NULL;
		r = -EAGAIN;
	}
	if (q) {
		request->kind = NODE_RESOLVE_START;
		request->resolve.vpid = port->origin.vpid;
		request->resolve.tag =
			resolving_tag(port, (uint32_t)(q - port->resolving));
		r = client_post(port->member->socket, request);
		if (r) {
			device_completions_returned(&port->origin, 1);
			resolving_free(q);
		} else {
			port->resolving_count++;
		}
	}
	lock_drop(&port->lock, &guard);
	return r;
}

int cay_peer_resolve_start(
	struct cay_port *port, struct cay_addr addr, void *data)
{
	struct node_request request = { 0 };
	if (!port_usable(port))
		return port_error(port);
	request.resolve.target = addr.vpid;
	request.resolve.node = addr.node;
	return resolve_start(port, &request, data);
}

int cay_peer_lookup_start(struct cay_port *port, const char *name, void *data)
{
	struct node_request request = { 0 };
	if (!port_usable(port))
		return port_error(port);
	if (!name || !node_name_valid(name))
		return -EINVAL;
	memcpy(request.resolve.name, name, strlen(name) + 1);
	return resolve_start(port, &request, data);
}

/* Under the lock: fills in the peer. Returns an error code. */
static enum cay_error resolving_end(struct cay_port *port, struct resolving *q,
	const struct cay_nqe *n, uint16_t vpid)
{
	uint64_t index = n->word[CAY_NQE_WORD_PREVIOUS];
	uint64_t epoch = n->word[CAY_NQE_WORD_RESULT];
	/*
	 * The entry is in memory that members of the realm can write. A name
	 * has a VPID only now.
	 */
	if (q->leaf)
		q->peer->vpid = vpid;
	if (index >= port->origin.peer_count || epoch > UINT32_MAX ||
		port->origin.routes[index] ||
		context_load(&port->member->arena, q->peer->vpid,
			(uint32_t)epoch, q->context) != 0)
		return CAY_ERROR_ROUTE;
	q->peer->index = (uint32_t)index;
	atomic_init(&q->peer->context, q->context);
	if (q->leaf)
		resolved_provide(port, q->peer->vpid, &q->leaf);
	/* There is room. */
	resolved_add(port, q->peer);
	port->origin.routes[index] = &q->peer->context;
	return CAY_ERROR_NONE;
}

int resolve_event(
	struct cay_port *port, const struct cay_nqe *n, struct cay_event *e)
{
	uint64_t tag = n->word[CAY_NQE_WORD_TAG];
	uint32_t index = (uint32_t)tag;
	struct lock_guard guard;
	int r = 0;
	lock_take(&port->lock, &guard);
	struct resolving *q = port->resolving && index < RESOLVING_MAX
				      ? &port->resolving[index]
				      : NULL;
	if (q && q->peer && tag == resolving_tag(port, index)) {
		e->kind = CAY_EVENT_RESOLVED;
		e->tag = (uint64_t)(uintptr_t)q->peer->data;
		e->handle = NULL;
		e->result = e->previous = 0;
		if (!e->error)
			e->error = (int)resolving_end(port, q, n, e->peer.vpid);
		e->peer.vpid = q->peer->vpid;
		if (!e->error) {
			e->handle = q->peer;
			q->peer = NULL;
			q->context = NULL;
		}
		resolving_free(q);
		port->resolving_count--;
		r = 1;
	}
	lock_drop(&port->lock, &guard);
	return r;
}

bool resolve_pending(const struct cay_port *port)
{
	/* Relaxed: a hint; the completion itself wakes the consumer. */
	return atomic_load_explicit(
		       &port->resolving_count, memory_order_relaxed) != 0;
}

void resolve_abort(struct cay_port *port)
{
	struct lock_guard guard;
	if (member_node_alive(port->member))
		return;
	/* A completion that the node wrote before it exited comes first. */
	const struct consumer *rx = &port->consumer;
	struct op_record *op = record_of(port->member);
	if (queue_nq(device_written(rx->own)) != rx->next || !op)
		return;
	lock_take(&port->lock, &guard);
	for (uint32_t i = 0; port->resolving && i < RESOLVING_MAX; i++) {
		struct resolving *q = &port->resolving[i];
		if (!q->peer || q->aborted)
			continue;
		q->aborted = true;
		device_complete_own(&port->origin, op,
			&(struct completion){ .tag = resolving_tag(port, i),
				.command = CAY_RESOLVE,
				.error = CAY_ERROR_UNREACHABLE,
				.peer_node = port->origin.node,
				.peer_vpid = q->peer->vpid });
	}
	lock_drop(&port->lock, &guard);
}

void resolve_free(struct cay_port *port)
{
	for (uint32_t i = 0; port->resolving && i < RESOLVING_MAX; i++)
		resolving_free(&port->resolving[i]);
	free(port->resolving);
}
