/* SPDX-License-Identifier: BSD-2-Clause */
/* See extent.h. */
#include "node/extent.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "contract/arena.h"

#define UNALIGNED_TRIES 32

static int extent_add(struct extents *e, uint64_t offset, uint64_t bytes)
{
	struct extent *x = malloc(sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->link.key = offset;
	x->link.weight = bytes;
	tree_insert(&e->free, &x->link);
	e->count++;
	return 0;
}

/* Removes an extent from the tree; the caller inserts or frees it. */
static struct tree_link *extent_take(struct extents *e, uint64_t offset)
{
	e->count--;
	return tree_remove(&e->free, offset);
}

static void extent_insert(
	struct extents *e, struct tree_link *x, uint64_t offset, uint64_t bytes)
{
	x->key = offset;
	x->weight = bytes;
	tree_insert(&e->free, x);
	e->count++;
}

int extents_init(
	struct extents *e, uint64_t offset, uint64_t bytes, uint64_t seed)
{
	*e = (struct extents){ .total = bytes };
	tree_init(&e->free, seed);
	return extent_add(e, offset, bytes);
}

void extents_end(struct extents *e)
{
	struct tree_link *x;
	while ((x = tree_take(&e->free)))
		free(x);
}

/* Returns the number of bytes before the first aligned address. */
static uint64_t extent_skip(const struct tree_link *x, uint64_t align)
{
	return bits_round_up(x->key, align) - x->key;
}

static struct tree_link *extent_find(
	struct extents *e, uint64_t bytes, uint64_t align)
{
	uint64_t from = 0;
	for (unsigned i = 0; i < UNALIGNED_TRIES; i++) {
		struct tree_link *x = tree_find_heavy(&e->free, from, bytes);
		if (!x || bits_inside(extent_skip(x, align), bytes, x->weight))
			return x;
		from = x->key + 1;
	}
	return tree_find_heavy(&e->free, from, bytes + align - ARENA_PAGE);
}

uint64_t extents_allocate(struct extents *e, uint64_t bytes, uint64_t align)
{
	if (bytes == 0 || bytes > e->total)
		return 0;
	bytes = bits_round_up(bytes, ARENA_PAGE);
	struct tree_link *x = extent_find(e, bytes, align);
	if (!x)
		return 0;
	/* Cut [offset, end) out of the free extent. */
	uint64_t start = x->key, offset = start + extent_skip(x, align);
	uint64_t end = offset + bytes, behind = start + x->weight - end;
	if (offset != start && behind && extent_add(e, end, behind) != 0)
		return 0;
	x = extent_take(e, start);
	if (offset != start)
		extent_insert(e, x, start, offset - start);
	else if (behind)
		extent_insert(e, x, end, behind);
	else
		free(x);
	e->used += bytes;
	return offset;
}

int extents_free(struct extents *e, uint64_t offset, uint64_t bytes)
{
	bytes = bits_round_up(bytes, ARENA_PAGE);
	struct tree_link *before = tree_find_before(&e->free, offset);
	struct tree_link *behind = tree_find(&e->free, offset + bytes);

	e->used -= bytes;
	if (before && before->key + before->weight != offset)
		before = NULL;
	if (!before && !behind)
		return extent_add(e, offset, bytes);
	if (behind) {
		bytes += behind->weight;
		extent_take(e, behind->key);
	}
	if (before) {
		offset = before->key;
		bytes += before->weight;
		extent_take(e, offset);
		if (behind)
			free(behind);
		behind = before;
	}
	extent_insert(e, behind, offset, bytes);
	return 0;
}
