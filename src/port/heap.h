/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory in the heap of the arena, allocated by the node, and staging: blocks
 * that the process keeps for messages that a peer cannot read in place. Any
 * thread; the calls may block for a reply of the node.
 */
#ifndef CAY_PORT_HEAP_H
#define CAY_PORT_HEAP_H

#include "base/bits.h"
#include "port/member.h"

/*
 * Returns NULL and sets *error, -ETIMEDOUT if the node does not reply until the
 * deadline. flags: enum cay_alloc_flag.
 */
void *heap_alloc(struct member *, uint64_t bytes, unsigned flags,
	uint64_t deadline, int *error);
/*
 * The same for bytes that others will copy: sets *block, for heap_free(), and
 * returns the place in it that COPY_SOURCE_AT in base/copy.h recommends, if
 * there is memory for that.
 */
void *heap_alloc_source(struct member *, uint64_t bytes, uint64_t deadline,
	void **block, int *error);
/* Returns a deadline for memory of messages, which do not wait for long. */
uint64_t heap_deadline(struct member *);
void heap_free(struct member *, void *);

/* Returns true, and the arena offset, if the heap contains [p, p + bytes). */
static inline bool heap_contains(
	const struct member *m, const void *p, uint64_t bytes, uint64_t *offset)
{
	uint64_t at = (uint64_t)((uintptr_t)p - (uintptr_t)m->arena.base);
	*offset = at;
	return at >= ARENA_HEAP_OFFSET &&
	       bits_inside(at, bytes, m->arena.bytes);
}

/*
 * Returns NULL if too many bytes are staged, or the arena is full. The callers
 * of these two hold a lock_guard.
 */
void *staging_alloc(struct member *, uint64_t bytes);
void staging_free(struct member *, void *);

/* Frees the idle blocks. */
void staging_evict(struct member *);

/* Leaves a block to its reader: the node frees it when it is released. */
void staging_disown(struct member *, void *);

/*
 * Frees the list of blocks. The node frees the memory when the process leaves
 * the realm.
 */
void staging_discard(struct member *);

#endif
