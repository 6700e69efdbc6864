/* SPDX-License-Identifier: BSD-2-Clause */
/* See extent.h. */
#include "node/extent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "contract/arena.h"

int extents_init(struct extents *e, uint64_t offset, uint64_t bytes)
{
	*e = (struct extents){ .capacity = 64, .count = 1, .total = bytes };
	e->free = malloc(e->capacity * sizeof(*e->free));
	if (!e->free)
		return -ENOMEM;
	e->free[0] = (struct extent){ offset, bytes };
	return 0;
}

void extents_end(struct extents *e)
{
	free(e->free);
}

static void extents_remove(struct extents *e, uint32_t i)
{
	e->count--;
	memmove(&e->free[i], &e->free[i + 1],
		(e->count - i) * sizeof(*e->free));
}

static int extents_insert(struct extents *e, uint32_t i, struct extent new)
{
	if (e->count == e->capacity) {
		struct extent *more =
			realloc(e->free, 2ull * e->capacity * sizeof(*more));
		if (!more)
			return -ENOMEM;
		e->free = more;
		e->capacity *= 2;
	}
	memmove(&e->free[i + 1], &e->free[i],
		(e->count - i) * sizeof(*e->free));
	e->free[i] = new;
	e->count++;
	return 0;
}

uint64_t extents_allocate(struct extents *e, uint64_t bytes, uint64_t align)
{
	if (bytes == 0 || bytes > e->total)
		return 0;
	bytes = bits_round_up(bytes, ARENA_PAGE);
	for (uint32_t i = 0; i < e->count; i++) {
		const struct extent f = e->free[i];
		uint64_t offset = bits_round_up(f.offset, align);
		if (!bits_inside(offset - f.offset, bytes, f.bytes))
			continue;
		/* Cut [offset, end) out of the free extent. */
		uint64_t end = offset + bytes;
		uint64_t behind = f.offset + f.bytes - end;
		if (offset != f.offset && behind &&
			extents_insert(
				e, i + 1, (struct extent){ end, behind }) != 0)
			return 0;
		e->free[i].bytes = offset - f.offset;
		if (offset == f.offset)
			e->free[i] = (struct extent){ end, behind };
		if (e->free[i].bytes == 0)
			extents_remove(e, i);
		e->used += bytes;
		return offset;
	}
	return 0;
}

int extents_free(struct extents *e, uint64_t offset, uint64_t bytes)
{
	/* Find the first free extent behind `offset`. */
	uint32_t i = 0, high = e->count;
	while (i < high) {
		uint32_t middle = i + (high - i) / 2;
		if (e->free[middle].offset < offset)
			i = middle + 1;
		else
			high = middle;
	}
	bytes = bits_round_up(bytes, ARENA_PAGE);
	struct extent *before = i > 0 ? &e->free[i - 1] : NULL;
	struct extent *behind = i < e->count ? &e->free[i] : NULL;

	e->used -= bytes;
	if (before && before->offset + before->bytes == offset) {
		before->bytes += bytes;
		if (behind &&
			before->offset + before->bytes == behind->offset) {
			before->bytes += behind->bytes;
			extents_remove(e, i);
		}
		return 0;
	}
	if (behind && offset + bytes == behind->offset) {
		behind->offset = offset;
		behind->bytes += bytes;
		return 0;
	}
	return extents_insert(e, i, (struct extent){ offset, bytes });
}
