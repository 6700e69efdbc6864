/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dimension-order routing: the shortest way in each dimension, one after the
 * other. In rings, the class of a hop depends on the dateline.
 *
 * order_find() is also the building block of routing functions that use other
 * orders, or intermediate nodes; see dimension_order.h.
 */
#include "network/routing/dimension_order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"

#define SHORT_MAX 64 /* nodes of a dimension whose legs are tabulated */

/* Splits a leg; the low hops of a path precede its high hops. */
static __attribute__((cold, noinline)) int leg_split(
	struct routing_path *path, unsigned port, uint32_t low, uint32_t high)
{
	while (low || high) {
		uint32_t some = (uint32_t)bits_min(low, ROUTING_HOPS_MAX);
		low -= some;
		uint32_t rest =
			low ? 0 : (uint32_t)bits_min(high, ROUTING_HOPS_MAX);
		high -= rest;
		if (path->count == ROUTING_LEGS_INLINE)
			return -E2BIG;
		path->leg[path->count++] = routing_leg(port, some, rest);
	}
	return 0;
}

/*
 * Returns the lowest coordinate, and removes it from the number. The division
 * is a multiplication with 2^40 / size, rounded up. Node numbers and sizes are
 * at most 2^20, so the error is too small to change the quotient.
 */
static inline uint32_t coordinate(
	const struct dimension_order *s, unsigned d, uint32_t *number)
{
	uint32_t next = (uint32_t)(*number * s->inverse[d] >> 40);
	uint32_t digit = *number - next * s->base.topology->size[d];
	*number = next;
	return digit;
}

static int leg_add(const struct dimension_order *s, struct routing_path *path,
	unsigned d, bool down, uint32_t a, uint32_t b)
{
	const struct topology *t = s->base.topology;
	struct topology_step step = t->class->step(t, d, down, a, b);
	uint32_t low = route_low_hops(
		s->base.options.grouping, step.hops, step.to_dateline);
	uint32_t high = step.hops - low;
	if (unlikely(low > ROUTING_HOPS_MAX || high > ROUTING_HOPS_MAX ||
		     path->count == ROUTING_LEGS_INLINE))
		return leg_split(path, step.port, low, high);
	path->leg[path->count++] = routing_leg(step.port, low, high);
	return 0;
}

int order_find(const struct dimension_order *s, unsigned down, uint32_t from,
	uint32_t to, struct routing_path *path)
{
	const struct topology *t = s->base.topology;
	/* Tabulated legs: without unpredictable branches on the direction. */
	if (likely(s->tabulated)) {
		for (unsigned d = 0; d < t->dimensions; d++) {
			uint32_t a = coordinate(s, d, &from);
			uint32_t b = coordinate(s, d, &to);
			path->leg[path->count] =
				s->leg[d][(a * t->size[d] + b) * 2 +
					  (down >> d & 1)];
			path->count += a != b;
		}
		return 0;
	}
	if (s->cube)
		return table_path(s->cube, from ^ to, path);
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t a = coordinate(s, d, &from);
		uint32_t b = coordinate(s, d, &to);
		int r = a == b ? 0 : leg_add(s, path, d, down >> d & 1, a, b);
		if (r)
			return r;
	}
	return 0;
}

/* ---- opening ---- */

/* Tabulates short dimensions. Without memory, legs are computed. */
static void legs_open(struct dimension_order *s)
{
	const struct topology *t = s->base.topology;
	s->tabulated = t->dimensions <= ROUTING_LEGS_INLINE;
	for (unsigned d = 0; s->tabulated && d < t->dimensions; d++) {
		uint32_t size = t->size[d], *leg = NULL;
		if (size <= SHORT_MAX)
			leg = calloc(2ull * size * size, sizeof(*leg));
		s->leg[d] = leg;
		s->tabulated = leg;
		for (uint32_t i = 0; leg && i < 2 * size * size; i++) {
			struct routing_path one = { 0 };
			leg_add(s, &one, d, i & 1, i / 2 / size, i / 2 % size);
			leg[i] = one.leg[0];
		}
	}
}

/*
 * Tabulates the legs of a large hypercube, which do not fit inline: they depend
 * on the exclusive or of the node numbers only.
 */
static int cube_fill(struct dimension_order *s)
{
	const struct topology *t = s->base.topology;
	int r = 0;
	s->cube = table_open(t->nodes, t->nodes / 2 * t->dimensions);
	if (!s->cube)
		return -ENOMEM;
	for (uint32_t to = 0; r == 0 && to < t->nodes; to++) {
		for (uint32_t left = to; r == 0 && left; left &= left - 1)
			r = table_add(s->cube,
				routing_leg(
					(unsigned)__builtin_ctz(left), 1, 0));
		table_end(s->cube, to);
	}
	return r;
}

int order_open(struct routing *base)
{
	struct dimension_order *s = (struct dimension_order *)base;
	const struct topology *t = base->topology;
	for (unsigned d = 0; d < t->dimensions; d++)
		s->inverse[d] = ((1ull << 40) + t->size[d] - 1) / t->size[d];
	if (t->class->rings)
		base->classes = base->options.groups;
	legs_open(s);
	/* Only a hypercube has so many dimensions. */
	return t->dimensions > ROUTING_LEGS_INLINE ? cube_fill(s) : 0;
}

void order_close(struct routing *base)
{
	struct dimension_order *s = (struct dimension_order *)base;
	table_free(s->cube);
	for (unsigned d = 0; d < ROUTING_LEGS_INLINE; d++)
		free(s->leg[d]);
}

const char *order_refuse(
	const struct topology *t, const struct routing_options *o)
{
	unsigned legs = 0;
	(void)o;
	if (!t->class->step)
		return "this topology has no dimensions: try another routing "
		       "function";
	if (t->dimensions > ROUTING_LEGS_INLINE)
		return NULL;
	/* The farthest node is at half a ring, or at the end of a line. */
	for (unsigned d = 0; d < t->dimensions; d++) {
		uint32_t far = t->class->rings ? t->size[d] / 2
					       : t->size[d] - 1;
		uint32_t hops = t->class->step(t, d, false, 0, far).hops;
		legs += (hops + ROUTING_HOPS_MAX - 1) / ROUTING_HOPS_MAX;
	}
	return legs > ROUTING_LEGS_INLINE
		       ? "a route has at most six legs of 4095 hops: a "
			 "dimension is too long"
		       : NULL;
}

/* ---- dimension order ---- */

static int dimension_order_find(struct routing *base, uint32_t from,
	uint32_t to, struct random *random, struct routing_path *path)
{
	const struct dimension_order *s = (struct dimension_order *)base;
	return order_find(
		s, order_ties(base, from, to, random), from, to, path);
}

static int dimension_order_paths(struct routing *base, uint32_t from,
	uint32_t to, routing_visit *visit, void *context)
{
	const struct dimension_order *s = (struct dimension_order *)base;
	int r = 0;
	for (unsigned down = 0; r == 0 && down < order_ways(base); down++) {
		struct routing_path path = { 0 };
		unsigned ties = order_drawn(base)
					? down
					: order_ties(base, from, to, NULL);
		r = order_find(s, ties, from, to, &path);
		if (r == 0)
			r = visit(context, from, &path);
	}
	return r;
}

const struct routing_class routing_dimension_order = {
	.name = "dimension-order",
	.bytes = sizeof(struct dimension_order),
	.refuse = order_refuse,
	.open = order_open,
	.close = order_close,
	.find = dimension_order_find,
	.paths = dimension_order_paths,
	.depend = order_depend,
};
