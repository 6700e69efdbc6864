/* SPDX-License-Identifier: BSD-2-Clause */
/* See doorbell.h. */
#include "node/doorbell.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int doorbell_make(struct vport *port, int *reader)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		    ends) != 0)
		return -errno;
	/* A few bytes at most, so that the port reads them all at once. */
	const int least = 0;
	if (shutdown(ends[0], SHUT_WR) != 0 ||
		shutdown(ends[1], SHUT_RD) != 0 ||
		setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &least,
			sizeof(least)) != 0) {
		int r = -errno;
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (port->doorbell >= 0)
		close(port->doorbell);
	port->doorbell = ends[1];
	*reader = ends[0];
	return 0;
}

void doorbell_ring_port(struct vport *port)
{
	/* EAGAIN: it is full, and therefore readable. */
	if (port->doorbell >= 0)
		send(port->doorbell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void doorbell_ring_node(struct context *to)
{
	struct realm *realm = list_of(to->arena, struct realm, arena);
	struct vport *port = vport_at(realm, to->vpid);
	if (port)
		doorbell_ring_port(port);
}
