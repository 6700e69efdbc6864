/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See request.h. A request is copied by recvmsg(), then checked, then used; a
 * process may speak only of its own ports, records and memory.
 */
#include "node/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/address.h"
#include "node/doorbell.h"
#include "node/wire.h"

/* What a handler works on. */
struct call {
	struct process *process;
	const struct node_request *request;
	int *fd_in; /* set to -1 by who keeps it */
	struct node_reply *reply;
	int *fd_out; /* stays the node's own unless it is close_out */
	bool close_out;
};

static bool text_ends(const char *text)
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
	if (p->state != PROCESS_GREETING || !text_ends(q->hello.realm) ||
		!node_name_valid(q->hello.realm))
		return -EPROTO;
	int r = realm_find(p->node, q->hello.realm, &realm);
	if (r)
		return r;
	r = process_hello(p, realm);
	if (r) {
		p->realm = NULL;
		realm_maybe_end(realm);
		return r;
	}
	c->reply->hello.arena_bytes = realm->arena.bytes;
	c->reply->hello.records = p->record_pages[0];
	c->reply->hello.node = p->node->id;
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

/* One of the caller's that it has not closed, even if we have disabled it. */
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

static int request_long(struct call *c)
{
	struct vport *port = own_port(c, c->request->close.vpid);
	if (!port)
		return -ENXIO;
	list_remove(&port->sender_link);
	list_append(&port->realm->senders, &port->sender_link);
	return 0;
}

static int resolve_target(struct call *c, struct vport **target)
{
	const struct node_request *q = c->request;
	struct node *n = c->process->node;
	if (!text_ends(q->resolve.name))
		return -EPROTO;
	if (*q->resolve.name) {
		*target = vport_named(n, c->process->realm, q->resolve.name);
		return *target ? 0 : -ENXIO;
	}
	if (q->resolve.node != n->id)
		return -EHOSTUNREACH;
	*target = n->ports[q->resolve.target];
	if (!*target || (*target)->state != VPORT_OPEN)
		return -ENXIO;
	return (*target)->realm == c->process->realm ? 0 : -EACCES;
}

static int request_resolve(struct call *c)
{
	struct vport *port = own_port(c, c->request->resolve.vpid);
	struct vport *target;
	if (!port)
		return -ENXIO;
	int r = resolve_target(c, &target);
	if (r == -EACCES)
		watch_forbid(port, c->request->resolve.target);
	if (r)
		return r;
	r = watch_add(port, target, &c->reply->resolve.index);
	if (r)
		return r;
	c->reply->resolve.epoch = target->epoch;
	c->reply->resolve.vpid = target->config.vpid;
	c->reply->resolve.path = PATH_DIRECT;
	return 0;
}

static int request_release(struct call *c)
{
	struct vport *port = own_port(c, c->request->release.vpid);
	return port ? watch_remove(port, c->request->release.index) : -ENXIO;
}

static int request_alloc(struct call *c)
{
	struct block *b = block_add(
		c->process, c->request->alloc.bytes, c->request->alloc.huge);
	if (!b)
		return -ENOSPC;
	c->reply->alloc.offset = b->offset;
	return 0;
}

static int request_free(struct call *c)
{
	uint64_t offset = c->request->free.offset;
	if (!c->request->free.query)
		return block_free(c->process, offset);
	struct block *b = block_find(c->process, offset);
	if (!b)
		return -EINVAL;
	c->reply->alloc.offset = offset;
	c->reply->alloc.bytes = b->bytes;
	return 0;
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
			return process_recover(
				c->process, realm_records(p->realm, offset));
	return -EINVAL;
}

/* Only an eventfd: writing to anything else might block, or do worse. */
static bool bell_valid(int fd)
{
	char path[64], link[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return false;
	link[n] = 0;
	return strcmp(link, "anon_inode:[eventfd]") == 0 &&
	       fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

static int request_bell_set(struct call *c)
{
	struct vport *port = own_port(c, c->request->doorbell.vpid);
	if (!port || *c->fd_in < 0 || !bell_valid(*c->fd_in))
		return -EINVAL;
	if (port->doorbell >= 0)
		close(port->doorbell);
	port->doorbell = *c->fd_in;
	*c->fd_in = -1;
	/* In the present set, which the consumer may not have reached yet. */
	struct queue_control *now = arena_control(
		&port->realm->arena, port->config.vpid, port->epoch);
	atomic_store_explicit(&now->doorbell, 1, memory_order_release);
	return 0;
}

static struct vport *bell_port(struct call *c)
{
	struct vport *port = c->process->node->ports[c->request->doorbell.vpid];
	bool fits = port && port->realm == c->process->realm &&
		    c->request->doorbell.epoch >= port->first_epoch &&
		    c->request->doorbell.epoch <= port->epoch &&
		    port->doorbell >= 0;
	return fits ? port : NULL;
}

static int request_bell_get(struct call *c)
{
	struct vport *port = bell_port(c);
	if (!port)
		return -ENXIO;
	*c->fd_out = port->doorbell;
	return 0;
}

static int request_ring(struct call *c)
{
	struct vport *port = bell_port(c);
	if (port)
		doorbell_ring_port(port);
	return 0;
}

static int request_status(struct call *c)
{
	c->close_out = true;
	return status_write(c->process->node, c->reply, c->fd_out);
}

static int request_fence(struct call *c)
{
	return fence_process(c->process->node, (pid_t)c->request->fence.pid,
		&c->reply->fence.moved);
}

static int request_quiet(struct call *c)
{
	struct vport *port = closable_port(c, c->request->quiesce.vpid);
	return port ? window_quiet(port, c->request->quiesce.window) : -ENXIO;
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

/* No claim on it succeeds any more; what it has mapped it keeps until close. */
static int request_disable(struct call *c)
{
	struct vport *port = own_port(c, c->request->close.vpid);
	if (!port)
		return -ENXIO;
	c->process->node->count.refused++;
	port->disabled = true;
	vport_close(port);
	watch_gone(port, repair_references(port));
	return 0;
}

/* Whether it needs a realm; the others may come from anybody of this user. */
static const struct {
	int (*handle)(struct call *);
	bool member;
} requests[] = {
	[NODE_HELLO] = { request_hello, false },
	[NODE_LEAVE] = { request_leave, true },
	[NODE_OPEN] = { request_open, true },
	[NODE_CLOSE] = { request_close, true },
	[NODE_RESOLVE] = { request_resolve, true },
	[NODE_RELEASE] = { request_release, true },
	[NODE_ALLOC] = { request_alloc, true },
	[NODE_FREE] = { request_free, true },
	[NODE_RECORDS] = { request_records, true },
	[NODE_RECOVER] = { request_recover, true },
	[NODE_DOORBELL_SET] = { request_bell_set, true },
	[NODE_DOORBELL_GET] = { request_bell_get, true },
	[NODE_DOORBELL_RING] = { request_ring, true },
	[NODE_STATUS] = { request_status, false },
	[NODE_FENCE] = { request_fence, false },
	[NODE_REFERENCES] = { request_long, true },
	[NODE_QUIESCE] = { request_quiet, true },
	[NODE_LOCK] = { request_lock, true },
	[NODE_UNLOCK] = { request_unlock, true },
	[NODE_DISABLE] = { request_disable, true },
};

/* The reply's error is the client's business; ours is whether to go on. */
static int call_run(struct call *c)
{
	uint32_t kind = c->request->kind;
	if (kind >= sizeof(requests) / sizeof(requests[0]) ||
		!requests[kind].handle)
		return -EPROTO;
	if (requests[kind].member && c->process->state != PROCESS_MEMBER)
		return -EPROTO;
	return requests[kind].handle(c);
}

bool request_execute(struct process *p, const struct node_request *request,
	int *fd_in, struct node_reply *reply, int *fd_out)
{
	struct call c = { p, request, fd_in, reply, fd_out, false };
	memset(reply, 0, sizeof(*reply));
	*fd_out = -1;
	reply->error = call_run(&c);
	if (reply->error == -EPROTO)
		p->node->count.refused++;
	return c.close_out;
}

int request_handle(struct process *p)
{
	struct node_request request;
	struct node_reply reply = { .error = -EPROTO };
	int fd_in, fd_out = -1;
	bool close_out = false;
	ssize_t n = wire_receive(
		p->socket, &request, sizeof(request), &fd_in, MSG_DONTWAIT);

	if (n == -EAGAIN)
		return 0;
	if (n == 0 || n == -ECONNRESET) {
		/* An empty record may bring a descriptor all the same. */
		if (fd_in >= 0)
			close(fd_in);
		return -EPIPE;
	}
	if (n == -EMFILE)
		reply.error = -EMFILE;
	if (n == sizeof(request))
		close_out =
			request_execute(p, &request, &fd_in, &reply, &fd_out);
	/* Who does not read its replies is not waited for. */
	int r = wire_send(
		p->socket, &reply, sizeof(reply), fd_out, MSG_DONTWAIT);
	if (r == -ETOOMANYREFS) {
		/* This user's other programs have too many under way. */
		reply = (struct node_reply){ .error = -EMFILE };
		r = wire_send(
			p->socket, &reply, sizeof(reply), -1, MSG_DONTWAIT);
	}
	if (fd_in >= 0)
		close(fd_in);
	if (close_out && fd_out >= 0)
		close(fd_out);
	return reply.error == -EPROTO ? -EPROTO : r;
}
