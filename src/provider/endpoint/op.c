/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations in flight. See op.h. */
#include "provider/endpoint/op.h"

#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/endpoint.h"

#define BLOCK 64 /* operations */

static int table_grow(struct op_table *t)
{
	struct op **blocks =
		realloc(t->blocks, (t->block_count + 1) * sizeof(*blocks));
	if (!blocks)
		return -FI_ENOMEM;
	t->blocks = blocks;
	struct op *block = calloc(BLOCK, sizeof(*block));
	if (!block)
		return -FI_ENOMEM;
	blocks[t->block_count] = block;
	for (uint32_t i = BLOCK; i-- > 0;) {
		block[i].index = t->block_count * BLOCK + i;
		block[i].next_free = t->free;
		t->free = &block[i];
	}
	t->block_count++;
	return 0;
}

void op_table_free(struct op_table *t)
{
	for (uint32_t i = 0; i < t->block_count; i++)
		free(t->blocks[i]);
	free(t->blocks);
	*t = (struct op_table){ 0 };
}

struct op *op_new(struct endpoint *ep, struct peer *peer, enum op_kind kind)
{
	struct op_table *t = &ep->ops;
	if (!t->free && table_grow(t))
		return NULL;
	struct op *op = t->free;
	uint32_t index = op->index, generation = op->generation + 1;
	t->free = op->next_free;
	memset(op, 0, sizeof(*op));
	op->index = index;
	/* Never 0, so that no operation has the ID 0. */
	op->generation = generation ? generation : 1;
	op->kind = kind;
	op->ep = ep;
	op->peer = peer;
	list_append(&peer->ops, &op->link);
	list_init(&op->retry_link);
	return op;
}

struct op *op_new_tx(struct endpoint *ep, struct peer *peer, enum op_kind kind,
	unsigned counter)
{
	if (ep->tx_cq && cq_reserve(ep->tx_cq))
		return NULL;
	struct op *op = op_new(ep, peer, kind);
	if (!op) {
		if (ep->tx_cq)
			cq_unreserve(ep->tx_cq);
		return NULL;
	}
	op->cq = ep->tx_cq;
	op->cntr = ep->counters[counter];
	return op;
}

uint64_t op_id(const struct op *op)
{
	return (uint64_t)op->generation << 32 | op->index;
}

struct op *op_find(struct endpoint *ep, uint64_t id, const struct peer *peer)
{
	uint32_t index = (uint32_t)id;
	if (index / BLOCK >= ep->ops.block_count)
		return NULL;
	struct op *op = &ep->ops.blocks[index / BLOCK][index % BLOCK];
	bool same = op->kind != OP_NONE && op->generation == id >> 32 &&
		    (!peer || op->peer == peer);
	return same ? op : NULL;
}

void op_drop(struct op *op)
{
	if (op->cq)
		cq_unreserve(op->cq);
	list_remove(&op->link);
	list_remove(&op->retry_link);
	free(op->copy);
	op->kind = OP_NONE;
	op->cq = NULL;
	op->next_free = op->ep->ops.free;
	op->ep->ops.free = op;
}

void op_end(struct op *op)
{
	if (unlikely(op->error))
		provider_completion_failed(op->flags, op->error);
	if (op->cq && op->error) {
		const struct fi_cq_err_entry e = { .op_context = op->context,
			.flags = op->flags,
			.err = op->error,
			.prov_errno = -op->error };
		cq_fail(op->cq, &e, op->peer->fi_addr);
		op->cq = NULL;
	} else if (op->cq && !op->silent) {
		const struct fi_cq_tagged_entry e = { .op_context = op->context,
			.flags = op->flags };
		cq_complete(op->cq, &e, op->peer->fi_addr);
		op->cq = NULL;
	}
	if (op->cntr)
		cntr_count(op->cntr, op->error != 0);
	op_drop(op);
}
