/* SPDX-License-Identifier: BSD-2-Clause */
/* The node's way to ring ports that sleep in epoll. */
#ifndef CAY_NODE_DOORBELL_H
#define CAY_NODE_DOORBELL_H

#include "node/node.h"

/* struct arena's interrupt line. */
void doorbell_ring_node(struct context *to);
void doorbell_ring_port(struct vport *);

#endif
