/* SPDX-License-Identifier: BSD-2-Clause */
/* See dependency.h. */
#include "network/routing/dependency.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static uint64_t channel_count(const struct dependency *d)
{
	return (uint64_t)d->topology->nodes * d->topology->ports * d->classes;
}

static uint64_t channel_index(const struct dependency *d, uint32_t node,
	unsigned port, unsigned class)
{
	return ((uint64_t)node * d->topology->ports + port) * d->classes +
	       class;
}

static struct channel channel_at(const struct dependency *d, uint64_t index)
{
	uint64_t port = index / d->classes;
	return (struct channel){ .node = (uint32_t)(port / d->topology->ports),
		.port = (uint8_t)(port % d->topology->ports),
		.class = (uint8_t)(index % d->classes),
		.vc = CHANNEL_VC_ANY };
}

int dependency_open(
	struct dependency *d, const struct topology *t, unsigned classes)
{
	*d = (struct dependency){ .topology = t,
		.classes = classes,
		.words = (t->ports * classes + 63) / 64 };
	uint64_t words = channel_count(d) * d->words;
	d->follows = calloc(words ? words : 1, sizeof(*d->follows));
	return d->follows ? 0 : -ENOMEM;
}

void dependency_free(struct dependency *d)
{
	free(d->follows);
	d->follows = NULL;
}

static bool channel_exists(const struct dependency *d, uint32_t node,
	unsigned port, unsigned class)
{
	const struct topology *t = d->topology;
	return node < t->nodes && port < t->ports && class < d->classes &&
	       topology_next(t, node, port) != TOPOLOGY_NOWHERE;
}

int dependency_add(struct dependency *d, const struct channel *before,
	unsigned port, unsigned class)
{
	unsigned bit = port * d->classes + class;
	if (!channel_exists(d, before->node, before->port, before->class))
		return -EINVAL;
	uint32_t node = topology_next(d->topology, before->node, before->port);
	if (!channel_exists(d, node, port, class))
		return -EINVAL;
	uint64_t at =
		channel_index(d, before->node, before->port, before->class);
	d->follows[at * d->words + bit / 64] |= 1ull << bit % 64;
	return 0;
}

int dependency_add_path(
	struct dependency *d, uint32_t from, const struct routing_path *path)
{
	struct channel before = { 0 };
	struct routing_walk w;
	bool first = true;
	routing_walk_begin(&w, d->topology, from, path);
	for (; routing_walk_next(&w); first = false) {
		if (!channel_exists(d, w.from, w.port, w.class))
			return -EINVAL;
		if (!first)
			dependency_add(d, &before, w.port, w.class);
		before = (struct channel){ .node = w.from,
			.port = (uint8_t)w.port,
			.class = (uint8_t)w.class };
	}
	return w.to == TOPOLOGY_NOWHERE ? -EINVAL : 0;
}

int dependency_add_route(
	struct dependency *d, uint32_t from, const struct route *r)
{
	uint32_t leg[ROUTE_LEGS_MAX];
	struct routing_path path = { .count = r->count, .more = leg };
	for (unsigned i = 0; i < r->count; i++)
		leg[i] = routing_leg(
			r->leg[i].port, r->leg[i].low, r->leg[i].high);
	return dependency_add_path(d, from, &path);
}

/* ---- depth-first search for a cycle, with an explicit stack ---- */

enum colour {
	UNSEEN,
	OPEN, /* on the stack */
	DONE, /* leads to no cycle */
};

struct cycle_search {
	const struct dependency *d;
	uint8_t *colour;
	uint16_t *next;	 /* by depth: the first bit not followed yet */
	uint64_t *stack; /* channels, from the root */
	uint64_t depth;
};

static void search_enter(struct cycle_search *s, uint64_t channel)
{
	s->colour[channel] = OPEN;
	s->stack[s->depth] = channel;
	s->next[s->depth++] = 0;
}

/* The first bit from `bit` on of the channels that follow; or UINT_MAX. */
static unsigned follows_next(
	const struct dependency *d, uint64_t channel, unsigned bit)
{
	const uint64_t *word = &d->follows[channel * d->words];
	for (; bit < 64 * d->words; bit = (bit | 63) + 1) {
		uint64_t left = word[bit / 64] >> bit % 64;
		if (left)
			return bit + (unsigned)__builtin_ctzll(left);
	}
	return UINT_MAX;
}

/*
 * Searches from a channel. Returns true if the top of the stack depends on
 * *again, which is further down.
 */
static bool search_from(struct cycle_search *s, uint64_t root, uint64_t *again)
{
	const struct dependency *d = s->d;
	search_enter(s, root);
	while (s->depth) {
		uint64_t top = s->stack[s->depth - 1];
		unsigned bit = follows_next(d, top, s->next[s->depth - 1]);
		if (bit == UINT_MAX) {
			s->colour[top] = DONE;
			s->depth--;
			continue;
		}
		s->next[s->depth - 1] = (uint16_t)(bit + 1);
		struct channel c = channel_at(d, top);
		uint64_t next = channel_index(d,
			topology_next(d->topology, c.node, c.port),
			bit / d->classes, bit % d->classes);
		if (s->colour[next] == OPEN) {
			*again = next;
			return true;
		}
		if (s->colour[next] == UNSEEN)
			search_enter(s, next);
	}
	return false;
}

/* The cycle is the part of the stack from `again` on. */
static int cycle_copy(const struct cycle_search *s, uint64_t again,
	struct channel **cycle, uint32_t *count)
{
	uint64_t from = s->depth;
	while (s->stack[--from] != again)
		;
	uint64_t n = s->depth - from;
	*cycle = malloc(n * sizeof(**cycle));
	if (!*cycle)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		(*cycle)[i] = channel_at(s->d, s->stack[from + i]);
	*count = (uint32_t)n;
	return 0;
}

int dependency_cycle(
	const struct dependency *d, struct channel **cycle, uint32_t *count)
{
	uint64_t channels = channel_count(d), capacity = channels + 1;
	uint64_t again;
	struct cycle_search s = { .d = d,
		.colour = calloc(capacity, 1),
		.next = malloc(capacity * sizeof(*s.next)),
		.stack = malloc(capacity * sizeof(*s.stack)) };
	int r = s.colour && s.next && s.stack ? 0 : -ENOMEM;
	*cycle = NULL;
	*count = 0;
	for (uint64_t i = 0; r == 0 && i < channels; i++)
		if (s.colour[i] == UNSEEN && search_from(&s, i, &again)) {
			r = cycle_copy(&s, again, cycle, count);
			break;
		}
	free(s.colour);
	free(s.next);
	free(s.stack);
	return r;
}
