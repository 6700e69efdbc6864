/* SPDX-License-Identifier: BSD-2-Clause */
/* Graphs of any links. Ports are in the order in which links are listed. */
#include <errno.h>
#include <stdlib.h>

#include "network/topology/class.h"

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
	*t = (struct topology){ 0 };
	if (nodes == 0)
		return -EINVAL;
	if (nodes > TOPOLOGY_NODES_MAX)
		return -E2BIG;
	int ports = graph_ports(nodes, links, count);
	if (ports < 0)
		return ports;
	uint8_t *used = calloc(nodes, 1);
	int r = used ? topology_open(
			       t, &topology_class_graph, nodes, (unsigned)ports)
		     : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		uint32_t a = links[i].node[0], b = links[i].node[1];
		unsigned port_a = used[a]++, port_b = used[b]++;
		topology_link(t, a, port_a, b, port_b);
	}
	free(used);
	if (r)
		topology_free(t);
	return r;
}

const struct topology_class topology_class_graph = {
	.name = "graph",
	.routing = "minimal",
};
