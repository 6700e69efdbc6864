/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies: the neighbour at each link port of each node. A link connects two
 * ports, one at each end.
 *
 * Meshes and tori number their ports by dimension: 2 * d goes up, 2 * d + 1
 * goes down. Port d of a hypercube flips bit d of the node number. In a full
 * topology the ports of a node lead to all others in ascending order. The ports
 * of a graph are in the order in which its links are listed.
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
	uint8_t *peer_port;  /* by node and port: the port at the other end */
};

struct topology_link {
	uint32_t node[2];
};

/*
 * All of these return 0, -EINVAL (no nodes, a dimension of 0 or 1, a link from
 * a node to itself or to a node that does not exist), -E2BIG (too many nodes or
 * ports), -ENOMEM. Any thread.
 */
int topology_mesh(struct topology *, const uint32_t *size, unsigned dimensions);
/* A dimension of two nodes has two links between them. */
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
 * Remove a link, in both directions, or all links of a node; those that do not
 * exist are ignored. Return 0, or -EINVAL: no such node or port.
 */
int topology_cut(struct topology *, uint32_t node, unsigned port);
int topology_isolate(struct topology *, uint32_t node);

static inline uint32_t topology_next(
	const struct topology *t, uint32_t node, unsigned port)
{
	return t->neighbour[(uint64_t)node * t->ports + port];
}

/* The coordinate of a node in a dimension of a mesh or torus. */
uint32_t topology_coordinate(
	const struct topology *, uint32_t node, unsigned dimension);

#endif
