/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HyperX: nodes with coordinates, and a link to every node that differs in one
 * coordinate. Ports are in the order of dimensions, and within a dimension in
 * the order of the nodes that they lead to. A full topology has one dimension;
 * a hypercube has dimensions of two nodes, and port d flips bit d of the node
 * number. A flattened butterfly is a HyperX with several hosts per node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "network/topology/class.h"

/* The first port of a dimension. */
static unsigned port_base(const struct topology *t, unsigned dimension)
{
	unsigned base = 0;
	for (unsigned d = 0; d < dimension; d++)
		base += t->size[d] - 1;
	return base;
}

static int hyperx_build(struct topology *t, const struct topology_class *class,
	const uint32_t *size, unsigned dimensions)
{
	uint64_t nodes = 1, ports = 0;
	if (dimensions == 0)
		return -EINVAL;
	for (unsigned d = 0; d < dimensions; d++) {
		if (size[d] < 2)
			return -EINVAL;
		nodes *= size[d];
		ports += size[d] - 1;
		if (ports > TOPOLOGY_PORTS_MAX || nodes > TOPOLOGY_NODES_MAX)
			return -E2BIG;
	}
	int r = topology_open(t, class, nodes, (unsigned)ports);
	if (r)
		return r;
	t->dimensions = dimensions;
	memcpy(t->size, size, dimensions * sizeof(*size));
	uint32_t step = 1;
	for (unsigned d = 0, base = 0; d < dimensions; d++) {
		for (uint32_t node = 0; node < t->nodes; node++) {
			uint32_t a = node / step % size[d];
			for (uint32_t b = a + 1; b < size[d]; b++)
				topology_link(t, node, base + b - 1,
					node + (b - a) * step, base + a);
		}
		base += size[d] - 1;
		step *= size[d];
	}
	return 0;
}

int topology_hypercube(struct topology *t, unsigned dimensions)
{
	uint32_t size[TOPOLOGY_DIMENSIONS_MAX];
	if (dimensions > TOPOLOGY_DIMENSIONS_MAX)
		return -E2BIG;
	for (unsigned d = 0; d < dimensions; d++)
		size[d] = 2;
	return hyperx_build(t, &topology_class_hypercube, size, dimensions);
}

int topology_full(struct topology *t, uint32_t nodes)
{
	return hyperx_build(t, &topology_class_full, &nodes, 1);
}

static int hypercube_open(
	struct topology *t, const uint32_t *size, unsigned count)
{
	return count == 1 ? topology_hypercube(t, *size) : -EINVAL;
}

static int full_open(struct topology *t, const uint32_t *size, unsigned count)
{
	return count == 1 ? topology_full(t, *size) : -EINVAL;
}

static int hyperx_open(struct topology *t, const uint32_t *size, unsigned count)
{
	return hyperx_build(t, &topology_class_hyperx, size, count);
}

static struct topology_step row_step(const struct topology *t,
	unsigned dimension, bool tie_down, uint32_t from, uint32_t to)
{
	(void)tie_down;
	return (struct topology_step){ .port = port_base(t, dimension) +
					       (to > from ? to - 1 : to),
		.hops = from != to,
		.to_dateline = UINT32_MAX };
}

static void hypercube_metric(const struct topology *t, struct metric *m)
{
	m->links = (uint64_t)t->nodes / 2 * t->dimensions;
	m->diameter = t->dimensions;
	m->distance = t->dimensions / 2.0;
	m->bisection = t->nodes;
	m->channel_load = 0.5;
}

static void full_metric(const struct topology *t, struct metric *m)
{
	uint64_t n = t->nodes;
	m->links = n * (n - 1) / 2;
	m->diameter = 1;
	m->distance = (double)(n - 1) / (double)n;
	m->bisection = 2 * (n / 2) * (n - n / 2);
	m->channel_load = 1.0 / (double)n;
}

const struct topology_class topology_class_hyperx = {
	.name = "hyperx",
	.sizes = "sizes of its dimensions",
	.sizes_least = 1,
	.sizes_most = TOPOLOGY_GRID_MAX,
	.size_least = 2,
	.standard = { 4, 4 },
	.standard_count = 2,
	.open = hyperx_open,
	.step = row_step,
	.routing = "dimension-order",
};

const struct topology_class topology_class_hypercube = {
	.name = "hypercube",
	.sizes = "dimensions",
	.sizes_least = 1,
	.sizes_most = 1,
	.size_least = 1,
	.standard = { 6 },
	.standard_count = 1,
	.open = hypercube_open,
	.metric = hypercube_metric,
	.step = row_step,
	.routing = "dimension-order",
};

const struct topology_class topology_class_full = {
	.name = "full",
	.sizes = "nodes",
	.sizes_least = 1,
	.sizes_most = 1,
	.size_least = 2,
	.standard = { 7 },
	.standard_count = 1,
	.open = full_open,
	.metric = full_metric,
	.step = row_step,
	.routing = "dimension-order",
};
