/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap of an arena: whole pages, first fit, adjacent free extents are
 * merged. Private to the node; an untouched page uses no memory.
 */
#ifndef CAY_NODE_EXTENT_H
#define CAY_NODE_EXTENT_H

#include <stdint.h>

struct extent {
	uint64_t offset, bytes;
};

struct extents {
	struct extent *free; /* sorted by offset, no two adjacent */
	uint32_t count, capacity;
	uint64_t total, used;
};

int extents_init(struct extents *, uint64_t offset, uint64_t bytes);
void extents_end(struct extents *);

/*
 * Allocates `bytes`, rounded up to pages; align is a power of two, at least a
 * page. Returns the offset, or 0 if no extent is large enough.
 */
uint64_t extents_allocate(struct extents *, uint64_t bytes, uint64_t align);

/* Returns 0, or -ENOMEM: the address range, not the memory, is lost. */
int extents_free(struct extents *, uint64_t offset, uint64_t bytes);

#endif
