/* SPDX-License-Identifier: BSD-2-Clause */
/* See metric.h. */
#include "network/topology/class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- search ---- */

struct distance_search {
	uint32_t *distance; /* by node */
	uint32_t *queue;
	uint64_t hops; /* from all hosts so far to all hosts */
	uint32_t farthest;
};

/* Adds the distances from the hosts of a node. 0 or -EHOSTUNREACH. */
static int search_from(
	struct distance_search *s, const struct topology *t, uint32_t from)
{
	uint32_t first = 0, last = 0, reached = 0;
	uint32_t hosts = topology_host_count(t, from);
	if (hosts == 0)
		return 0;
	memset(s->distance, 0xff, t->nodes * sizeof(*s->distance));
	s->distance[from] = 0;
	s->queue[last++] = from;
	while (first < last) {
		uint32_t node = s->queue[first++];
		uint32_t far = s->distance[node];
		uint32_t there = topology_host_count(t, node);
		s->hops += (uint64_t)hosts * there * far;
		reached += there;
		if (there && far > s->farthest)
			s->farthest = far;
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next == TOPOLOGY_NOWHERE ||
				s->distance[next] != UINT32_MAX)
				continue;
			s->distance[next] = far + 1;
			s->queue[last++] = next;
		}
	}
	return reached == t->hosts ? 0 : -EHOSTUNREACH;
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
	m->distance = (double)s.hops / t->hosts / t->hosts;
	/* A single node has no channels and no hops. */
	if (m->links)
		m->channel_load = (double)s.hops / t->hosts / 2 / m->links;
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
	if (t->class->metric)
		t->class->metric(t, &m);
	if (!t->class->metric || m.links != links || t->host_node) {
		m = (struct metric){ .nodes = t->nodes, .links = links };
		r = searched_metric(t, &m);
	}
	if (r)
		return r;
	if (t->hosts > 1)
		m.distance_far = m.distance * t->hosts / (t->hosts - 1);
	*out = m;
	return 0;
}
