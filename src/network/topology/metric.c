/* SPDX-License-Identifier: BSD-2-Clause */
/* See metric.h. */
#include "network/topology/metric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines and rings ---- */

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

/* ---- closed forms ---- */

static void closed_metric(const struct topology *t, struct metric *m)
{
	uint64_t n = t->nodes;
	switch (t->kind) {
	case TOPOLOGY_TORUS:
		m->links = n * t->dimensions;
		/* A ring is cut twice, and a link has two channels. */
		m->bisection = 4 * grid_cut(t);
		for (unsigned d = 0; d < t->dimensions; d++)
			ring_add(m, t->size[d]);
		break;
	case TOPOLOGY_MESH:
		for (unsigned d = 0; d < t->dimensions; d++) {
			m->links += n - n / t->size[d];
			line_add(m, t->size[d]);
		}
		m->bisection = 2 * grid_cut(t);
		break;
	case TOPOLOGY_HYPERCUBE:
		m->links = n / 2 * t->dimensions;
		m->diameter = t->dimensions;
		m->distance = t->dimensions / 2.0;
		m->bisection = n;
		m->channel_load = 0.5;
		break;
	case TOPOLOGY_FULL:
		m->links = n * (n - 1) / 2;
		m->diameter = 1;
		m->distance = (double)(n - 1) / (double)n;
		m->bisection = 2 * (n / 2) * (n - n / 2);
		m->channel_load = 1.0 / (double)n;
		break;
	case TOPOLOGY_GRAPH:
		break;
	}
}

/* ---- search ---- */

struct distance_search {
	uint32_t *distance; /* by node */
	uint32_t *queue;
	uint64_t hops; /* from all nodes so far to all others */
	uint32_t farthest;
};

/* Adds the distances from a node to all others. 0 or -EHOSTUNREACH. */
static int search_from(
	struct distance_search *s, const struct topology *t, uint32_t from)
{
	uint32_t first = 0, last = 0, far = 0;
	memset(s->distance, 0xff, t->nodes * sizeof(*s->distance));
	s->distance[from] = 0;
	s->queue[last++] = from;
	while (first < last) {
		uint32_t node = s->queue[first++];
		far = s->distance[node];
		s->hops += far;
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next == TOPOLOGY_NOWHERE ||
				s->distance[next] != UINT32_MAX)
				continue;
			s->distance[next] = far + 1;
			s->queue[last++] = next;
		}
	}
	if (far > s->farthest)
		s->farthest = far;
	return last == t->nodes ? 0 : -EHOSTUNREACH;
}

static int searched_metric(const struct topology *t, struct metric *m)
{
	struct distance_search s = { 0 };
	int r = 0;
	if (t->nodes > METRIC_SEARCH_MAX)
		return -E2BIG;
	s.distance = malloc(t->nodes * sizeof(*s.distance));
	s.queue = malloc(t->nodes * sizeof(*s.queue));
	if (!s.distance || !s.queue)
		r = -ENOMEM;
	for (uint32_t node = 0; r == 0 && node < t->nodes; node++)
		r = search_from(&s, t, node);
	free(s.distance);
	free(s.queue);
	if (r)
		return r;
	m->diameter = s.farthest;
	m->distance = (double)s.hops / t->nodes / t->nodes;
	/* A single node has no channels and no hops. */
	if (m->links)
		m->channel_load = (double)s.hops / t->nodes / 2 / m->links;
	return 0;
}

int metric_of(const struct topology *t, struct metric *out)
{
	struct metric m = { .nodes = t->nodes };
	uint64_t ports = (uint64_t)t->nodes * t->ports, ends = 0;
	int r = 0;
	for (uint64_t i = 0; i < ports; i++)
		ends += t->neighbour[i] != TOPOLOGY_NOWHERE;
	uint64_t links = ends / 2;
	closed_metric(t, &m);
	if (t->kind == TOPOLOGY_GRAPH || m.links != links) {
		m = (struct metric){ .nodes = t->nodes, .links = links };
		r = searched_metric(t, &m);
	}
	if (r)
		return r;
	if (t->nodes > 1)
		m.distance_far = m.distance * t->nodes / (t->nodes - 1);
	*out = m;
	return 0;
}
