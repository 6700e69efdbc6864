/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Setting up and closing ULTRA paths; see cay_ultra(3), and node/ultra.c for
 * the steps. Consuming thread; blocks for replies of the node.
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

/* Sends a request about an end of this process. */
static int ultra_call(
	struct member *m, enum node_request_kind kind, uint16_t upid, int *fd)
{
	struct node_request request = { .kind = kind };
	struct node_reply reply;
	request.ultra_end.upid = upid;
	int r = control_call(m, &request, &reply, fd);
	return r == 0 && fd && *fd < 0 ? -EPROTO : r;
}

static void ultra_close_at_node(struct member *m, uint16_t upid)
{
	struct node_request request = { .kind = NODE_ULTRA_CLOSE };
	request.ultra_end.upid = upid;
	control_tell(m, &request);
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

/* Maps both objects, and says so. `fd` is that of the slices. */
static int ultra_map_both(
	struct cay_ultra *u, const struct node_reply *reply, int fd)
{
	unsigned slice_log2 = reply->ultra.slice_log2;
	unsigned slices_log2 = reply->ultra.slices_log2;
	if (slice_log2 < ULTRA_SLICE_LOG2_MIN ||
		slice_log2 > ULTRA_SLICE_LOG2_MAX ||
		slices_log2 != ultra_slices_log2(slice_log2)) {
		close(fd);
		return -EPROTO;
	}
	u->slices_bytes = ultra_slices_bytes(slice_log2, slices_log2);
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
	r = ultra_call(u->port->member, NODE_ULTRA_RETURN, u->upid, &fd);
	if (r)
		return r;
	r = ultra_map(fd, ULTRA_PAGE,
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
		u->line_end = CAY_ULTRA_LINE_MAX + 1;
		atomic_init(&u->out.limit, u->out.next.slices);
		u->out.fence = reply->ultra.fence;
		u->out.own = u->slices;
		u->out.page = u->page;
	}
	return ultra_call(u->port->member, NODE_ULTRA_READY, u->upid, NULL);
}

/* Steps 1 and 2, or 3 to 7; a failure unwinds them. */
static int ultra_open(struct cay_port *port, const struct node_request *request,
	bool target, uint64_t reply_deadline, struct cay_ultra **out)
{
	struct node_reply reply;
	int fd = -1;
	/* Before the node has anything to unwind. */
	struct cay_ultra *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	int r = control_call_until(
		port->member, request, &reply, &fd, reply_deadline);
	if (r == 0 && fd < 0)
		r = -EPROTO;
	if (r) {
		free(u);
		return r;
	}
	u->port = port;
	u->target = target;
	u->alone = target && !(port->flags & CAY_PORT_SHARED);
	u->upid = reply.ultra.upid;
	u->peer_upid = reply.ultra.peer_upid;
	u->peer_vpid = reply.ultra.peer;
	u->local = reply.ultra.local;
	atomic_init(&u->ack_next, ULTRA_ACK_NONE);
	r = ultra_map_both(u, &reply, fd);
	if (r) {
		ultra_close_at_node(port->member, u->upid);
		ultra_unmap(u);
		free(u);
		return r;
	}
	port_consume_begin(port);
	list_append(&port->ultra, &u->link);
	/* Another consuming thread sleeps already. */
	if (target && port->ultra_sleepers)
		atomic_fetch_or_explicit(
			&u->in.page->flags, ULTRA_ASLEEP, memory_order_acq_rel);
	port_consume_end(port);
	*out = u;
	return 0;
}

int cay_ultra_accept(struct cay_port *port, struct cay_addr from, size_t slice,
	struct cay_ultra **out)
{
	struct node_request request = { .kind = NODE_ULTRA_ACCEPT };
	if (!port_usable(port))
		return port_error(port);
	if (!out)
		return -EFAULT;
	if (slice > CAY_ULTRA_SLICE_MAX)
		return -EINVAL;
	unsigned log2 = bits_log2_up(slice);
	request.ultra.vpid = port->origin.vpid;
	request.ultra.peer = from.vpid;
	request.ultra.node = from.node;
	request.ultra.slice_log2 = (uint8_t)(log2 < ULTRA_SLICE_LOG2_MIN
						     ? ULTRA_SLICE_LOG2_MIN
						     : log2);
	return ultra_open(port, &request, true, control_reply_deadline(0), out);
}

int cay_ultra_connect(struct cay_port *port, struct cay_addr to,
	uint64_t deadline, struct cay_ultra **out)
{
	struct node_request request = { .kind = NODE_ULTRA_CONNECT };
	if (!port_usable(port))
		return port_error(port);
	if (!out)
		return -EFAULT;
	request.ultra.vpid = port->origin.vpid;
	request.ultra.peer = to.vpid;
	request.ultra.node = to.node;
	for (uint64_t nap = 50 * CLOCK_NS_PER_US;;
		nap = bits_min(2 * nap, 10 * CLOCK_NS_PER_MS)) {
		/*
		 * A reply that comes too late ends the path: the node is given
		 * the whole time.
		 */
		uint64_t reply = control_reply_deadline(deadline);
		int r = ultra_open(port, &request, false,
			deadline > reply ? deadline : reply, out);
		if ((r != -EAGAIN && r != -ETIMEDOUT) || deadline == 0)
			return r;
		if (clock_passed(deadline))
			return -ETIMEDOUT;
		clock_nap_ns(nap);
	}
}

/* Frees an end, in a forked child too, where nothing is mapped. */
static void ultra_free(struct cay_ultra *u)
{
	free(u->acks);
	free(u);
}

static void ultra_close_end(struct cay_ultra *u)
{
	list_remove(&u->link);
	ultra_unmap(u);
	ultra_close_at_node(u->port->member, u->upid);
	ultra_free(u);
}

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
	ultra_acknowledge_end(u);
	port_consume_begin(port);
	ultra_close_end(u);
	port_consume_end(port);
	return 0;
}

void ultra_port_close(struct cay_port *port)
{
	while (!list_empty(&port->ultra))
		ultra_close_end(
			list_of(port->ultra.next, struct cay_ultra, link));
}
