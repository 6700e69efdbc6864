/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Valiant's routing: in dimension order to a random node, and from there in
 * dimension order to the destination, on other channel classes. It makes any
 * pattern look uniform, at twice the distance.
 */
#include <errno.h>
#include <stdlib.h>

#include "network/routing/dimension_order.h"

static unsigned classes_of_one(
	const struct topology *t, const struct routing_options *o)
{
	return t->class->rings ? o->groups : 1;
}

static const char *valiant_refuse(
	const struct topology *t, const struct routing_options *o)
{
	const char *why = order_refuse(t, o);
	if (why)
		return why;
	if (2 * t->dimensions > ROUTING_LEGS_INLINE)
		return "Valiant's routing needs at most three dimensions";
	for (unsigned d = 0; d < t->dimensions; d++)
		if (t->size[d] > ROUTING_HOPS_MAX)
			return "a dimension is too long for Valiant's routing";
	if (o->channels && o->channels < 2 * classes_of_one(t, o))
		return "Valiant's routing needs twice the virtual channels of "
		       "dimension order: two, or four with datelines";
	return NULL;
}

static int valiant_open(struct routing *base)
{
	int r = order_open(base);
	base->classes = 2 * classes_of_one(base->topology, &base->options);
	return r;
}

/* Appends the second part, on the higher classes. */
static int part_add(const struct routing *base, unsigned ties, uint32_t from,
	uint32_t to, struct routing_path *path)
{
	unsigned begin = path->count;
	int r = order_find(
		(const struct dimension_order *)base, ties, from, to, path);
	for (unsigned i = begin; r == 0 && i < path->count; i++)
		path->leg[i] =
			routing_leg_raise(path->leg[i], base->classes / 2);
	return r;
}

static int valiant_find(struct routing *base, uint32_t from, uint32_t to,
	struct random *random, struct routing_path *path)
{
	struct random pair = { (uint64_t)from << 32 | to };
	struct random *draw = random && !base->options.ordered ? random : &pair;
	uint32_t via = random_below(draw, base->topology->nodes);
	int r = order_find((struct dimension_order *)base,
		order_ties(base, from, via, random), from, via, path);
	return r ? r
		 : part_add(base, order_ties(base, via, to, random), via, to,
			   path);
}

/* ---- deadlocks ---- */

struct part_check {
	struct routing *routing;
	struct dependency *dependency;
	bool second; /* the part that is added */
	unsigned words;
	/* By node: first channels of second parts, as bits. */
	uint64_t *begins;
};

/*
 * Adds a part. Second parts note their first channel; any of these may follow
 * the last channel of a first part.
 */
static int part_depend(
	struct part_check *k, unsigned ties, uint32_t from, uint32_t to)
{
	struct routing *base = k->routing;
	struct routing_path path = { 0 };
	struct routing_walk w;
	int r = k->second ? part_add(base, ties, from, to, &path)
			  : order_find((struct dimension_order *)base, ties,
				    from, to, &path);
	if (r == 0)
		r = dependency_add_path(k->dependency, from, &path);
	if (r)
		return r;
	routing_walk_begin(&w, base->topology, from, &path);
	routing_walk_next(&w);
	unsigned bit = w.port * base->classes + w.class;
	if (k->second)
		k->begins[from * k->words + bit / 64] |= 1ull << bit % 64;
	while (routing_walk_next(&w))
		;
	const struct channel last = { .node = w.from,
		.port = (uint8_t)w.port,
		.class = (uint8_t)w.class };
	for (unsigned b = 0; !k->second && b < 64 * k->words; b++)
		if (k->begins[to * k->words + b / 64] >> b % 64 & 1)
			dependency_add(k->dependency, &last, b / base->classes,
				b % base->classes);
	return 0;
}

static int pair_depend(struct part_check *k, uint32_t from, uint32_t to)
{
	struct routing *base = k->routing;
	int r = 0;
	if (!order_drawn(base))
		return part_depend(
			k, order_ties(base, from, to, NULL), from, to);
	for (unsigned ties = 0; r == 0 && ties < order_ways(base); ties++)
		r = part_depend(k, ties, from, to);
	return r;
}

/*
 * Any node may be the intermediate one, so every first part that ends at a node
 * may be followed by every second part that begins there.
 */
static int valiant_depend(struct routing *base, struct dependency *d,
	routing_progress *progress, void *context)
{
	uint32_t nodes = base->topology->nodes;
	unsigned words = (base->topology->ports * base->classes + 63) / 64;
	struct part_check k = { .routing = base,
		.dependency = d,
		.words = words,
		.begins = calloc((uint64_t)nodes * words, sizeof(*k.begins)) };
	int r = k.begins ? 0 : -ENOMEM;
	for (unsigned pass = 0; r == 0 && pass < 2; pass++) {
		k.second = pass == 0;
		for (uint32_t from = 0; r == 0 && from < nodes; from++) {
			if (progress && progress(context, from, nodes))
				r = -EINTR;
			for (uint32_t to = 0; r == 0 && to < nodes; to++)
				if (from != to)
					r = pair_depend(&k, from, to);
		}
	}
	free(k.begins);
	return r;
}

const struct routing_class routing_valiant = {
	.name = "valiant",
	.bytes = sizeof(struct dimension_order),
	.refuse = valiant_refuse,
	.open = valiant_open,
	.close = order_close,
	.find = valiant_find,
	.depend = valiant_depend,
};
