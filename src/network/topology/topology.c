/* SPDX-License-Identifier: BSD-2-Clause */
/* See topology.h. */
#include "network/topology/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int topology_open(struct topology *t, const struct topology_class *class,
	uint64_t nodes, unsigned ports)
{
	if (nodes == 0)
		return -EINVAL;
	if (nodes > TOPOLOGY_NODES_MAX || ports > TOPOLOGY_PORTS_MAX)
		return -E2BIG;
	uint64_t count = nodes * (ports ? ports : 1);
	*t = (struct topology){ .class = class,
		.nodes = (uint32_t)nodes,
		.hosts = (uint32_t)nodes,
		.ports = ports };
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
	free(t->link_kind);
	free(t->first_host);
	free(t->host_node);
	free(t->level);
	*t = (struct topology){ 0 };
}

static void *array_copy(const void *from, uint64_t bytes, bool *failed)
{
	void *to = from ? malloc(bytes + 1) : NULL;
	*failed |= from && !to;
	return to ? memcpy(to, from, bytes) : NULL;
}

int topology_copy(struct topology *t, const struct topology *from)
{
	uint64_t ends = (uint64_t)from->nodes * from->ports;
	bool failed = false;
	*t = *from;
	t->neighbour = array_copy(
		from->neighbour, ends * sizeof(*t->neighbour), &failed);
	t->peer_port = array_copy(from->peer_port, ends, &failed);
	t->link_kind = array_copy(
		from->link_kind, ends * sizeof(*t->link_kind), &failed);
	t->first_host = array_copy(from->first_host,
		(from->nodes + 1ull) * sizeof(*t->first_host), &failed);
	t->host_node = array_copy(
		from->host_node, from->hosts * sizeof(*t->host_node), &failed);
	t->level = array_copy(
		from->level, from->nodes * sizeof(*t->level), &failed);
	if (!failed)
		return 0;
	topology_free(t);
	return -ENOMEM;
}

/* ---- building ---- */

void topology_link(struct topology *t, uint32_t a, unsigned port_a, uint32_t b,
	unsigned port_b)
{
	uint64_t at = (uint64_t)a * t->ports + port_a;
	uint64_t peer = (uint64_t)b * t->ports + port_b;
	t->neighbour[at] = b;
	t->peer_port[at] = (uint8_t)port_b;
	t->neighbour[peer] = a;
	t->peer_port[peer] = (uint8_t)port_a;
	t->links++;
}

int topology_hosts(struct topology *t, const uint8_t *count)
{
	uint64_t hosts = 0;
	for (uint32_t node = 0; node < t->nodes; node++) {
		if (count[node] > TOPOLOGY_HOSTS_MAX)
			return -E2BIG;
		hosts += count[node];
	}
	if (hosts == 0)
		return -EINVAL;
	if (hosts > TOPOLOGY_NODES_MAX)
		return -E2BIG;
	uint32_t *first = malloc((t->nodes + 1ull) * sizeof(*first));
	uint32_t *node_of = malloc(hosts * sizeof(*node_of));
	if (!first || !node_of) {
		free(first);
		free(node_of);
		return -ENOMEM;
	}
	uint32_t host = 0;
	for (uint32_t node = 0; node < t->nodes; node++) {
		first[node] = host;
		for (unsigned i = 0; i < count[node]; i++)
			node_of[host++] = node;
	}
	first[t->nodes] = host;
	free(t->first_host);
	free(t->host_node);
	t->hosts = host;
	t->first_host = first;
	t->host_node = node_of;
	return 0;
}

int topology_link_set(struct topology *t, uint32_t node, unsigned port,
	struct topology_link_kind kind)
{
	uint64_t ends = (uint64_t)t->nodes * t->ports;
	uint64_t at = (uint64_t)node * t->ports + port;
	if (!t->link_kind)
		t->link_kind = calloc(ends, sizeof(*t->link_kind));
	if (!t->link_kind)
		return -ENOMEM;
	uint64_t peer =
		(uint64_t)t->neighbour[at] * t->ports + t->peer_port[at];
	t->link_kind[at] = t->link_kind[peer] = kind;
	return 0;
}

/* ---- coordinates ---- */

uint32_t topology_coordinate(
	const struct topology *t, uint32_t node, unsigned dimension)
{
	for (unsigned d = 0; d < dimension; d++)
		node /= t->size[d];
	return node % t->size[dimension];
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
