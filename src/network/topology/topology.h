/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies: which link port of which node leads where. A link is a pair of
 * ports, one at each end; ports without a link lead nowhere.
 *
 * Meshes and tori number their ports by dimension: 2 * d goes up, 2 * d + 1
 * goes down. A hypercube's port d flips bit d. In a full topology the ports of
 * a node lead to all others in the order of their numbers. A graph has them in
 * the order in which links were given.
 */
#ifndef CAY_NETWORK_TOPOLOGY_TOPOLOGY_H
#define CAY_NETWORK_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#define TOPOLOGY_DIMENSIONS_MAX 3
#define TOPOLOGY_PORTS_MAX	32
#define TOPOLOGY_NODES_MAX	(1u << 20)
#define TOPOLOGY_NOWHERE	UINT32_MAX

enum topology_kind {
	TOPOLOGY_MESH,
	TOPOLOGY_TORUS,
	TOPOLOGY_HYPERCUBE,
	TOPOLOGY_FULL,
	TOPOLOGY_GRAPH,
};

struct topology {
	enum topology_kind kind;
	uint32_t nodes;
	unsigned ports; /* of each node */
	unsigned dimensions;
	uint32_t size[TOPOLOGY_DIMENSIONS_MAX]; /* of meshes and tori */
	uint32_t *neighbour; /* by node and port; or TOPOLOGY_NOWHERE */
	uint8_t *entrance;   /* likewise: the port by which one gets there */
};

struct topology_link {
	uint32_t node[2];
};

/*
 * All of them: 0, -EINVAL (no nodes, a dimension of 0 or 1, a link to oneself
 * or to nowhere), -E2BIG (more nodes or ports than there may be), -ENOMEM. Any
 * thread.
 */
int topology_mesh(struct topology *, const uint32_t *size, unsigned dimensions);
/* In a torus of two nodes per dimension both directions are links. */
int topology_torus(
	struct topology *, const uint32_t *size, unsigned dimensions);
/* A torus of one dimension. */
int topology_ring(struct topology *, uint32_t nodes);
int topology_hypercube(struct topology *, unsigned dimensions);
int topology_full(struct topology *, uint32_t nodes);
int topology_graph(struct topology *, uint32_t nodes,
	const struct topology_link *, uint32_t count);
void topology_free(struct topology *);

/*
 * Take away a link, in both directions, or all links of a node. What is not
 * there is gone already. 0, or -EINVAL: no such node or port.
 */
int topology_cut(struct topology *, uint32_t node, unsigned port);
int topology_isolate(struct topology *, uint32_t node);

static inline uint32_t topology_next(
	const struct topology *t, uint32_t node, unsigned port)
{
	return t->neighbour[(uint64_t)node * t->ports + port];
}

/* Where a node is in one dimension of a mesh or torus. */
uint32_t topology_coordinate(
	const struct topology *, uint32_t node, unsigned dimension);
const char *topology_name(enum topology_kind);

#endif
