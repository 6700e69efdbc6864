/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Setting up and closing ULTRA paths; see cay_ultra(3), and node/ultra.c for
 * the steps. Consuming thread. cay_ultra_accept() and cay_ultra_connect() wait
 * for each reply of the node; cay_ultra_continue() looks whether it is there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "port/lock.h"
#include "port/ultra.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* Returns false if that must be repeated. */
static bool ultra_close_at_node(const struct cay_ultra *u)
{
	struct member *m = u->port->member;
	struct node_request request = { .kind = NODE_ULTRA_CLOSE };
	request.ultra_end.upid = u->upid;
	if (!u->patient)
		return control_start(m, &request, NULL) != -EAGAIN;
	control_tell(m, &request);
	return true;
}

/*
 * Maps an object of this size and closes its descriptor. The size is final, so
 * no access can raise SIGBUS.
 */
static int ultra_map(int fd, uint64_t bytes, int protection, void **out)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	int r = -EBADMSG;
	if (seals >= 0 && seals & F_SEAL_SHRINK && fstat(fd, &st) == 0 &&
		(uint64_t)st.st_size == bytes) {
		void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
		r = p == MAP_FAILED ? -errno : 0;
		if (r == 0) {
			/* The handle is of no use in a child. */
			madvise(p, bytes, MADV_DONTFORK);
			madvise(p, bytes, MADV_DONTDUMP);
			*out = p;
		}
	}
	close(fd);
	return r;
}

static void ultra_unmap(struct cay_ultra *u)
{
	if (u->slices)
		munmap(u->slices, u->slices_bytes);
	if (u->page)
		munmap(u->page, ULTRA_PAGE);
}

/* ---- setting up ---- */

/* Takes the identity of an end from the first reply, and maps the slices. */
static int ultra_map_slices(
	struct cay_ultra *u, const struct node_reply *reply, int fd)
{
	unsigned slice_log2 = reply->ultra.slice_log2;
	u->upid = reply->ultra.upid;
	u->peer_upid = reply->ultra.peer_upid;
	u->peer_vpid = reply->ultra.peer;
	u->local = reply->ultra.local;
	if (slice_log2 < ULTRA_SLICE_LOG2_MIN ||
		slice_log2 > ULTRA_SLICE_LOG2_MAX ||
		reply->ultra.slices_log2 != ultra_slices_log2(slice_log2)) {
		close(fd);
		return -EPROTO;
	}
	u->setup->slice_log2 = (uint8_t)slice_log2;
	u->setup->fence = reply->ultra.fence;
	u->slices_bytes =
		ultra_slices_bytes(slice_log2, reply->ultra.slices_log2);
	int r = ultra_map(fd, u->slices_bytes,
		u->target ? PROT_READ : PROT_READ | PROT_WRITE, &u->slices);
	if (r)
		return r;
	/*
	 * The target provides the memory. Old kernels do not know the call;
	 * then the first access does.
	 */
	if (u->target &&
		madvise(u->slices, u->slices_bytes, MADV_POPULATE_READ) != 0 &&
		errno == ENOMEM)
		return -ENOMEM;
	return 0;
}

/* Maps the return page, and prepares the unit of the device. */
static int ultra_map_page(struct cay_ultra *u, int fd)
{
	unsigned slice_log2 = u->setup->slice_log2;
	unsigned slices_log2 = ultra_slices_log2(slice_log2);
	int r = ultra_map(fd, ULTRA_PAGE,
		u->target ? PROT_READ | PROT_WRITE : PROT_READ, &u->page);
	if (r)
		return r;
	unsigned char *base = (unsigned char *)u->slices + ULTRA_PAGE;
	if (u->target) {
		ultra_cursor_init(&u->in.next, base, slice_log2, slices_log2);
		u->in.origin = u->slices;
		u->in.page = u->page;
	} else {
		ultra_cursor_init(&u->out.next, base, slice_log2, slices_log2);
		atomic_init(&u->out.limit, u->out.next.slices);
		u->out.fence = u->setup->fence;
		u->out.own = u->slices;
		u->out.page = u->page;
	}
	return 0;
}

/* The node knows that this end is ready: from here on the port uses it. */
static void ultra_complete(struct cay_ultra *u)
{
	struct cay_port *port = u->port;
	port_consume_begin(port);
	list_remove(&u->link);
	free(u->setup);
	u->setup = NULL;
	if (u->target)
		u->alone = !(port->flags & CAY_PORT_SHARED);
	else
		u->line_end = CAY_ULTRA_LINE_MAX + 1;
	list_append(&port->ultra, &u->link);
	/* Another consuming thread sleeps already. */
	if (u->target && port->ultra_sleepers)
		atomic_fetch_or_explicit(
			&u->in.page->flags, ULTRA_ASLEEP, memory_order_acq_rel);
	port_consume_end(port);
}

/*
 * Does what follows the reply to setup->request, and prepares the next request,
 * unless the path is set up. Returns 0 or -errno.
 */
static int ultra_step(
	struct cay_ultra *u, const struct node_reply *reply, int fd)
{
	struct ultra_setup *s = u->setup;
	enum node_request_kind next;
	int r;
	switch (s->request.kind) {
	case NODE_ULTRA_ACCEPT:
	case NODE_ULTRA_CONNECT:
		r = fd < 0 ? -EPROTO : ultra_map_slices(u, reply, fd);
		next = NODE_ULTRA_RETURN;
		break;
	case NODE_ULTRA_RETURN:
		r = fd < 0 ? -EPROTO : ultra_map_page(u, fd);
		next = NODE_ULTRA_READY;
		break;
	default:
		if (fd >= 0)
			close(fd);
		ultra_complete(u);
		return 0;
	}
	s->request = (struct node_request){ .kind = next };
	s->request.ultra_end.upid = u->upid;
	return r;
}

/* Makes an end whose set-up begins with this request. */
static int ultra_new(struct cay_port *port, const struct node_request *request,
	bool patient, struct cay_ultra **out)
{
	struct cay_ultra *u = calloc(1, sizeof(*u));
	struct ultra_setup *s = calloc(1, sizeof(*s));
	if (!u || !s) {
		free(u);
		free(s);
		return -ENOMEM;
	}
	s->request = *request;
	s->pending.fd = -1;
	u->port = port;
	u->setup = s;
	u->target = request->kind == NODE_ULTRA_ACCEPT;
	u->patient = patient;
	atomic_init(&u->ack_next, ULTRA_ACK_NONE);
	port_consume_begin(port);
	list_append(&port->ultra_setups, &u->link);
	port_consume_end(port);
	*out = u;
	return 0;
}

/* Frees an end, in a forked child too, where nothing is mapped. */
static void ultra_free(struct cay_ultra *u)
{
	free(u->setup);
	free(u->acks);
	free(u);
}

static void ultra_close_end(struct cay_ultra *u)
{
	struct ultra_setup *s = u->setup;
	list_remove(&u->link);
	/* The node may have executed the first request since the last look. */
	if (s && s->started && control_abandon(u->port->member, &s->pending) &&
		!u->upid)
		u->upid = s->pending.reply.ultra.upid;
	ultra_unmap(u);
	u->slices = u->page = NULL;
	if (!u->upid || ultra_close_at_node(u))
		ultra_free(u);
	else
		list_append(&u->port->ultra_closed, &u->link);
}

/* Tells the node of ends that were closed while it did not reply. */
static void ultra_close_again(struct cay_port *port)
{
	list_for_each_safe (at, after, &port->ultra_closed) {
		struct cay_ultra *u = list_of(at, struct cay_ultra, link);
		if (!ultra_close_at_node(u))
			return;
		list_remove(&u->link);
		ultra_free(u);
	}
}

/* Steps 1 and 2, or 3 to 7; a failure unwinds them. */
static int ultra_open(struct cay_port *port, const struct node_request *request,
	uint64_t reply_deadline, struct cay_ultra **out)
{
	struct node_reply reply;
	struct cay_ultra *u;
	/* Before the node has anything to unwind. */
	int r = ultra_new(port, request, true, &u);
	if (r)
		return r;
	while (r == 0 && u->setup) {
		int fd = -1;
		r = control_call_until(port->member, &u->setup->request, &reply,
			&fd, reply_deadline);
		if (r == 0)
			r = ultra_step(u, &reply, fd);
		reply_deadline = control_reply_deadline(0);
	}
	if (r == 0) {
		*out = u;
	} else {
		port_consume_begin(port);
		ultra_close_end(u);
		port_consume_end(port);
	}
	return r;
}

static void accept_request(const struct cay_port *port, struct cay_addr from,
	size_t slice, struct node_request *request)
{
	unsigned log2 = bits_log2_up(slice);
	*request = (struct node_request){ .kind = NODE_ULTRA_ACCEPT };
	request->ultra.vpid = port->origin.vpid;
	request->ultra.peer = from.vpid;
	request->ultra.node = from.node;
	request->ultra.slice_log2 = (uint8_t)(log2 < ULTRA_SLICE_LOG2_MIN
						      ? ULTRA_SLICE_LOG2_MIN
						      : log2);
}

static void connect_request(const struct cay_port *port, struct cay_addr to,
	struct node_request *request)
{
	*request = (struct node_request){ .kind = NODE_ULTRA_CONNECT };
	request->ultra.vpid = port->origin.vpid;
	request->ultra.peer = to.vpid;
	request->ultra.node = to.node;
}

int cay_ultra_accept(struct cay_port *port, struct cay_addr from, size_t slice,
	struct cay_ultra **out)
{
	struct node_request request;
	if (!port_usable(port))
		return port_error(port);
	if (!out)
		return -EFAULT;
	if (slice > CAY_ULTRA_SLICE_MAX)
		return -EINVAL;
	accept_request(port, from, slice, &request);
	return ultra_open(port, &request, control_reply_deadline(0), out);
}

int cay_ultra_connect(struct cay_port *port, struct cay_addr to,
	uint64_t deadline, struct cay_ultra **out)
{
	struct node_request request;
	if (!port_usable(port))
		return port_error(port);
	if (!out)
		return -EFAULT;
	connect_request(port, to, &request);
	for (uint64_t nap = 50 * CLOCK_NS_PER_US;;
		nap = bits_min(2 * nap, 10 * CLOCK_NS_PER_MS)) {
		/*
		 * A reply that comes too late ends the path: the node is given
		 * the whole time.
		 */
		uint64_t reply = control_reply_deadline(deadline);
		int r = ultra_open(port, &request,
			deadline > reply ? deadline : reply, out);
		if ((r != -EAGAIN && r != -ETIMEDOUT) || deadline == 0)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		clock_nap_ns(nap);
	}
}

int cay_ultra_accept_start(struct cay_port *port, struct cay_addr from,
	size_t slice, struct cay_ultra **out)
{
	struct node_request request;
	if (!port_usable(port))
		return port_error(port);
	if (!out)
		return -EFAULT;
	if (slice > CAY_ULTRA_SLICE_MAX)
		return -EINVAL;
	accept_request(port, from, slice, &request);
	return ultra_new(port, &request, false, out);
}

int cay_ultra_connect_start(
	struct cay_port *port, struct cay_addr to, struct cay_ultra **out)
{
	struct node_request request;
	if (!port_usable(port))
		return port_error(port);
	if (!out)
		return -EFAULT;
	connect_request(port, to, &request);
	return ultra_new(port, &request, false, out);
}

int cay_ultra_continue(struct cay_ultra *u)
{
	if (!u)
		return -EINVAL;
	if (!port_usable(u->port))
		return port_error(u->port);
	struct member *m = u->port->member;
	int r = 0;
	port_consume_begin(u->port);
	ultra_close_again(u->port);
	port_consume_end(u->port);
	while (u->setup && r == 0) {
		struct ultra_setup *s = u->setup;
		if (s->error)
			return s->error;
		if (!s->started) {
			r = control_start(m, &s->request, &s->pending);
			if (r)
				break;
			s->started = true;
		}
		r = control_result(m, &s->pending);
		if (r == -EINPROGRESS)
			return -EAGAIN;
		s->started = false;
		int fd = s->pending.fd;
		s->pending.fd = -1;
		if (r == 0)
			r = ultra_step(u, &s->pending.reply, fd);
	}
	/* -EAGAIN: the next call asks again, for one that is offered later. */
	if (r && r != -EAGAIN)
		u->setup->error = r;
	return r;
}

/* ---- closing ---- */

int cay_ultra_close(struct cay_ultra *u)
{
	if (!u)
		return 0;
	struct cay_port *port = u->port;
	if (!port_valid(port) && port_error(port) == -ECHILD) {
		ultra_free(u);
		return -ECHILD;
	}
	/* Events that were promised come now: the target will not be asked. */
	if (!u->setup)
		ultra_acknowledge_end(u);
	port_consume_begin(port);
	ultra_close_end(u);
	ultra_close_again(port);
	port_consume_end(port);
	return 0;
}

void ultra_port_close(struct cay_port *port)
{
	while (!list_empty(&port->ultra))
		ultra_close_end(
			list_of(port->ultra.next, struct cay_ultra, link));
	while (!list_empty(&port->ultra_setups))
		ultra_close_end(list_of(
			port->ultra_setups.next, struct cay_ultra, link));
	/* The node closes them with the port. */
	list_for_each_safe (at, after, &port->ultra_closed)
		ultra_free(list_of(at, struct cay_ultra, link));
}
