/* SPDX-License-Identifier: BSD-2-Clause */
/* See topology.h. */
#include "network/topology/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int topology_open(struct topology *t, enum topology_kind kind,
	uint64_t nodes, unsigned ports)
{
	if (nodes == 0)
		return -EINVAL;
	if (nodes > TOPOLOGY_NODES_MAX || ports > TOPOLOGY_PORTS_MAX)
		return -E2BIG;
	uint64_t count = nodes * (ports ? ports : 1);
	*t = (struct topology){
		.kind = kind, .nodes = (uint32_t)nodes, .ports = ports
	};
	t->neighbour = malloc(count * sizeof(*t->neighbour));
	t->peer_port = calloc(count, sizeof(*t->peer_port));
	if (!t->neighbour || !t->peer_port) {
		topology_free(t);
		return -ENOMEM;
	}
	memset(t->neighbour, 0xff, count * sizeof(*t->neighbour));
	return 0;
}

void topology_free(struct topology *t)
{
	free(t->neighbour);
	free(t->peer_port);
	*t = (struct topology){ 0 };
}

static void link_half(struct topology *t, uint32_t from, unsigned port,
	uint32_t to, unsigned peer_port)
{
	uint64_t at = (uint64_t)from * t->ports + port;
	t->neighbour[at] = to;
	t->peer_port[at] = (uint8_t)peer_port;
}

static void link_both(struct topology *t, uint32_t a, unsigned port_a,
	uint32_t b, unsigned port_b)
{
	link_half(t, a, port_a, b, port_b);
	link_half(t, b, port_b, a, port_a);
}

/* ---- meshes and tori ---- */

/* Difference of the node numbers of neighbours in a dimension. */
static uint32_t stride(const struct topology *t, unsigned dimension)
{
	uint32_t step = 1;
	for (unsigned d = 0; d < dimension; d++)
		step *= t->size[d];
	return step;
}

uint32_t topology_coordinate(
	const struct topology *t, uint32_t node, unsigned dimension)
{
	return node / stride(t, dimension) % t->size[dimension];
}

static int grid_open(struct topology *t, enum topology_kind kind,
	const uint32_t *size, unsigned dimensions)
{
	uint64_t nodes = 1;
	if (dimensions == 0 || dimensions > TOPOLOGY_DIMENSIONS_MAX)
		return -EINVAL;
	for (unsigned d = 0; d < dimensions; d++) {
		if (size[d] < 2)
			return -EINVAL;
		if (size[d] > TOPOLOGY_NODES_MAX)
			return -E2BIG;
		nodes *= size[d];
		if (nodes > TOPOLOGY_NODES_MAX)
			return -E2BIG;
	}
	int r = topology_open(t, kind, nodes, 2 * dimensions);
	if (r)
		return r;
	t->dimensions = dimensions;
	memcpy(t->size, size, dimensions * sizeof(*size));
	for (uint32_t node = 0; node < t->nodes; node++)
		for (unsigned d = 0; d < dimensions; d++) {
			uint32_t at = topology_coordinate(t, node, d);
			uint32_t step = stride(t, d);
			bool last = at == size[d] - 1;
			if (last && kind == TOPOLOGY_MESH)
				continue;
			link_both(t, node, 2 * d,
				last ? node - at * step : node + step,
				2 * d + 1);
		}
	return 0;
}

int topology_mesh(struct topology *t, const uint32_t *size, unsigned dimensions)
{
	return grid_open(t, TOPOLOGY_MESH, size, dimensions);
}

int topology_torus(
	struct topology *t, const uint32_t *size, unsigned dimensions)
{
	return grid_open(t, TOPOLOGY_TORUS, size, dimensions);
}

int topology_ring(struct topology *t, uint32_t nodes)
{
	return topology_torus(t, &nodes, 1);
}

/* ---- other topologies ---- */

int topology_hypercube(struct topology *t, unsigned dimensions)
{
	if (dimensions == 0)
		return -EINVAL;
	if (dimensions > 20)
		return -E2BIG;
	int r = topology_open(
		t, TOPOLOGY_HYPERCUBE, 1ull << dimensions, dimensions);
	if (r)
		return r;
	t->dimensions = dimensions;
	for (uint32_t node = 0; node < t->nodes; node++)
		for (unsigned d = 0; d < dimensions; d++)
			link_half(t, node, d, node ^ 1u << d, d);
	return 0;
}

int topology_full(struct topology *t, uint32_t nodes)
{
	if (nodes < 2)
		return -EINVAL;
	if (nodes > TOPOLOGY_PORTS_MAX + 1)
		return -E2BIG;
	int r = topology_open(t, TOPOLOGY_FULL, nodes, nodes - 1);
	if (r)
		return r;
	for (uint32_t a = 0; a < nodes; a++)
		for (uint32_t b = a + 1; b < nodes; b++)
			link_both(t, a, b - 1, b, a);
	return 0;
}

/* Returns the highest degree of a node, or -errno. */
static int graph_ports(
	uint32_t nodes, const struct topology_link *links, uint32_t count)
{
	uint32_t *degree = calloc(nodes, sizeof(*degree)), most = 0;
	if (!degree)
		return -ENOMEM;
	int r = 0;
	for (uint32_t i = 0; i < count && r == 0; i++) {
		const uint32_t *end = links[i].node;
		if (end[0] >= nodes || end[1] >= nodes || end[0] == end[1]) {
			r = -EINVAL;
			break;
		}
		for (int e = 0; e < 2; e++)
			if (++degree[end[e]] > most)
				most = degree[end[e]];
	}
	free(degree);
	if (r)
		return r;
	return most > TOPOLOGY_PORTS_MAX ? -E2BIG : (int)most;
}

int topology_graph(struct topology *t, uint32_t nodes,
	const struct topology_link *links, uint32_t count)
{
	if (nodes == 0)
		return -EINVAL;
	if (nodes > TOPOLOGY_NODES_MAX)
		return -E2BIG;
	int ports = graph_ports(nodes, links, count);
	if (ports < 0)
		return ports;
	uint8_t *used = calloc(nodes, 1);
	int r = used ? topology_open(t, TOPOLOGY_GRAPH, nodes, (unsigned)ports)
		     : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		uint32_t a = links[i].node[0], b = links[i].node[1];
		unsigned port_a = used[a]++, port_b = used[b]++;
		link_both(t, a, port_a, b, port_b);
	}
	free(used);
	return r;
}

/* ---- failures ---- */

int topology_cut(struct topology *t, uint32_t node, unsigned port)
{
	if (node >= t->nodes || port >= t->ports)
		return -EINVAL;
	uint64_t at = (uint64_t)node * t->ports + port;
	uint32_t next = t->neighbour[at];
	if (next == TOPOLOGY_NOWHERE)
		return 0;
	t->neighbour[(uint64_t)next * t->ports + t->peer_port[at]] =
		TOPOLOGY_NOWHERE;
	t->neighbour[at] = TOPOLOGY_NOWHERE;
	return 0;
}

int topology_isolate(struct topology *t, uint32_t node)
{
	if (node >= t->nodes)
		return -EINVAL;
	for (unsigned p = 0; p < t->ports; p++)
		topology_cut(t, node, p);
	return 0;
}
