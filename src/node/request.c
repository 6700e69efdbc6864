/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See request.h. recvmsg() copies a request; the copy is checked and then used.
 * A process may name only its own ports, records and memory.
 */
#include "node/request.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bits.h"
#include "node/address.h"
#include "node/doorbell.h"
#include "node/wire.h"

/* The arguments of a handler. */
struct call {
	struct process *process;
	const struct node_request *request;
	struct node_reply *reply;
	int *fd_out; /* still owned by the node unless close_out */
	bool close_out;
};

static bool terminated(const char *text)
{
	return memchr(text, 0, NODE_NAME_MAX) != NULL;
}

static int request_hello(struct call *c)
{
	const struct node_request *q = c->request;
	struct process *p = c->process;
	struct realm *realm;

	if (q->hello.magic != NODE_MAGIC)
		return -EPROTO;
	if (q->hello.major != NODE_MAJOR)
		return -EPROTONOSUPPORT;
	if (p->state != PROCESS_CONNECTED || !terminated(q->hello.realm) ||
		!node_name_valid(q->hello.realm))
		return -EPROTO;
	int r = realm_find(p->node, q->hello.realm, &realm);
	if (r)
		return r;
	r = process_hello(p, realm, q->hello.flags);
	if (r) {
		realm_end_if_empty(realm);
		return r;
	}
	c->reply->hello.arena_bytes = realm->arena.mapped_bytes;
	c->reply->hello.records = p->record_pages[0];
	c->reply->hello.node = p->node->id;
	c->reply->hello.block_bytes_max = block_bytes_max(p);
	*c->fd_out = realm->fd;
	return 0;
}

static int request_leave(struct call *c)
{
	process_leave(c->process);
	return 0;
}

static int request_open(struct call *c)
{
	struct vport *port;
	int r = vport_open(c->process, c->request, &port);
	if (r)
		return r;
	c->reply->open.vpid = port->config.vpid;
	c->reply->open.epoch = port->epoch;
	return 0;
}

static struct vport *own_port(struct call *c, uint16_t vpid)
{
	return vport_find(c->process->node, c->process, vpid);
}

/* Returns a port that its owner has not closed; it may be disabled. */
static struct vport *closable_port(struct call *c, uint16_t vpid)
{
	struct vport *port = c->process->node->ports[vpid];
	bool open = port && port->process == c->process &&
		    (port->state == VPORT_OPEN || port->disabled);
	return open ? port : NULL;
}

static int request_close(struct call *c)
{
	struct vport *port = closable_port(c, c->request->close.vpid);
	if (!port)
		return -ENXIO;
	port->disabled = false;
	vport_close(port);
	vport_reclaim_soon(port);
	return 0;
}

static int request_references(struct call *c)
{
	struct vport *port = own_port(c, c->request->close.vpid);
	if (!port)
		return -ENXIO;
	if (!list_empty(&port->origin_link))
		return 0;
	list_append(&port->realm->reference_origins, &port->origin_link);
	list_append(
		&port->process->reference_origins, &port->process_origin_link);
	port->process->origin_count++;
	return 0;
}

/* Enters a target into the peer table of a port of the caller. */
static int request_resolve(struct call *c)
{
	const struct node_request *q = c->request;
	struct node *n = c->process->node;
	struct vport *port = own_port(c, q->resolve.vpid);
	struct vport *target = n->ports[q->resolve.target];
	if (!port)
		return -ENXIO;
	if (!terminated(q->resolve.name))
		return -EPROTO;
	if (*q->resolve.name)
		target = vport_by_name(n, port->realm, q->resolve.name);
	else if (q->resolve.node != n->id)
		return -EHOSTUNREACH;
	if (!target || target->state != VPORT_OPEN)
		return -ENXIO;
	if (target->realm != port->realm) {
		watch_forbid(port, q->resolve.target);
		return -EACCES;
	}
	int r = watch_add(port, target, &c->reply->resolve.index);
	if (r)
		return r;
	r = watch_add_reverse(target, port);
	if (r) {
		watch_remove(port, c->reply->resolve.index);
		return r;
	}
	c->reply->resolve.epoch = target->epoch;
	c->reply->resolve.vpid = target->config.vpid;
	c->reply->resolve.path = PATH_DIRECT;
	return 0;
}

/* Returns the error code of an event for the result of request_resolve(). */
static enum cay_error resolve_error(int r)
{
	switch (r) {
	case 0:
		return CAY_ERROR_NONE;
	case -ENXIO:
		return CAY_ERROR_TARGET_VPID;
	case -EHOSTUNREACH:
		return CAY_ERROR_UNREACHABLE;
	case -EACCES:
		return CAY_ERROR_REALM;
	default:
		return CAY_ERROR_NO_RESOURCES;
	}
}

/* The process has reserved an entry of its queue for the completion. */
static int request_resolve_start(struct call *c)
{
	const struct node_request *q = c->request;
	struct vport *port = own_port(c, q->resolve.vpid);
	struct context to;
	if (!port)
		return 0; /* closed meanwhile */
	int r = request_resolve(c);
	if (r == -EPROTO)
		return r;
	struct completion done = { .tag = q->resolve.tag,
		.command = CAY_RESOLVE,
		.error = (uint8_t)resolve_error(r),
		.peer_node = port->realm->node->id,
		.peer_vpid = r ? q->resolve.target : c->reply->resolve.vpid,
		.result = c->reply->resolve.epoch,
		.previous = c->reply->resolve.index };
	int e = vport_context(port, port->epoch, &to);
	if (e == 0)
		e = node_device_complete(&to, port->realm->op, &done, 0);
	/* Without the reservation there may be no entry. */
	if (e && r == 0)
		watch_remove(port, c->reply->resolve.index);
	return 0;
}

static int request_release(struct call *c)
{
	struct vport *port = own_port(c, c->request->release.vpid);
	return port ? watch_remove(port, c->request->release.index) : -ENXIO;
}

static int request_alloc(struct call *c)
{
	return block_add(c->process, c->request->alloc.bytes,
		c->request->alloc.huge, &c->reply->alloc.offset);
}

static int request_free(struct call *c)
{
	return block_free(c->process, c->request->free.offset);
}

static int request_records(struct call *c)
{
	return process_records(c->process, &c->reply->alloc.offset);
}

static int request_recover(struct call *c)
{
	const struct process *p = c->process;
	uint64_t offset = c->request->recover.offset;
	for (uint32_t i = 0; i < p->record_page_count; i++)
		if (offset - p->record_pages[i] < ARENA_PAGE &&
			offset % sizeof(struct op_record) == 0)
			return repair_abandoned(c->process,
				(void *)(p->realm->arena.base + offset));
	return -EINVAL;
}

static int request_doorbell_set(struct call *c)
{
	struct vport *port = own_port(c, c->request->doorbell.vpid);
	if (!port)
		return -ENXIO;
	int r = doorbell_make(port, c->fd_out);
	if (r)
		return r;
	c->close_out = true;
	/* In the current set, to which the consumer may not have migrated. */
	struct queue_control *now = arena_control(
		&port->realm->arena, port->config.vpid, port->epoch);
	atomic_store_explicit(&now->doorbell, 1, memory_order_release);
	return 0;
}

static struct vport *doorbell_port(struct call *c)
{
	struct vport *port = c->process->node->ports[c->request->doorbell.vpid];
	bool fits = port && port->realm == c->process->realm &&
		    c->request->doorbell.epoch >= port->first_epoch &&
		    c->request->doorbell.epoch <= port->epoch &&
		    port->doorbell >= 0;
	return fits ? port : NULL;
}

static int request_doorbell_get(struct call *c)
{
	struct vport *port = doorbell_port(c);
	if (!port)
		return -ENXIO;
	*c->fd_out = port->doorbell;
	return 0;
}

static int request_doorbell_ring(struct call *c)
{
	struct vport *port = doorbell_port(c);
	if (port)
		doorbell_ring_port(port);
	return 0;
}

static int request_status(struct call *c)
{
	c->close_out = true;
	return status_request(c->process, c->reply, c->fd_out);
}

static int request_fence(struct call *c)
{
	return fence_process(c->process->node, (pid_t)c->request->fence.pid,
		&c->reply->fence.migrated);
}

static int request_quiesce(struct call *c)
{
	struct vport *port = closable_port(c, c->request->quiesce.vpid);
	return port ? window_quiesce(port, c->request->quiesce.window,
			      c->request->quiesce.mapped)
		    : -ENXIO;
}

static int request_lock(struct call *c)
{
	struct vport *port = own_port(c, c->request->lock.vpid);
	return port ? window_lock(port, c->request) : -ENXIO;
}

static int request_unlock(struct call *c)
{
	struct vport *port = own_port(c, c->request->lock.vpid);
	return port ? window_unlock(port, c->request) : -ENXIO;
}

static int request_map(struct call *c)
{
	struct vport *port = own_port(c, c->request->lock.vpid);
	struct cay_window_descriptor copy;
	struct vport *target;
	int r = port ? window_copy(port, c->request, &target, &copy) : -ENXIO;
	return r ? r
		 : mapping_add(c->process, target, c->request->lock.window,
			   &copy, c->reply);
}

static int request_unmap(struct call *c)
{
	return mapping_remove(c->process, c->request->unmap.number);
}

static int request_ultra_accept(struct call *c)
{
	struct vport *port = own_port(c, c->request->ultra.vpid);
	c->close_out = true;
	return port ? ultra_accept(port, c->request, c->reply, c->fd_out)
		    : -ENXIO;
}

static int request_ultra_connect(struct call *c)
{
	struct vport *port = own_port(c, c->request->ultra.vpid);
	return port ? ultra_connect(port, c->request, c->reply, c->fd_out)
		    : -ENXIO;
}

/* An end of the caller that it has closed, or that the node has, is gone. */
static int request_ultra_end(struct call *c)
{
	uint16_t upid = c->request->ultra_end.upid;
	struct ultra_path *path = ultra_end(c->process, upid);
	if (!path)
		return -EPIPE;
	switch (c->request->kind) {
	case NODE_ULTRA_RETURN:
		return ultra_return_page(path, upid, c->fd_out);
	case NODE_ULTRA_READY:
		return ultra_ready(path, upid);
	case NODE_ULTRA_WAKE:
		ultra_wake(path, upid, c->request->ultra_end.ring);
		return 0;
	default:
		ultra_close(path, upid);
		return 0;
	}
}

/* Makes claims on a port fail; its memory stays mapped until it is closed. */
static int request_disable(struct call *c)
{
	struct vport *port = own_port(c, c->request->close.vpid);
	if (!port)
		return -ENXIO;
	c->process->node->count.refused++;
	port->disabled = true;
	vport_close(port);
	vport_reclaim_soon(port);
	return 0;
}

/* `member`: only from processes that have joined a realm. */
static const struct {
	int (*handle)(struct call *);
	bool member;
} requests[] = {
	[NODE_HELLO] = { request_hello, false },
	[NODE_LEAVE] = { request_leave, true },
	[NODE_OPEN] = { request_open, true },
	[NODE_CLOSE] = { request_close, true },
	[NODE_RESOLVE] = { request_resolve, true },
	[NODE_RESOLVE_START] = { request_resolve_start, true },
	[NODE_RELEASE] = { request_release, true },
	[NODE_ALLOC] = { request_alloc, true },
	[NODE_FREE] = { request_free, true },
	[NODE_RECORDS] = { request_records, true },
	[NODE_RECOVER] = { request_recover, true },
	[NODE_DOORBELL_SET] = { request_doorbell_set, true },
	[NODE_DOORBELL_GET] = { request_doorbell_get, true },
	[NODE_DOORBELL_RING] = { request_doorbell_ring, true },
	[NODE_STATUS] = { request_status, false },
	[NODE_FENCE] = { request_fence, false },
	[NODE_REFERENCES] = { request_references, true },
	[NODE_QUIESCE] = { request_quiesce, true },
	[NODE_LOCK] = { request_lock, true },
	[NODE_UNLOCK] = { request_unlock, true },
	[NODE_DISABLE] = { request_disable, true },
	[NODE_MAP] = { request_map, true },
	[NODE_UNMAP] = { request_unmap, true },
	[NODE_ULTRA_ACCEPT] = { request_ultra_accept, true },
	[NODE_ULTRA_CONNECT] = { request_ultra_connect, true },
	[NODE_ULTRA_RETURN] = { request_ultra_end, true },
	[NODE_ULTRA_READY] = { request_ultra_end, true },
	[NODE_ULTRA_WAKE] = { request_ultra_end, true },
	[NODE_ULTRA_CLOSE] = { request_ultra_end, true },
};

bool request_execute(struct process *p, const struct node_request *request,
	struct node_reply *reply, int *fd_out)
{
	struct call c = { p, request, reply, fd_out, false };
	uint32_t kind = request->kind;
	memset(reply, 0, sizeof(*reply));
	*fd_out = -1;
	if (kind >= ARRAY_COUNT(requests) || !requests[kind].handle ||
		(requests[kind].member && p->state != PROCESS_MEMBER))
		reply->error = -EPROTO;
	else
		reply->error = requests[kind].handle(&c);
	if (reply->error == -EPROTO)
		p->node->count.refused++;
	return c.close_out;
}

int request_handle(struct process *p)
{
	struct node_request request;
	struct node_reply reply = { .error = -EPROTO };
	int fd_out = -1;
	bool close_out = false;
	/* One request at a time: the reply to the last one is not sent. */
	if (!list_empty(&p->report_link))
		return -EPROTO;
	ssize_t n = wire_receive_plain(p->socket, &request, sizeof(request));

	/* A client that left replies unread resets, before its last requests.
	 */
	if (n == -EAGAIN || n == -ECONNRESET)
		return 0;
	if (n == 0)
		return -EPIPE;
	if (n == sizeof(request))
		close_out = request_execute(p, &request, &reply, &fd_out);
	else
		p->node->count.refused++;
	/* status_continue() sends the reply to a status request. */
	bool silent = !list_empty(&p->report_link) ||
		      (n == sizeof(request) &&
			      !node_request_has_reply(request.kind) &&
			      reply.error != -EPROTO);
	/* The node never waits for a client that does not read replies. */
	int r = silent ? 0
		       : wire_send(p->socket, &reply, sizeof(reply), fd_out,
				 MSG_DONTWAIT);
	if (r == -ETOOMANYREFS) {
		/* This user has too many descriptors in flight on sockets. */
		reply = (struct node_reply){ .error = -EMFILE };
		r = wire_send(
			p->socket, &reply, sizeof(reply), -1, MSG_DONTWAIT);
	}
	if (close_out && fd_out >= 0)
		close(fd_out);
	/* The client does not wait for it: its other requests count. */
	if (r == -EPIPE || r == -ECONNRESET)
		r = 0;
	return reply.error == -EPROTO ? -EPROTO : r;
}
