/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * O1TURN, in two dimensions: half of the packets go in the order of dimensions
 * and the other half in the reverse order, each on channel classes of its own
 * (Seo et al., ISCA 2005).
 */
#include "network/routing/dimension_order.h"

/* The channel classes of one order. */
static unsigned classes_of_one(
	const struct topology *t, const struct routing_options *o)
{
	return t->class->rings ? o->groups : 1;
}

static const char *o1turn_refuse(
	const struct topology *t, const struct routing_options *o)
{
	const char *why = order_refuse(t, o);
	if (why)
		return why;
	if (t->dimensions != 2)
		return "O1TURN needs two dimensions";
	if (o->channels && o->channels < 2 * classes_of_one(t, o))
		return "O1TURN needs twice the virtual channels of dimension "
		       "order: two, or four with datelines";
	return NULL;
}

static int o1turn_open(struct routing *base)
{
	int r = order_open(base);
	base->classes = 2 * classes_of_one(base->topology, &base->options);
	return r;
}

/* Each leg is a dimension: legs in reverse order, on higher classes. */
static void path_reverse(const struct routing *s, struct routing_path *path)
{
	uint32_t first = path->leg[0];
	if (path->count == 2) {
		path->leg[0] = path->leg[1];
		path->leg[1] = first;
	}
	for (unsigned i = 0; i < path->count; i++)
		path->leg[i] = routing_leg_raise(path->leg[i], s->classes / 2);
}

static int o1turn_find(struct routing *base, uint32_t from, uint32_t to,
	struct random *random, struct routing_path *path)
{
	const struct dimension_order *s = (struct dimension_order *)base;
	bool drawn = random && !base->options.ordered;
	bool reverse = drawn ? random_next(random) >> 63
			     : route_pair_ties(from, to) >> 2 & 1;
	int r = order_find(
		s, order_ties(base, from, to, random), from, to, path);
	if (r == 0 && reverse)
		path_reverse(base, path);
	return r;
}

static int o1turn_paths(struct routing *base, uint32_t from, uint32_t to,
	routing_visit *visit, void *context)
{
	const struct dimension_order *s = (struct dimension_order *)base;
	int r = 0;
	for (unsigned i = 0; r == 0 && i < 2 * order_ways(base); i++) {
		struct routing_path path = { 0 };
		unsigned ties = order_drawn(base)
					? i / 2
					: order_ties(base, from, to, NULL);
		r = order_find(s, ties, from, to, &path);
		if (r == 0 && i & 1)
			path_reverse(base, &path);
		if (r == 0)
			r = visit(context, from, &path);
	}
	return r;
}

const struct routing_class routing_o1turn = {
	.name = "o1turn",
	.bytes = sizeof(struct dimension_order),
	.refuse = o1turn_refuse,
	.open = o1turn_open,
	.close = order_close,
	.find = o1turn_find,
	.paths = o1turn_paths,
};
