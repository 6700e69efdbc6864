/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap of an arena: whole pages, first fit, adjacent free extents are
 * merged. Private to the node; an untouched page uses no memory.
 */
#ifndef CAY_NODE_EXTENT_H
#define CAY_NODE_EXTENT_H

#include <stdint.h>

#include "node/tree.h"

/* A free extent: the key is its offset, the weight its length. */
struct extent {
	struct tree_link link;
};

struct extents {
	struct tree free; /* no two are adjacent */
	uint32_t count;
	uint64_t total, used;
};

/* The seed is that of tree_init(). */
int extents_init(
	struct extents *, uint64_t offset, uint64_t bytes, uint64_t seed);
void extents_end(struct extents *);

/*
 * Allocates `bytes`, rounded up to pages; align is a power of two, at least a
 * page. Returns the offset, or 0 if no extent is large enough. With a larger
 * alignment than a page it tries a limited number of extents that might be too
 * small when aligned, and then those that are large enough in any case.
 */
uint64_t extents_allocate(struct extents *, uint64_t bytes, uint64_t align);

/* Returns 0, or -ENOMEM: the address range, not the memory, is lost. */
int extents_free(struct extents *, uint64_t offset, uint64_t bytes);

#endif
