/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Meshes and tori. Nodes are numbered with the first dimension varying fastest.
 * Ports are numbered by dimension: 2 * d goes up, 2 * d + 1 goes down. The
 * dateline of a ring is after its last node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "network/topology/class.h"

static int grid_open(struct topology *t, const struct topology_class *class,
	const uint32_t *size, unsigned dimensions)
{
	uint64_t nodes = 1;
	if (dimensions == 0 || dimensions > TOPOLOGY_GRID_MAX)
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
	int r = topology_open(t, class, nodes, 2 * dimensions);
	if (r)
		return r;
	t->dimensions = dimensions;
	memcpy(t->size, size, dimensions * sizeof(*size));
	for (uint32_t node = 0; node < t->nodes; node++)
		for (uint32_t d = 0, step = 1; d < dimensions; d++) {
			uint32_t at = node / step % size[d];
			bool last = at == size[d] - 1;
			if (!last || class->rings)
				topology_link(t, node, 2 * d,
					last ? node - at * step : node + step,
					2 * d + 1);
			step *= size[d];
		}
	return 0;
}

int topology_mesh(struct topology *t, const uint32_t *size, unsigned dimensions)
{
	return grid_open(t, &topology_class_mesh, size, dimensions);
}

int topology_torus(
	struct topology *t, const uint32_t *size, unsigned dimensions)
{
	return grid_open(t, &topology_class_torus, size, dimensions);
}

int topology_ring(struct topology *t, uint32_t nodes)
{
	return grid_open(t, &topology_class_ring, &nodes, 1);
}

static int ring_open(struct topology *t, const uint32_t *size, unsigned count)
{
	return count == 1 ? topology_ring(t, *size) : -EINVAL;
}

/* ---- ways within a dimension ---- */

static struct topology_step ring_step(const struct topology *t,
	unsigned dimension, bool tie_down, uint32_t from, uint32_t to)
{
	uint32_t size = t->size[dimension];
	uint32_t up = to >= from ? to - from : to + size - from;
	uint32_t down = up ? size - up : 0;
	bool rises = up < down || (up == down && !tie_down);
	return (struct topology_step){ .port = 2 * dimension + !rises,
		.hops = rises ? up : down,
		.to_dateline = rises ? size - from : from + 1 };
}

static struct topology_step line_step(const struct topology *t,
	unsigned dimension, bool tie_down, uint32_t from, uint32_t to)
{
	bool rises = to >= from;
	(void)t;
	(void)tie_down;
	return (struct topology_step){ .port = 2 * dimension + !rises,
		.hops = rises ? to - from : from - to,
		.to_dateline = UINT32_MAX };
}

/* ---- closed forms ---- */

static double max_double(double a, double b)
{
	return a > b ? a : b;
}

/* Pairs of nodes on both sides of the middle of a row. */
static double halves(uint32_t size)
{
	return (double)(size / 2) * (size - size / 2);
}

/* The hops from a node of a ring to all nodes are halves(size). */
static void ring_add(struct metric *m, uint32_t size)
{
	m->diameter += size / 2;
	m->distance += halves(size) / size;
	/* Half of these hops go up, and every node has one channel up. */
	m->channel_load = max_double(m->channel_load, halves(size) / size / 2);
}

static void line_add(struct metric *m, uint32_t size)
{
	m->diameter += size - 1;
	m->distance += ((double)size * size - 1) / (3.0 * size);
	/* The channel in the middle carries halves(size) of the pairs. */
	m->channel_load = max_double(m->channel_load, halves(size) / size);
}

static int size_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

/*
 * The lines that a bisection of a mesh cuts. The cut is perpendicular to the
 * longest dimension if that is even; if it is odd, the nodes in the middle form
 * a mesh with one dimension less, which is bisected in turn.
 */
static uint64_t grid_cut(const struct topology *t)
{
	uint32_t size[TOPOLOGY_DIMENSIONS_MAX];
	uint64_t lines = t->nodes, cut = 0;
	memcpy(size, t->size, sizeof(size));
	qsort(size, t->dimensions, sizeof(*size), size_order);
	for (unsigned d = 0; d < t->dimensions; d++) {
		lines /= size[d];
		cut += lines;
		if (size[d] % 2 == 0)
			break;
	}
	return cut;
}

static void torus_metric(const struct topology *t, struct metric *m)
{
	m->links = (uint64_t)t->nodes * t->dimensions;
	/* A ring is cut twice, and a link has two channels. */
	m->bisection = 4 * grid_cut(t);
	for (unsigned d = 0; d < t->dimensions; d++)
		ring_add(m, t->size[d]);
}

static void mesh_metric(const struct topology *t, struct metric *m)
{
	for (unsigned d = 0; d < t->dimensions; d++) {
		m->links += t->nodes - t->nodes / t->size[d];
		line_add(m, t->size[d]);
	}
	m->bisection = 2 * grid_cut(t);
}

const struct topology_class topology_class_torus = {
	.name = "torus",
	.sizes = "sizes of its dimensions",
	.sizes_least = 1,
	.sizes_most = TOPOLOGY_GRID_MAX,
	.size_least = 2,
	.standard = { 8, 8, 8 },
	.standard_count = 3,
	.open = topology_torus,
	.metric = torus_metric,
	.step = ring_step,
	.grid = true,
	.rings = true,
	.routing = "dimension-order",
};

const struct topology_class topology_class_ring = {
	.name = "ring",
	.sizes = "nodes",
	.sizes_least = 1,
	.sizes_most = 1,
	.size_least = 2,
	.standard = { 16 },
	.standard_count = 1,
	.open = ring_open,
	.metric = torus_metric,
	.step = ring_step,
	.grid = true,
	.rings = true,
	.routing = "dimension-order",
};

const struct topology_class topology_class_mesh = {
	.name = "mesh",
	.sizes = "sizes of its dimensions",
	.sizes_least = 1,
	.sizes_most = TOPOLOGY_GRID_MAX,
	.size_least = 2,
	.standard = { 8, 8 },
	.standard_count = 2,
	.open = topology_mesh,
	.metric = mesh_metric,
	.step = line_step,
	.grid = true,
	.routing = "dimension-order",
};
