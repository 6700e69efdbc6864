/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells: one per port that has called cay_port_fd(). A sender fetches the
 * writing end from the node once and caches it. If it has no free descriptor,
 * the node rings for it.
 */
#include "port/doorbell.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "port/lock.h"
#include "port/port.h"

#define DOORBELL_CALLS_MAX 64
#define DOORBELL_WAIT_NS   (100 * CLOCK_NS_PER_MS)

/* Under m->lock. */
static void doorbell_drop(struct member *m, struct doorbell *d)
{
	close(d->fd);
	d->epoch = 0;
	m->doorbell_count--;
}

/*
 * Under m->lock. Closes descriptors of ports that are gone. Runs when twice as
 * many descriptors are cached as were in use after the last time.
 */
static void doorbells_sweep(struct member *m)
{
	struct arena_entry *entries = arena_directory(&m->arena);
	m->doorbell_count = 0;
	for (uint32_t i = 0; i < CAY_VPIDS; i++) {
		struct doorbell *d = &m->doorbells[i];
		if (d->epoch && atomic_load_explicit(&entries[i].epoch,
					memory_order_acquire) != d->epoch) {
			close(d->fd);
			d->epoch = 0;
		}
		m->doorbell_count += d->epoch != 0;
	}
	m->doorbell_limit = 2 * m->doorbell_count + 64;
}

/* Under m->lock. Returns the cached or fetched descriptor, or -errno. */
static int doorbell_get(struct member *m, struct context *to)
{
	struct node_request request = { .kind = NODE_DOORBELL_GET };
	struct node_reply reply;
	int fd = -1;
	if (!m->doorbells)
		m->doorbells = calloc(CAY_VPIDS, sizeof(*m->doorbells));
	if (!m->doorbells)
		return -ENOMEM;
	struct doorbell *d = &m->doorbells[to->vpid];
	if (d->epoch == to->epoch)
		return d->fd;
	if (d->epoch)
		doorbell_drop(m, d);
	if (m->doorbell_count >= m->doorbell_limit)
		doorbells_sweep(m);
	/* A sender does not wait for a node that is slow: it rings then. */
	if (control_slow(m))
		return -EAGAIN;
	request.doorbell.vpid = to->vpid;
	request.doorbell.epoch = to->epoch;
	int r = control_call_until(
		m, &request, &reply, &fd, clock_after_ns(DOORBELL_WAIT_NS));
	if (r)
		return r;
	if (fd >= 0) {
		*d = (struct doorbell){ to->epoch, fd };
		m->doorbell_count++;
	}
	return fd;
}

void doorbell_ring(struct context *to)
{
	struct member *m = list_of(to->arena, struct member, arena);
	struct node_request request = { .kind = NODE_DOORBELL_RING };
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	int fd = doorbell_get(m, to);
	/* EAGAIN: it is full, and therefore readable. */
	bool rung = fd >= 0 &&
		    (send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ||
			    errno == EAGAIN);
	/* The port may have got another doorbell. */
	if (fd >= 0 && !rung)
		doorbell_drop(m, &m->doorbells[to->vpid]);
	lock_drop(&m->lock, &guard);
	if (rung)
		return;
	request.doorbell.vpid = to->vpid;
	request.doorbell.epoch = to->epoch;
	/* A reply is not needed: what is sent before the node exits, it reads.
	 */
	control_post(m, &request);
}

void doorbells_close(struct member *m)
{
	for (uint32_t i = 0; m->doorbells && i < CAY_VPIDS; i++)
		if (m->doorbells[i].epoch)
			close(m->doorbells[i].fd);
	free(m->doorbells);
	m->doorbells = NULL;
}

/*
 * The node limits the bytes that fit, so one call reads them. A member that
 * raised the limit and rings all the time cannot keep the caller here.
 */
void doorbell_clear(int fd)
{
	struct mmsghdr bytes[8] = { 0 };
	int n, calls = 0;
	do
		n = recvmmsg(fd, bytes, ARRAY_COUNT(bytes), MSG_DONTWAIT, NULL);
	while (n == (int)ARRAY_COUNT(bytes) && ++calls < DOORBELL_CALLS_MAX);
}

int cay_port_fd(struct cay_port *port)
{
	struct node_request request = { .kind = NODE_DOORBELL_SET };
	struct node_reply reply;
	struct lock_guard guard;
	if (!port_usable(port))
		return port_error(port);
	lock_take(&port->lock, &guard);
	int r = 0, fd = port->doorbell;
	if (fd >= 0)
		goto out;
	request.doorbell.vpid = port->origin.vpid;
	r = control_call(port->member, &request, &reply, &fd);
	if (r == 0 && fd < 0)
		r = -EPROTO;
	if (r)
		goto out;
	atomic_store_explicit(&port->consumer.own->control->doorbell, 1,
		memory_order_release);
	port->doorbell = fd;
out:
	lock_drop(&port->lock, &guard);
	return r ? r : fd;
}
