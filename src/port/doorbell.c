/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbells: an eventfd per port that asked for one. A sender that has to ring
 * gets the descriptor from the node once and keeps it; where descriptors have
 * run out, the node rings for it.
 */
#include "port/doorbell.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "port/lock.h"
#include "port/port.h"

static bool bell_write(int fd)
{
	uint64_t one = 1;
	/* EAGAIN: the counter is full, so it is readable anyway. */
	return write(fd, &one, sizeof(one)) == sizeof(one) || errno == EAGAIN;
}

static struct bell *bell_entry(struct member *m, uint16_t vpid)
{
	if (!m->bells)
		m->bells = calloc(CAY_VPIDS, sizeof(*m->bells));
	return m->bells ? &m->bells[vpid] : NULL;
}

static int bell_fetch(struct member *m, struct context *to)
{
	struct node_request request = { .kind = NODE_DOORBELL_GET };
	struct node_reply reply;
	int fd = -1;
	request.doorbell.vpid = to->vpid;
	request.doorbell.epoch = to->epoch;
	int r = control_call(m, &request, -1, &reply, &fd);
	return r ? r : fd;
}

/*
 * Under m->lock. Closes what rings nobody any more, when twice as many have
 * come together as were in use the last time.
 */
static void bells_sweep(struct member *m)
{
	struct arena_entry *entries = arena_directory(&m->arena);
	m->bell_count = 0;
	for (uint32_t i = 0; i < CAY_VPIDS; i++) {
		struct bell *bell = &m->bells[i];
		if (bell->epoch &&
			atomic_load_explicit(&entries[i].epoch,
				memory_order_acquire) != bell->epoch) {
			close(bell->fd);
			bell->epoch = 0;
		}
		m->bell_count += bell->epoch != 0;
	}
	m->bell_limit = 2 * m->bell_count + 64;
}

/* Under m->lock. The descriptor kept for this port, or -errno. */
static int bell_of(struct member *m, struct context *to)
{
	struct bell *bell = bell_entry(m, to->vpid);
	if (!bell)
		return -ENOMEM;
	if (bell->epoch == to->epoch)
		return bell->fd;
	if (bell->epoch) {
		close(bell->fd);
		bell->epoch = 0;
		m->bell_count--;
	}
	if (m->bell_count >= m->bell_limit)
		bells_sweep(m);
	int fd = bell_fetch(m, to);
	if (fd >= 0) {
		*bell = (struct bell){ to->epoch, fd };
		m->bell_count++;
	}
	return fd;
}

static void bell_ask_node(struct member *m, struct context *to)
{
	struct node_request request = { .kind = NODE_DOORBELL_RING };
	struct node_reply reply;
	request.doorbell.vpid = to->vpid;
	request.doorbell.epoch = to->epoch;
	control_call(m, &request, -1, &reply, NULL);
}

void doorbell_ring(struct context *to)
{
	struct member *m = list_of(to->arena, struct member, arena);
	struct lock_guard guard;
	lock_take(&m->lock, &guard);
	int fd = bell_of(m, to);
	bool rung = fd >= 0 && bell_write(fd);
	lock_drop(&m->lock, &guard);
	if (!rung)
		bell_ask_node(m, to);
}

void doorbell_forget(struct member *m)
{
	for (uint32_t i = 0; m->bells && i < CAY_VPIDS; i++)
		if (m->bells[i].epoch)
			close(m->bells[i].fd);
	free(m->bells);
	m->bells = NULL;
}

static int bell_make(struct cay_port *port)
{
	struct node_request request = { .kind = NODE_DOORBELL_SET };
	struct node_reply reply;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	request.doorbell.vpid = port->origin.vpid;
	int r = control_call(port->member, &request, fd, &reply, NULL);
	if (r) {
		close(fd);
		return r;
	}
	struct context *own = port->intake.own;
	atomic_store_explicit(&own->control->doorbell, 1, memory_order_release);
	return fd;
}

int cay_port_fd(struct cay_port *port)
{
	if (!port_here(port))
		return port_absent(port);
	struct lock_guard guard;
	lock_take(&port->lock, &guard);
	int fd = port->bell;
	if (fd < 0) {
		fd = bell_make(port);
		if (fd >= 0)
			port->bell = fd;
	}
	lock_drop(&port->lock, &guard);
	return fd;
}
