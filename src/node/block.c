/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of cay_alloc(). A block that its owner frees stays allocated while a
 * peer reads a message by reference from it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "node/node.h"

/* Tables of references that are read for one request, and in one tick. */
#define FREE_TABLES_MAX	 16
#define SWEEP_TABLES_MAX 256
#define SWEEP_BLOCKS_MAX 256 /* that are freed for a dead process in a tick */

static struct block *block_of(struct tree_link *l)
{
	return l ? list_of(l, struct block, link) : NULL;
}

struct block *block_add(struct process *p, uint64_t bytes, bool huge)
{
	struct block *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	/* Whole pages, so that the last one is returned whole. */
	b->link.weight = bits_round_up(bytes, ARENA_PAGE);
	b->link.key = extents_allocate(&p->realm->heap, b->link.weight,
		huge ? ARENA_HUGE : ARENA_PAGE);
	if (!b->link.key) {
		free(b);
		return NULL;
	}
	b->process = p;
	list_init(&b->freed_link);
	tree_insert(&p->blocks, &b->link);
	p->alloc_bytes += b->link.weight;
	return b;
}

struct block *block_find(struct process *p, uint64_t offset)
{
	struct block *b = block_of(tree_find(&p->blocks, offset));
	return b && !b->freed ? b : NULL;
}

/* Frees the memory of a block that is in no tree any more. */
static void block_end(struct block *b)
{
	realm_free(b->process->realm, b->link.key, b->link.weight);
	b->process->alloc_bytes -= b->link.weight;
	list_remove(&b->freed_link);
	free(b);
}

/* Frees a block that its owner has freed, unless a peer still reads it. */
static void block_try_free(struct block *b)
{
	struct process *p = b->process;
	list_for_each (at, &p->reference_origins)
		if (repair_references_read(
			    list_of(at, struct vport, process_origin_link),
			    b->link.key, b->link.weight))
			return;
	tree_remove(&p->blocks, b->link.key);
	block_end(b);
}

int block_free(struct process *p, uint64_t offset)
{
	struct block *b = block_find(p, offset);
	if (!b)
		return -EINVAL;
	b->freed = true;
	list_append(&p->node->freed, &b->freed_link);
	if (p->origin_count <= FREE_TABLES_MAX)
		block_try_free(b);
	return 0;
}

bool block_sweep(struct node *n)
{
	const struct list *last = n->freed.previous, *at = NULL;
	/* Those that stay move to the end of the list. */
	for (int64_t left = SWEEP_TABLES_MAX;
		left > 0 && at != last && !list_empty(&n->freed);) {
		struct block *b =
			list_of(n->freed.next, struct block, freed_link);
		at = &b->freed_link;
		list_remove(&b->freed_link);
		list_append(&n->freed, &b->freed_link);
		left -= 1 + (int64_t)b->process->origin_count;
		block_try_free(b);
	}
	return !list_empty(&n->freed);
}

bool block_free_all(struct process *p)
{
	for (unsigned i = 0; i < SWEEP_BLOCKS_MAX; i++) {
		struct tree_link *l = tree_take(&p->blocks);
		if (!l)
			return true;
		block_end(block_of(l));
	}
	return false;
}
