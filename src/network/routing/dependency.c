/* SPDX-License-Identifier: BSD-2-Clause */
/* See dependency.h. */
#include "network/routing/dependency.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t channel_count(const struct topology *t)
{
	return 2ull * t->nodes * t->ports;
}

static uint64_t channel_index(
	const struct topology *t, uint32_t node, unsigned port, unsigned group)
{
	return 2 * ((uint64_t)node * t->ports + port) + group;
}

static struct channel channel_at(const struct topology *t, uint64_t index)
{
	return (struct channel){ .node = (uint32_t)(index / 2 / t->ports),
		.port = (uint8_t)(index / 2 % t->ports),
		.group = (uint8_t)(index & 1) };
}

int dependency_open(struct dependency *d, const struct topology *t)
{
	uint64_t channels = channel_count(t);
	d->topology = t;
	d->follows = calloc(channels ? channels : 1, sizeof(*d->follows));
	return d->follows ? 0 : -ENOMEM;
}

void dependency_free(struct dependency *d)
{
	free(d->follows);
	d->follows = NULL;
}

int dependency_add(struct dependency *d, uint32_t from, const struct route *r)
{
	const struct topology *t = d->topology;
	uint64_t before = UINT64_MAX;
	if (from >= t->nodes)
		return -EINVAL;
	for (unsigned i = 0; i < r->count; i++) {
		const struct route_leg *leg = &r->leg[i];
		for (uint32_t h = 0; h < leg->low + leg->high; h++) {
			unsigned group = h < leg->low ? GROUP_LOW : GROUP_HIGH;
			if (leg->port >= t->ports ||
				topology_next(t, from, leg->port) ==
					TOPOLOGY_NOWHERE)
				return -EINVAL;
			if (before != UINT64_MAX)
				d->follows[before] |=
					1ull << (2 * leg->port + group);
			before = channel_index(t, from, leg->port, group);
			from = topology_next(t, from, leg->port);
		}
	}
	return 0;
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
	uint64_t *left;	 /* by depth: bits of channels not followed yet */
	uint64_t *stack; /* channels, from the root */
	uint64_t depth;
};

static void search_enter(struct cycle_search *s, uint64_t channel)
{
	s->colour[channel] = OPEN;
	s->stack[s->depth] = channel;
	s->left[s->depth++] = s->d->follows[channel];
}

/*
 * Searches from a channel. Returns true if the top of the stack depends on
 * *again, which is further down.
 */
static bool search_from(struct cycle_search *s, uint64_t root, uint64_t *again)
{
	const struct topology *t = s->d->topology;
	search_enter(s, root);
	while (s->depth) {
		uint64_t *left = &s->left[s->depth - 1];
		uint64_t top = s->stack[s->depth - 1];
		if (!*left) {
			s->colour[top] = DONE;
			s->depth--;
			continue;
		}
		unsigned bit = (unsigned)__builtin_ctzll(*left);
		*left &= *left - 1;
		struct channel c = channel_at(t, top);
		uint64_t next = channel_index(
			t, topology_next(t, c.node, c.port), bit / 2, bit & 1);
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
		(*cycle)[i] = channel_at(s->d->topology, s->stack[from + i]);
	*count = (uint32_t)n;
	return 0;
}

int dependency_cycle(
	const struct dependency *d, struct channel **cycle, uint32_t *count)
{
	uint64_t channels = channel_count(d->topology), capacity = channels + 1;
	uint64_t again;
	struct cycle_search s = { .d = d,
		.colour = calloc(capacity, 1),
		.left = malloc(capacity * sizeof(*s.left)),
		.stack = malloc(capacity * sizeof(*s.stack)) };
	int r = s.colour && s.left && s.stack ? 0 : -ENOMEM;
	*cycle = NULL;
	*count = 0;
	for (uint64_t i = 0; r == 0 && i < channels; i++)
		if (s.colour[i] == UNSEEN && search_from(&s, i, &again)) {
			r = cycle_copy(&s, again, cycle, count);
			break;
		}
	free(s.colour);
	free(s.left);
	free(s.stack);
	return r;
}
