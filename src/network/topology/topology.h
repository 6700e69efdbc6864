/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies: routers, the hosts attached to them, and the neighbour at each
 * link port of each router. A link connects two ports, one at each end.
 *
 * Routers are the nodes of the graph; most topologies have one host at each,
 * with the number of its node. Otherwise a node has any number of hosts, also
 * none, and the hosts of a node have consecutive numbers, in the order of the
 * nodes. Traffic is between hosts.
 *
 * The kinds of topologies are described in class.h.
 */
#ifndef CAY_NETWORK_TOPOLOGY_TOPOLOGY_H
#define CAY_NETWORK_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#define TOPOLOGY_DIMENSIONS_MAX 20
#define TOPOLOGY_GRID_MAX	6 /* dimensions of a mesh or torus */
#define TOPOLOGY_PORTS_MAX	32
#define TOPOLOGY_HOSTS_MAX	15 /* of a node */
#define TOPOLOGY_NODES_MAX	(1u << 20)
#define TOPOLOGY_NOWHERE	UINT32_MAX

struct topology_class;

/* What distinguishes a link from others. */
struct topology_link_kind {
	uint16_t delay;	 /* cycles; 0: that of the router */
	uint16_t cycles; /* per flit; 0 and 1: one flit per cycle */
};

struct topology {
	const struct topology_class *class;
	uint32_t nodes, hosts;
	unsigned ports; /* of each node */
	unsigned dimensions;
	uint32_t size[TOPOLOGY_DIMENSIONS_MAX];
	uint64_t links;	     /* when it was built */
	uint32_t *neighbour; /* by node and port; or TOPOLOGY_NOWHERE */
	uint8_t *peer_port;  /* by node and port: the port at the other end */
	/* By node and port, at both ends; NULL: all links are alike. */
	struct topology_link_kind *link_kind;
	uint32_t *first_host; /* by node, and the end; NULL: one per node */
	uint32_t *host_node;  /* by host; NULL: one per node */
	/* By node: height in a tree of the topology; NULL: it has none. */
	uint32_t *level;
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
/* Copies a topology. Returns 0 or -ENOMEM. */
int topology_copy(struct topology *, const struct topology *from);
void topology_free(struct topology *);

/* ---- building ---- */

/* Opens a topology without links. Returns 0, -EINVAL, -E2BIG, -ENOMEM. */
int topology_open(struct topology *, const struct topology_class *,
	uint64_t nodes, unsigned ports);
/* Connects two ports. */
void topology_link(struct topology *, uint32_t a, unsigned port_a, uint32_t b,
	unsigned port_b);
/*
 * Sets the number of hosts of each node. Returns 0, -EINVAL (no hosts), -E2BIG
 * (more than TOPOLOGY_HOSTS_MAX at a node, or too many), -ENOMEM.
 */
int topology_hosts(struct topology *, const uint8_t *count);
/* Sets delay and width of the link at a port. Returns 0 or -ENOMEM. */
int topology_link_set(struct topology *, uint32_t node, unsigned port,
	struct topology_link_kind);

/* ---- failures ---- */

/*
 * Remove a link, in both directions, or all links of a node; those that do not
 * exist are ignored. Return 0, or -EINVAL: no such node or port.
 */
int topology_cut(struct topology *, uint32_t node, unsigned port);
int topology_isolate(struct topology *, uint32_t node);

/* ---- queries ---- */

static inline uint32_t topology_next(
	const struct topology *t, uint32_t node, unsigned port)
{
	return t->neighbour[(uint64_t)node * t->ports + port];
}

/* The node of a host. */
static inline uint32_t topology_host_node(
	const struct topology *t, uint32_t host)
{
	return t->host_node ? t->host_node[host] : host;
}

/* The first host of a node, or of the nodes after it if it has none. */
static inline uint32_t topology_first_host(
	const struct topology *t, uint32_t node)
{
	return t->first_host ? t->first_host[node] : node;
}

static inline uint32_t topology_host_count(
	const struct topology *t, uint32_t node)
{
	return topology_first_host(t, node + 1) - topology_first_host(t, node);
}

/* The coordinate of a node in a dimension. */
uint32_t topology_coordinate(
	const struct topology *, uint32_t node, unsigned dimension);

#endif
