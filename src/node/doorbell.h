/* SPDX-License-Identifier: BSD-2-Clause */
/* Ringing the doorbells of ports that sleep in epoll. */
#ifndef CAY_NODE_DOORBELL_H
#define CAY_NODE_DOORBELL_H

#include "node/node.h"

/* arena.ring_doorbell of the node. */
void doorbell_ring_node(struct context *to);
void doorbell_ring_port(struct vport *);

#endif
