/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of cay_alloc(). A block that its owner frees stays allocated while a
 * peer reads a message by reference from it, or has a window on it mapped.
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

uint64_t block_bytes_max(const struct process *p)
{
	const struct quota *q = &p->node->quota;
	uint64_t quota = bits_min(q->process[QUOTA_HEAP], q->realm[QUOTA_HEAP]);
	/* Blocks consist of whole pages. */
	return bits_min(quota, p->realm->heap.total) & ~(ARENA_PAGE - 1);
}

int block_add(struct process *p, uint64_t bytes, bool huge, uint64_t *offset)
{
	if (bytes > p->realm->heap.total)
		return -ENOSPC;
	/* Whole pages, so that the last one is returned whole. */
	bytes = bits_round_up(bytes, ARENA_PAGE);
	int r = quota_take(p, QUOTA_BLOCKS, 1);
	if (r)
		return r;
	r = quota_take(p, QUOTA_HEAP, bytes);
	if (r)
		goto err_blocks;
	struct block *b = calloc(1, sizeof(*b));
	r = -ENOMEM;
	if (!b)
		goto err_heap;
	*offset = extents_allocate(
		&p->realm->heap, bytes, huge ? ARENA_HUGE : ARENA_PAGE);
	r = -ENOSPC;
	if (!*offset)
		goto err_block;
	b->link.key = *offset;
	b->link.weight = bytes;
	b->realm = p->realm;
	b->process = p;
	list_init(&b->freed_link);
	tree_insert(&p->blocks, &b->link);
	p->alloc_bytes += bytes;
	return 0;

err_block:
	free(b);
err_heap:
	quota_return(p, QUOTA_HEAP, bytes);
err_blocks:
	quota_return(p, QUOTA_BLOCKS, 1);
	return r;
}

struct block *block_around(struct process *p, uint64_t offset, uint64_t bytes)
{
	struct block *b = block_of(tree_find_before(&p->blocks, offset));
	bool inside = b && !b->freed &&
		      bits_inside(offset - b->link.key, bytes, b->link.weight);
	return inside ? b : NULL;
}

/*
 * Ends the part of the owner in a block that is in no tree any more, and frees
 * the block unless it is mapped. A mapped block stays charged to its realm.
 */
static void block_end(struct block *b)
{
	struct process *p = b->process;
	if (p) {
		p->alloc_bytes -= b->link.weight;
		quota_return_process(p, QUOTA_HEAP, b->link.weight);
		quota_return_process(p, QUOTA_BLOCKS, 1);
		b->process = NULL;
	}
	list_remove(&b->freed_link);
	if (b->mapped)
		return;
	realm_free(b->realm, b->link.key, b->link.weight);
	quota_return_realm(b->realm, QUOTA_HEAP, b->link.weight);
	quota_return_realm(b->realm, QUOTA_BLOCKS, 1);
	free(b);
}

void block_unmapped(struct node *n, struct block *b)
{
	if (--b->mapped)
		return;
	if (!b->process)
		block_end(b);
	else if (b->freed)
		list_append(&n->freed, &b->freed_link);
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
	struct block *b = block_of(tree_find(&p->blocks, offset));
	if (!b || b->freed)
		return -EINVAL;
	b->freed = true;
	/* Otherwise block_unmapped() continues. */
	if (b->mapped)
		return 0;
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
