/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells: one eventfd per port that has called cay_port_fd(). A sender
 * fetches the descriptor from the node once and caches it. If it has no free
 * descriptor, the node rings for it.
 */
#include "port/doorbell.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "port/lock.h"
#include "port/port.h"

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
	if (d->epoch) {
		close(d->fd);
		d->epoch = 0;
		m->doorbell_count--;
	}
	if (m->doorbell_count >= m->doorbell_limit)
		doorbells_sweep(m);
	request.doorbell.vpid = to->vpid;
	request.doorbell.epoch = to->epoch;
	int r = control_call(m, &request, -1, &reply, &fd);
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
	struct node_reply reply;
	struct lock_guard guard;
	uint64_t one = 1;
	lock_take(&m->lock, &guard);
	int fd = doorbell_get(m, to);
	/* EAGAIN: the counter is at its maximum, so the fd is readable. */
	bool rung = fd >= 0 && (write(fd, &one, sizeof(one)) == sizeof(one) ||
				       errno == EAGAIN);
	lock_drop(&m->lock, &guard);
	if (rung)
		return;
	request.doorbell.vpid = to->vpid;
	request.doorbell.epoch = to->epoch;
	control_call(m, &request, -1, &reply, NULL);
}

void doorbells_close(struct member *m)
{
	for (uint32_t i = 0; m->doorbells && i < CAY_VPIDS; i++)
		if (m->doorbells[i].epoch)
			close(m->doorbells[i].fd);
	free(m->doorbells);
	m->doorbells = NULL;
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
	/* The node keeps a copy of the eventfd for senders. */
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0) {
		r = -errno;
		goto out;
	}
	request.doorbell.vpid = port->origin.vpid;
	r = control_call(port->member, &request, fd, &reply, NULL);
	if (r) {
		close(fd);
		goto out;
	}
	atomic_store_explicit(&port->consumer.own->control->doorbell, 1,
		memory_order_release);
	port->doorbell = fd;
out:
	lock_drop(&port->lock, &guard);
	return r ? r : fd;
}
