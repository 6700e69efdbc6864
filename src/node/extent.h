/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap of an arena: whole pages, first fit, neighbours joined. The node's
 * private business; a page that nobody has touched costs nothing.
 */
#ifndef CAY_NODE_EXTENT_H
#define CAY_NODE_EXTENT_H

#include <stdint.h>

struct extent {
	uint64_t offset, bytes;
};

struct extents {
	struct extent *free; /* by offset, no two adjacent */
	uint32_t count, room;
	uint64_t total, used;
};

int extents_init(struct extents *, uint64_t offset, uint64_t bytes);
void extents_end(struct extents *);

/*
 * bytes is rounded up to pages; align is a power of two, at least a page. The
 * offset, or 0 if nothing fits.
 */
uint64_t extents_take(struct extents *, uint64_t bytes, uint64_t align);

/* 0 or -ENOMEM: then the extent is lost to the heap, not to the machine. */
int extents_put(struct extents *, uint64_t offset, uint64_t bytes);

#endif
