/* SPDX-License-Identifier: BSD-2-Clause */
/* See op.h. Chunks, so that an operation stays where it is. */
#include "provider/endpoint/op.h"

#include <stdlib.h>
#include <string.h>

#include "provider/endpoint/endpoint.h"

#define CHUNK 64

static int table_grow(struct op_table *t)
{
	struct op **chunks =
		realloc(t->chunks, (t->chunk_count + 1) * sizeof(*chunks));
	if (!chunks)
		return -FI_ENOMEM;
	t->chunks = chunks;
	struct op *chunk = calloc(CHUNK, sizeof(*chunk));
	if (!chunk)
		return -FI_ENOMEM;
	chunks[t->chunk_count] = chunk;
	for (uint32_t i = CHUNK; i-- > 0;) {
		chunk[i].index = t->chunk_count * CHUNK + i;
		chunk[i].next_free = t->free;
		t->free = &chunk[i];
	}
	t->chunk_count++;
	return 0;
}

void op_table_free(struct op_table *t)
{
	for (uint32_t i = 0; i < t->chunk_count; i++)
		free(t->chunks[i]);
	free(t->chunks);
	*t = (struct op_table){ 0 };
}

struct op *op_new(struct endpoint *ep, struct peer *peer, enum op_kind kind)
{
	struct op_table *t = &ep->ops;
	if (!t->free && table_grow(t))
		return NULL;
	struct op *op = t->free;
	t->free = op->next_free;
	/* From 1, so that no operation has the number 0. */
	*op = (struct op){ .index = op->index,
		.generation = op->generation + 1 ? op->generation + 1 : 1,
		.kind = kind,
		.ep = ep,
		.peer = peer };
	list_append(&peer->ops, &op->link);
	list_init(&op->waiting);
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
	if (index / CHUNK >= ep->ops.chunk_count)
		return NULL;
	struct op *op = &ep->ops.chunks[index / CHUNK][index % CHUNK];
	bool same = op->kind != OP_NONE && op->generation == id >> 32 &&
		    (!peer || op->peer == peer);
	return same ? op : NULL;
}

void op_drop(struct op *op)
{
	if (op->cq)
		cq_unreserve(op->cq);
	list_remove(&op->link);
	list_remove(&op->waiting);
	free(op->copy);
	op->kind = OP_NONE;
	op->cq = NULL;
	op->next_free = op->ep->ops.free;
	op->ep->ops.free = op;
}

static void op_tell_error(struct op *op)
{
	const struct fi_cq_err_entry e = { .op_context = op->context,
		.flags = op->flags,
		.tag = op->tag,
		.buf = op->buffer,
		.err = op->error,
		.prov_errno = -op->error };
	cq_fail(op->cq, &e, op->peer->fi_addr);
	op->cq = NULL;
}

static void op_tell(struct op *op)
{
	const struct fi_cq_tagged_entry e = {
		.op_context = op->context, .flags = op->flags, .tag = op->tag
	};
	cq_complete(op->cq, &e, op->peer->fi_addr);
	op->cq = NULL;
}

void op_end(struct op *op)
{
	if (op->cq && op->error)
		op_tell_error(op);
	else if (op->cq && !op->silent)
		op_tell(op);
	if (op->cntr)
		cntr_count(op->cntr, op->error != 0);
	op_drop(op);
}
