/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A spanning tree of a topology: each port of a node leads up (towards the
 * root), down, or is not part of the tree. Barriers and multicasts use it.
 */
#ifndef CAY_NETWORK_TOPOLOGY_TREE_H
#define CAY_NETWORK_TOPOLOGY_TREE_H

#include "network/topology/topology.h"

#define TREE_NO_PORT 0xff

struct tree {
	const struct topology *topology;
	uint32_t root;
	uint32_t reached; /* nodes; others are disconnected from the root */
	uint8_t *up;	  /* by node: port towards the root, or TREE_NO_PORT */
	uint32_t *down;	  /* by node: bits of the ports to its children */
	uint32_t *order;  /* nodes reached, parents before their children */
};

/* Builds the tree of least depth. Returns 0, -EINVAL: no such root, -ENOMEM. */
int tree_open(struct tree *, const struct topology *, uint32_t root);
void tree_free(struct tree *);
uint32_t tree_depth(const struct tree *);

/* The ports of a node that are part of the tree. */
static inline uint32_t tree_ports(const struct tree *t, uint32_t node)
{
	uint32_t up = t->up[node] == TREE_NO_PORT ? 0 : 1u << t->up[node];
	return t->down[node] | up;
}

#endif
