/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ULTRA paths. The set-up starts at the target, in seven steps:
 *
 *  1 ACCEPT	the target gets a completer port (TUPID) and maps the slices
 *		RETURN	... and the return page
 *  2 READY	no one else can write the return page from here on; the path is
 *		offered
 *  3 CONNECT	the origin gets a requester port (OUPID), configured for this
 *		target, and maps the slices
 *		RETURN	... and the return page
 *  4 READY	no one else can write the slices from here on
 *  5 the completer port accepts this origin only
 *  6, 7 ENABLED
 *
 * A step that fails, and the exit or the closing of either side, ends the path:
 * the other side finds GONE on the return page. A path on which an origin has
 * failed is not offered again, because that origin may still write its slices.
 *
 * The node keeps the descriptors until both sides have mapped them, and the
 * return page mapped until one of them ends. It reads nothing from either.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bits.h"
#include "node/node.h"

enum ultra_state {
	ULTRA_PREPARED, /* the target maps */
	ULTRA_OFFERED,
	ULTRA_CONNECTED, /* the origin maps */
	ULTRA_COMPLETE,
};

struct ultra_path {
	struct list in_link;  /* of target->ultra_in */
	struct list out_link; /* of origin->ultra_out */
	struct node *node;
	struct vport *target; /* NULL: it has closed its end */
	struct vport *origin; /* NULL: none yet, or it has closed its end */
	bool any;	      /* any port of the target's realm may connect */
	bool offer;	      /* counts as one: the node has its descriptors */
	enum ultra_state state;
	uint16_t target_upid, origin_upid;
	uint8_t slice_log2, slices_log2;
	int slices, page_fd; /* < 0: closed, because both have mapped them */
	struct ultra_return_page *page;
};

/* ---- memory ---- */

/* Creates a memfd whose size is final. */
static int ultra_memfd(const char *name, uint64_t bytes)
{
	int fd = realm_memfd(name);
	if (fd < 0)
		return fd;
	if (ftruncate(fd, (off_t)bytes) == 0 &&
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		return fd;
	int r = -errno;
	close(fd);
	return r;
}

/*
 * Ends the creation of writable mappings, and of holes. Those that exist stay
 * writable.
 */
static int ultra_seal(int fd)
{
	int seals = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	return fcntl(fd, F_ADD_SEALS, seals) == 0 ? 0 : -errno;
}

static int ultra_create(struct ultra_path *p)
{
	p->slices = ultra_memfd("cay-ultra-slices",
		ultra_slices_bytes(p->slice_log2, p->slices_log2));
	if (p->slices < 0)
		return p->slices;
	p->page_fd = ultra_memfd("cay-ultra-return", ULTRA_PAGE);
	int r = p->page_fd;
	if (r < 0)
		goto err_slices;
	p->page = mmap(NULL, ULTRA_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		p->page_fd, 0);
	if (p->page == MAP_FAILED) {
		r = -errno;
		goto err_page;
	}
	p->page->config = (struct ultra_config){ .magic = ULTRA_MAGIC,
		.major = ULTRA_MAJOR,
		.minor = ULTRA_MINOR,
		.slice_log2 = p->slice_log2,
		.slices_log2 = p->slices_log2,
		.target_upid = p->target_upid };
	return 0;

err_page:
	close(p->page_fd);
err_slices:
	close(p->slices);
	return r;
}

/*
 * Opens the object again for reading only, so that the target cannot make its
 * mapping writable by mistake. Without /proc it gets the same description.
 */
static int ultra_reader(int fd)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int reader = open(path, O_RDONLY | O_CLOEXEC);
	if (reader < 0 && errno == ENOENT)
		reader = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return reader < 0 ? -errno : reader;
}

static void ultra_close_fds(struct ultra_path *p)
{
	if (p->slices >= 0)
		close(p->slices);
	if (p->page_fd >= 0)
		close(p->page_fd);
	p->slices = p->page_fd = -1;
}

/* ---- UPIDs ---- */

/* Takes the next free UPID; 0: there is none. Reuse is as late as possible. */
static uint16_t upid_take(struct node *n, struct ultra_path *p)
{
	for (uint32_t i = 0; i < ULTRA_UPIDS; i++) {
		uint16_t upid = ++n->upid_last;
		if (upid && !n->upids[upid]) {
			n->upids[upid] = p;
			return upid;
		}
	}
	return 0;
}

struct ultra_path *ultra_end(const struct process *process, uint16_t upid)
{
	struct ultra_path *p = process->node->upids[upid];
	if (!p)
		return NULL;
	const struct vport *end = upid == p->target_upid   ? p->target
				  : upid == p->origin_upid ? p->origin
							   : NULL;
	return end && end->process == process ? p : NULL;
}

/* ---- offers ---- */

/*
 * An offer has two descriptors of the node. All of them together may take a
 * quarter of what the node may open, whatever the quotas say, so that processes
 * can still connect.
 */
static int offer_begin(struct process *p)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
		p->node->ultra_offers >= limit.rlim_cur / 8) {
		p->node->count.over_quota++;
		return -EDQUOT;
	}
	int r = quota_take(p, QUOTA_OFFERS, 1);
	p->node->ultra_offers += r == 0;
	return r;
}

/* When the descriptors are closed. */
static void offer_end(struct process *p)
{
	quota_return(p, QUOTA_OFFERS, 1);
	p->node->ultra_offers--;
}

/* ---- the ends ---- */

/* Wakes a port of either end that sleeps. */
static void ultra_interrupt(struct vport *port, bool ring)
{
	struct context to;
	if (port && port->state == VPORT_OPEN &&
		vport_context(port, port->epoch, &to) == 0)
		node_device_interrupt(&to, ring);
}

static void ultra_free(struct ultra_path *p)
{
	p->node->upids[p->target_upid] = NULL;
	if (p->origin_upid)
		p->node->upids[p->origin_upid] = NULL;
	free(p);
}

static bool ultra_unconnected(const struct ultra_path *p)
{
	return p->state == ULTRA_PREPARED || p->state == ULTRA_OFFERED;
}

/* The descriptors are of no use any more: both sides have mapped, or ended. */
static void ultra_offer_end(struct ultra_path *p)
{
	ultra_close_fds(p);
	if (p->offer)
		offer_end(p->target->process);
	p->offer = false;
}

/*
 * One side has ended: the other one learns of it, and the node has nothing more
 * to say on the return page.
 */
static void ultra_left(struct ultra_path *p, struct vport *other)
{
	if (p->page)
		munmap(p->page, ULTRA_PAGE);
	p->page = NULL;
	if (other)
		ultra_interrupt(other, false);
	else
		ultra_free(p);
}

static void ultra_mark(struct ultra_path *p, enum ultra_page_flag flag)
{
	if (p->page)
		atomic_fetch_or_explicit(
			&p->page->flags, flag, memory_order_acq_rel);
}

static void ultra_end_target(struct ultra_path *p)
{
	struct process *process = p->target->process;
	ultra_mark(p, ULTRA_TARGET_GONE);
	quota_return(process, QUOTA_PATHS, 1);
	ultra_offer_end(p);
	list_remove(&p->in_link);
	p->target = NULL;
	/* A named origin that has not connected knows nothing of the path. */
	if (ultra_unconnected(p)) {
		list_remove(&p->out_link);
		p->origin = NULL;
	}
	ultra_left(p, p->origin);
}

static void ultra_end_origin(struct ultra_path *p)
{
	/*
	 * Its last store to the slices happens before its exit, or its request,
	 * and so before GONE.
	 */
	ultra_mark(p, ULTRA_ORIGIN_GONE);
	if (!ultra_unconnected(p))
		quota_return(p->origin->process, QUOTA_PATHS, 1);
	/* No one can connect any more. */
	p->state = ULTRA_COMPLETE;
	ultra_offer_end(p);
	list_remove(&p->out_link);
	p->origin = NULL;
	ultra_left(p, p->target);
}

void ultra_close(struct ultra_path *p, uint16_t upid)
{
	if (upid == p->target_upid)
		ultra_end_target(p);
	else
		ultra_end_origin(p);
}

void ultra_close_all(struct vport *port)
{
	while (!list_empty(&port->ultra_in))
		ultra_end_target(list_of(
			port->ultra_in.next, struct ultra_path, in_link));
	while (!list_empty(&port->ultra_out))
		ultra_end_origin(list_of(
			port->ultra_out.next, struct ultra_path, out_link));
}

void ultra_wake(struct ultra_path *p, uint16_t upid, bool ring)
{
	if (p->state == ULTRA_COMPLETE)
		ultra_interrupt(
			upid == p->target_upid ? p->origin : p->target, ring);
}

/* ---- set-up ---- */

static void ultra_reply(const struct ultra_path *p, struct node_reply *reply)
{
	reply->ultra.slice_log2 = p->slice_log2;
	reply->ultra.slices_log2 = p->slices_log2;
}

/*
 * Step 1. The caller closes *fd. Returns 0, -ENXIO (no such origin),
 * -EHOSTUNREACH (of another node), -EINVAL, -EDQUOT, -ENOSPC (no UPID), -EMFILE
 * or -ENOMEM.
 */
int ultra_accept(struct vport *target, const struct node_request *q,
	struct node_reply *reply, int *fd)
{
	struct node *n = target->realm->node;
	struct vport *origin = NULL;
	if (q->ultra.slice_log2 < ULTRA_SLICE_LOG2_MIN ||
		q->ultra.slice_log2 > ULTRA_SLICE_LOG2_MAX)
		return -EINVAL;
	if (q->ultra.peer) {
		if (q->ultra.node != n->id)
			return -EHOSTUNREACH;
		origin = n->ports[q->ultra.peer];
		if (!origin || origin->state != VPORT_OPEN)
			return -ENXIO;
	}
	int r = quota_take(target->process, QUOTA_PATHS, 1);
	if (r)
		return r;
	r = offer_begin(target->process);
	if (r)
		goto err_paths;
	r = -ENOMEM;
	struct ultra_path *p = calloc(1, sizeof(*p));
	if (!p)
		goto err_offers;
	p->node = n;
	p->any = !origin;
	p->slice_log2 = q->ultra.slice_log2;
	p->slices_log2 = ultra_slices_log2(p->slice_log2);
	p->target_upid = upid_take(n, p);
	r = -ENOSPC;
	if (!p->target_upid)
		goto err_path;
	r = ultra_create(p);
	if (r)
		goto err_upid;
	int reader = ultra_reader(p->slices);
	r = reader;
	if (r < 0)
		goto err_objects;
	p->offer = true;
	p->target = target;
	p->origin = origin;
	list_append(&target->ultra_in, &p->in_link);
	list_init(&p->out_link);
	if (origin)
		list_append(&origin->ultra_out, &p->out_link);
	ultra_reply(p, reply);
	reply->ultra.upid = p->target_upid;
	*fd = reader;
	return 0;

err_objects:
	ultra_close_fds(p);
	munmap(p->page, ULTRA_PAGE);
err_upid:
	n->upids[p->target_upid] = NULL;
err_path:
	free(p);
err_offers:
	offer_end(target->process);
err_paths:
	quota_return(target->process, QUOTA_PATHS, 1);
	return r;
}

/*
 * Returns the path that the target offers to this origin: one for it alone, or
 * one for any port of the target's realm.
 */
static struct ultra_path *ultra_offer(
	const struct vport *target, const struct vport *origin)
{
	struct ultra_path *found = NULL;
	list_for_each (at, &target->ultra_in) {
		struct ultra_path *p = list_of(at, struct ultra_path, in_link);
		if (p->state != ULTRA_OFFERED)
			continue;
		if (p->origin == origin)
			return p;
		if (p->any && !found && target->realm == origin->realm)
			found = p;
	}
	return found;
}

/*
 * Step 3. Returns 0, -EAGAIN (no path is offered to this port), -ENXIO (no such
 * target), -EHOSTUNREACH, -EDQUOT, or -ENOSPC (no UPID).
 */
int ultra_connect(struct vport *origin, const struct node_request *q,
	struct node_reply *reply, int *fd)
{
	struct node *n = origin->realm->node;
	if (q->ultra.node != n->id)
		return -EHOSTUNREACH;
	const struct vport *target = n->ports[q->ultra.peer];
	if (!target || target->state != VPORT_OPEN)
		return -ENXIO;
	struct ultra_path *p = ultra_offer(target, origin);
	if (!p)
		return -EAGAIN;
	int r = quota_take(origin->process, QUOTA_PATHS, 1);
	if (r)
		return r;
	p->origin_upid = upid_take(n, p);
	if (!p->origin_upid) {
		quota_return(origin->process, QUOTA_PATHS, 1);
		return -ENOSPC;
	}
	if (!p->origin)
		list_append(&origin->ultra_out, &p->out_link);
	p->origin = origin;
	p->state = ULTRA_CONNECTED;
	ultra_reply(p, reply);
	reply->ultra.upid = p->origin_upid;
	reply->ultra.peer_upid = p->target_upid;
	reply->ultra.peer = target->config.vpid;
	reply->ultra.local = target->realm == origin->realm;
	reply->ultra.fence =
		!(target->process->registered && origin->process->registered);
	*fd = p->slices;
	return 0;
}

/* Returns true if this end maps its memory now. */
static bool ultra_mapping(const struct ultra_path *p, uint16_t upid)
{
	return p->state ==
	       (upid == p->target_upid ? ULTRA_PREPARED : ULTRA_CONNECTED);
}

/* The error of a step out of order, or of an end whose other end is gone. */
static int ultra_misplaced(const struct ultra_path *p)
{
	if (!p->target)
		return -EPIPE;
	return !p->origin && !p->origin_upid && !p->any ? -ENXIO : -EINVAL;
}

int ultra_return_page(struct ultra_path *p, uint16_t upid, int *fd)
{
	if (!ultra_mapping(p, upid) || p->page_fd < 0)
		return ultra_misplaced(p);
	*fd = p->page_fd;
	return 0;
}

/* Steps 2, and 4 to 7. Returns 0, -EINVAL (not in this order) or -errno. */
int ultra_ready(struct ultra_path *p, uint16_t upid)
{
	bool target = upid == p->target_upid;
	if (!ultra_mapping(p, upid) || !p->target)
		return ultra_misplaced(p);
	int r = ultra_seal(target ? p->page_fd : p->slices);
	if (r)
		return r;
	if (target) {
		p->state = ULTRA_OFFERED;
		return 0;
	}
	p->state = ULTRA_COMPLETE;
	ultra_offer_end(p);
	p->page->config.origin_upid = p->origin_upid;
	p->page->config.origin_vpid = p->origin->config.vpid;
	p->page->config.local = p->origin->realm == p->target->realm;
	/* Release: the target reads the configuration after ENABLED. */
	atomic_fetch_or_explicit(
		&p->page->flags, ULTRA_ENABLED, memory_order_release);
	return 0;
}
