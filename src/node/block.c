/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of cay_alloc(). A block that its owner frees stays allocated while a
 * peer reads a message by reference from it.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "node/node.h"

struct block *block_add(struct process *p, uint64_t bytes, bool huge)
{
	struct block *b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	/* Whole pages, so that the last one is returned whole. */
	b->bytes = bits_round_up(bytes, ARENA_PAGE);
	b->offset = extents_allocate(
		&p->realm->heap, b->bytes, huge ? ARENA_HUGE : ARENA_PAGE);
	if (!b->offset) {
		free(b);
		return NULL;
	}
	list_append(&p->blocks, &b->link);
	return b;
}

struct block *block_find(struct process *p, uint64_t offset)
{
	list_for_each (at, &p->blocks) {
		struct block *b = list_of(at, struct block, link);
		if (b->offset == offset && !b->freed)
			return b;
	}
	return NULL;
}

/* Frees a block that its owner has freed, unless a peer still reads it. */
static void block_try_free(struct process *p, struct block *b)
{
	list_for_each (at, &p->ports)
		if (repair_references_read(list_of(at, struct vport, link),
			    b->offset, b->bytes))
			return;
	p->node->deferred_blocks--;
	realm_free(p->realm, b->offset, b->bytes);
	list_remove(&b->link);
	free(b);
}

int block_free(struct process *p, uint64_t offset)
{
	struct block *b = block_find(p, offset);
	if (!b)
		return -EINVAL;
	b->freed = true;
	p->node->deferred_blocks++;
	block_try_free(p, b);
	return 0;
}

void block_sweep(struct node *n)
{
	if (n->deferred_blocks == 0)
		return;
	list_for_each (realm_at, &n->realms) {
		struct realm *r = list_of(realm_at, struct realm, link);
		list_for_each (at, &r->processes) {
			struct process *p = list_of(at, struct process, link);
			list_for_each_safe (b, after, &p->blocks)
				if (list_of(b, struct block, link)->freed)
					block_try_free(p,
						list_of(b, struct block, link));
		}
	}
}
