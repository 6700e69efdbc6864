/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The channel dependencies of dimension-order routes, one dimension at a time.
 *
 * A route in dimension order has at most one leg per dimension, and a leg may
 * be followed by any leg of a higher dimension that begins where it ends. The
 * channels of a leg depend only on its two coordinates in its dimension. So one
 * line of nodes per dimension gives all dependencies, without enumerating all
 * pairs of nodes.
 */
#include <errno.h>
#include <stdlib.h>

#include "network/routing/dimension_order.h"

struct line_check {
	struct routing *routing;
	struct dependency *dependency;
	routing_progress *progress;
	void *context;
};

/* Channels that leave a node of the line: 2 * port + group; port 0 is up. */
#define LINE_CHANNELS 4

/* Sets of channels that leave one node of the line, as bits. */
struct line_node {
	uint8_t first, last;	     /* at the begin and the end of a leg */
	uint8_t next[LINE_CHANNELS]; /* by the channel that precedes on a leg */
};

/* Adds a leg from one of its hops on; the hops before have been added. */
static void leg_add(struct line_node *line, uint32_t size, uint32_t from,
	const struct route_leg *leg, uint32_t hop)
{
	uint32_t at = (leg->port ? from + size - hop : from + hop) % size;
	struct line_node *before = NULL;
	unsigned channel = 0, bit = 0;
	for (; hop < leg->low + leg->high; hop++) {
		channel = 2u * leg->port + (hop >= leg->low);
		if (before)
			before->next[bit] |= (uint8_t)(1u << channel);
		else if (hop == 0)
			line[at].first |= (uint8_t)(1u << channel);
		before = &line[at];
		bit = channel;
		at = (at + (leg->port ? size - 1 : 1)) % size;
	}
	if (before)
		before->last |= (uint8_t)(1u << channel);
}

/*
 * Adds all legs from a node of the line. `ties` selects the directions of a leg
 * that is equally long in both: bit 0 is up, bit 1 is down.
 */
static void legs_add(const struct line_check *k, struct line_node *line,
	uint32_t size, uint32_t from, unsigned ties)
{
	enum route_groups groups = k->routing->options.grouping;
	bool ring = k->routing->topology->class->rings;
	for (unsigned down = 0; down < 2; down++) {
		uint32_t to_edge = down ? from : size - 1 - from;
		uint32_t to_date_line = down ? from + 1 : size - from;
		uint32_t most = to_edge, low = 0;
		if (ring)
			most = ties >> down & 1 ? size / 2 : (size - 1) / 2;
		for (uint32_t hops = 1; hops <= most; hops++) {
			uint32_t before = low;
			low = ring ? route_low_hops(groups, hops, to_date_line)
				   : hops;
			const struct route_leg leg = { (uint8_t)down, low,
				hops - low };
			/* The previous leg with one more hop, unless the
			 * groups of its hops change. */
			bool longer = hops > 1 && low >= before;
			leg_add(line, size, from, &leg, longer ? hops - 2 : 0);
		}
	}
}

static int lines_open(const struct line_check *k, unsigned ties,
	struct line_node *line[TOPOLOGY_GRID_MAX])
{
	const struct topology *t = k->routing->topology;
	for (unsigned d = 0; d < t->dimensions; d++) {
		line[d] = calloc(t->size[d], sizeof(*line[d]));
		if (!line[d])
			return -ENOMEM;
		for (uint32_t at = 0; at < t->size[d]; at++) {
			if (k->progress &&
				k->progress(k->context, at, t->size[d]))
				return -EINTR;
			legs_add(k, line[d], t->size[d], at, ties);
		}
	}
	return 0;
}

/* Adds the dependencies of a channel on the channels `follows`, which is a set
 * of bits 2 * port + class. */
static int channel_depend(struct line_check *k, uint32_t node, unsigned port,
	unsigned class, uint64_t follows)
{
	const struct channel before = { .node = node,
		.port = (uint8_t)port,
		.class = (uint8_t) class };
	int r = 0;
	for (; follows && r == 0; follows &= follows - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(follows);
		r = dependency_add(k->dependency, &before, bit / 2, bit & 1);
	}
	return r;
}

static int node_depend(struct line_check *k, uint32_t node,
	struct line_node *const line[TOPOLOGY_GRID_MAX])
{
	const struct topology *t = k->routing->topology;
	uint64_t higher = 0; /* first channels of higher dimensions */
	int r = 0;
	for (unsigned d = t->dimensions; d-- > 0 && r == 0;) {
		const struct line_node *p =
			&line[d][topology_coordinate(t, node, d)];
		for (unsigned c = 0; c < LINE_CHANNELS && r == 0; c++) {
			uint64_t follows = (uint64_t)p->next[c]
					   << LINE_CHANNELS * d;
			if (p->last >> c & 1)
				follows |= higher;
			r = channel_depend(
				k, node, 2 * d + c / 2, c & 1, follows);
		}
		higher |= (uint64_t)p->first << LINE_CHANNELS * d;
	}
	return r;
}

static int grid_depend(struct line_check *k, unsigned ties)
{
	struct line_node *line[TOPOLOGY_GRID_MAX] = { 0 };
	int r = lines_open(k, ties, line);
	for (uint32_t node = 0; r == 0 && node < k->routing->topology->nodes;
		node++)
		r = node_depend(k, node, line);
	for (unsigned d = 0; d < TOPOLOGY_GRID_MAX; d++)
		free(line[d]);
	return r;
}

/* Every leg has one hop, and any leg of a higher dimension may follow. */
static int rows_depend(struct line_check *k)
{
	const struct topology *t = k->routing->topology;
	int r = 0;
	for (uint32_t node = 0; r == 0 && node < t->nodes; node++) {
		for (unsigned d = 0, port = 0; d < t->dimensions; d++) {
			unsigned higher = port + t->size[d] - 1;
			for (; r == 0 && port < higher; port++) {
				const struct channel before = { .node = node,
					.port = (uint8_t)port };
				for (unsigned p = higher;
					r == 0 && p < t->ports; p++)
					r = dependency_add(
						k->dependency, &before, p, 0);
			}
		}
	}
	return r;
}

static int has_cycle(const struct dependency *d, bool *has)
{
	struct channel *cycle;
	uint32_t count;
	int r = dependency_cycle(d, &cycle, &count);
	*has = count > 0;
	free(cycle);
	return r;
}

/*
 * With ROUTE_TIES_PAIR the pair of nodes selects one direction for all ties of
 * its route. Leaving the tied legs out gives a subset of the dependencies, and
 * adding them in both directions a superset. All pairs need to be enumerated
 * only if the subset has no cycle and the superset has one.
 */
static int rings_depend(struct line_check *k)
{
	bool cycle;
	if (order_drawn(k->routing))
		return grid_depend(k, 3);
	if (k->routing->options.ties == ROUTE_TIES_UP)
		return grid_depend(k, 1);
	int r = grid_depend(k, 0);
	if (r == 0)
		r = has_cycle(k->dependency, &cycle);
	if (r || cycle)
		return r;
	r = grid_depend(k, 3);
	if (r == 0)
		r = has_cycle(k->dependency, &cycle);
	return r == 0 && cycle ? -EAGAIN : r;
}

int order_depend(struct routing *s, struct dependency *d,
	routing_progress *progress, void *context)
{
	const struct topology_class *class = s->topology->class;
	struct line_check k = { s, d, progress, context };
	/* The dependencies of a topology that has lost links are others. */
	uint64_t ends = 0;
	for (uint64_t i = 0;
		i < (uint64_t)s->topology->nodes * s->topology->ports; i++)
		ends += s->topology->neighbour[i] != TOPOLOGY_NOWHERE;
	if (ends != 2 * s->topology->links)
		return -EAGAIN;
	if (class->rings)
		return rings_depend(&k);
	return class->grid ? grid_depend(&k, 0) : rows_depend(&k);
}
