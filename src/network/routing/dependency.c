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

/* One hop: from the channel before, if there is one, to this. */
static int hop_add(struct dependency *d, uint64_t *before, uint32_t *node,
	unsigned port, unsigned group)
{
	const struct topology *t = d->topology;
	if (port >= t->ports ||
		topology_next(t, *node, port) == TOPOLOGY_NOWHERE)
		return -EINVAL;
	if (*before != UINT64_MAX)
		d->follows[*before] |= 1ull << (2 * port + group);
	*before = channel_index(t, *node, port, group);
	*node = topology_next(t, *node, port);
	return 0;
}

int dependency_add(struct dependency *d, uint32_t from, const struct route *r)
{
	uint64_t before = UINT64_MAX;
	int e = from < d->topology->nodes ? 0 : -EINVAL;
	for (unsigned i = 0; e == 0 && i < r->count; i++) {
		const struct route_leg *leg = &r->leg[i];
		for (uint32_t h = 0; e == 0 && h < leg->low + leg->high; h++)
			e = hop_add(d, &before, &from, leg->port,
				h < leg->low ? GROUP_LOW : GROUP_HIGH);
	}
	return e;
}

/* ---- looking for a cycle, depth first, without recursion ---- */

enum colour {
	UNSEEN,
	OPEN, /* on the way from the root to where the search is */
	DONE, /* leads to no cycle */
};

struct walk {
	const struct dependency *d;
	uint8_t *colour;
	uint64_t *left;	 /* by depth: what has not been followed yet */
	uint64_t *stack; /* channels, from the root */
	uint64_t depth;
};

static void walk_free(struct walk *w)
{
	free(w->colour);
	free(w->left);
	free(w->stack);
}

static int walk_open(struct walk *w, const struct dependency *d)
{
	uint64_t n = channel_count(d->topology) + 1;
	*w = (struct walk){ .d = d,
		.colour = calloc(n, 1),
		.left = malloc(n * sizeof(*w->left)),
		.stack = malloc(n * sizeof(*w->stack)) };
	if (w->colour && w->left && w->stack)
		return 0;
	walk_free(w);
	return -ENOMEM;
}

static void walk_enter(struct walk *w, uint64_t channel)
{
	w->colour[channel] = OPEN;
	w->stack[w->depth] = channel;
	w->left[w->depth++] = w->d->follows[channel];
}

/* The channel that bit stands for, behind this one. */
static uint64_t channel_behind(
	const struct topology *t, uint64_t channel, unsigned bit)
{
	struct channel c = channel_at(t, channel);
	uint32_t node = topology_next(t, c.node, c.port);
	return channel_index(t, node, bit / 2, bit & 1);
}

/* True: what is on top of the stack leads to *again, further down. */
static bool walk_from(struct walk *w, uint64_t root, uint64_t *again)
{
	walk_enter(w, root);
	while (w->depth) {
		uint64_t *left = &w->left[w->depth - 1];
		uint64_t top = w->stack[w->depth - 1];
		if (!*left) {
			w->colour[top] = DONE;
			w->depth--;
			continue;
		}
		unsigned bit = (unsigned)__builtin_ctzll(*left);
		*left &= *left - 1;
		uint64_t next = channel_behind(w->d->topology, top, bit);
		if (w->colour[next] == OPEN) {
			*again = next;
			return true;
		}
		if (w->colour[next] == UNSEEN)
			walk_enter(w, next);
	}
	return false;
}

static int cycle_copy(const struct walk *w, uint64_t again,
	struct channel **cycle, uint32_t *count)
{
	uint64_t from = w->depth;
	while (w->stack[--from] != again)
		;
	uint64_t n = w->depth - from;
	*cycle = malloc(n * sizeof(**cycle));
	if (!*cycle)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		(*cycle)[i] = channel_at(w->d->topology, w->stack[from + i]);
	*count = (uint32_t)n;
	return 0;
}

int dependency_cycle(
	const struct dependency *d, struct channel **cycle, uint32_t *count)
{
	struct walk w;
	uint64_t again, channels = channel_count(d->topology);
	*cycle = NULL;
	*count = 0;
	int r = walk_open(&w, d);
	if (r)
		return r;
	for (uint64_t i = 0; i < channels; i++)
		if (w.colour[i] == UNSEEN && walk_from(&w, i, &again)) {
			r = cycle_copy(&w, again, cycle, count);
			break;
		}
	walk_free(&w);
	return r;
}
