/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See allocation.h. A binary tree (tsearch(3)), ordered by address; blocks do
 * not overlap, so a range compares as equal to the block that it touches.
 */
#include "port/allocation.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>

#include "base/bits.h"
#include "port/lock.h"

struct allocation {
	uint64_t offset, bytes; /* in the arena; as requested */
};

static int allocation_compare(const void *left, const void *right)
{
	const struct allocation *a = left, *b = right;
	if (a->offset + a->bytes <= b->offset)
		return -1;
	return b->offset + b->bytes <= a->offset;
}

static uint64_t allocation_offset(const struct member *m, const void *memory)
{
	return (uint64_t)((uintptr_t)memory - (uintptr_t)m->arena.base);
}

int allocation_add(struct member *m, const void *memory, uint64_t bytes)
{
	struct allocation *b = malloc(sizeof(*b));
	struct lock_guard guard;
	if (!b)
		return -ENOMEM;
	*b = (struct allocation){ allocation_offset(m, memory), bytes };
	lock_take(&m->allocations_lock, &guard);
	struct allocation *const *at =
		tsearch(b, &m->allocations, allocation_compare);
	/* The node does not give out memory twice. */
	int r = !at ? -ENOMEM : *at == b ? 0 : -EPROTO;
	lock_drop(&m->allocations_lock, &guard);
	if (r)
		free(b);
	return r;
}

/* Under the lock. Returns the block with this byte, or NULL. */
static struct allocation *allocation_at(const struct member *m, uint64_t offset)
{
	const struct allocation key = { offset, 1 };
	struct allocation *const *at =
		tfind(&key, &m->allocations, allocation_compare);
	return at ? *at : NULL;
}

void allocation_remove(struct member *m, const void *memory)
{
	struct lock_guard guard;
	lock_take(&m->allocations_lock, &guard);
	struct allocation *b = allocation_at(m, allocation_offset(m, memory));
	if (b)
		tdelete(b, &m->allocations, allocation_compare);
	lock_drop(&m->allocations_lock, &guard);
	free(b);
}

uint64_t allocation_bytes(struct member *m, const void *memory)
{
	uint64_t offset = allocation_offset(m, memory);
	struct lock_guard guard;
	lock_take(&m->allocations_lock, &guard);
	const struct allocation *b = allocation_at(m, offset);
	uint64_t bytes = b && b->offset == offset ? b->bytes : 0;
	lock_drop(&m->allocations_lock, &guard);
	return bytes;
}

bool allocation_contains(
	struct member *m, const void *p, uint64_t bytes, uint64_t *offset)
{
	*offset = allocation_offset(m, p);
	if (*offset >= m->arena.bytes)
		return false;
	pthread_mutex_lock(&m->allocations_lock);
	const struct allocation *b = allocation_at(m, *offset);
	bool inside = b && bits_inside(*offset - b->offset, bytes, b->bytes);
	pthread_mutex_unlock(&m->allocations_lock);
	return inside;
}

void allocations_free(struct member *m)
{
	tdestroy(m->allocations, free);
	m->allocations = NULL;
}
