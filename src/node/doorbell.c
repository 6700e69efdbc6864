/* SPDX-License-Identifier: BSD-2-Clause */
/* See doorbell.h. */
#include "node/doorbell.h"

#include <poll.h>
#include <unistd.h>

void doorbell_ring_port(struct vport *port)
{
	uint64_t one = 1;
	struct pollfd writable = { .fd = port->doorbell, .events = POLLOUT };
	/* The owner may have made the eventfd blocking: never wait here. */
	if (poll(&writable, 1, 0) <= 0)
		return;
	if (port->doorbell >= 0 && write(port->doorbell, &one, sizeof(one)) < 0)
		return; /* The counter is full: the eventfd is readable. */
}

void doorbell_ring_node(struct context *to)
{
	struct realm *realm = list_of(to->arena, struct realm, arena);
	struct vport *port = realm->node->ports[to->vpid];
	if (port && port->realm == realm)
		doorbell_ring_port(port);
}
