/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree over the nodes of a topology, embedded in its links: each port of a
 * node is up (towards the root), down, or not of the tree. Barriers collect and
 * release along it, multicasts spread along it.
 */
#ifndef CAY_NETWORK_TOPOLOGY_TREE_H
#define CAY_NETWORK_TOPOLOGY_TREE_H

#include "network/topology/topology.h"

#define TREE_NO_PORT 0xff

struct tree {
	const struct topology *topology;
	uint32_t root;
	uint32_t reached; /* nodes; others are cut off from the root */
	uint8_t *up;	  /* by node: port towards the root, or TREE_NO_PORT */
	uint32_t *down;	  /* by node: bits of the ports to its children */
	uint32_t *order;  /* nodes reached, parents before their children */
};

/* Breadth first, so of the least depth. 0, -EINVAL (no such root), -ENOMEM. */
int tree_open(struct tree *, const struct topology *, uint32_t root);
void tree_free(struct tree *);
uint32_t tree_depth(const struct tree *);

/* All ports of the tree, up and down. */
static inline uint32_t tree_ports(const struct tree *t, uint32_t node)
{
	uint32_t up = t->up[node] == TREE_NO_PORT ? 0 : 1u << t->up[node];
	return t->down[node] | up;
}

#endif
