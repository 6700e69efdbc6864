/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer's side of a queue set: which entries have been taken, which
 * released, and what R was told. Private to the process, one consuming thread.
 */
#ifndef CAY_PORT_INTAKE_H
#define CAY_PORT_INTAKE_H

#include "base/bits.h"
#include "port/port.h"

void intake_begin(struct intake *, struct context *own);

/* Frees what the consumer still holds, without telling anybody. */
void intake_end(struct cay_port *);

/*
 * Makes the queues ready for use, once: their pages come from this process's
 * account. 0 or -ENOMEM.
 */
int intake_ready(struct cay_port *);

static inline struct intake_slot *intake_slot(
	const struct intake *in, uint64_t position)
{
	return &in->slots[position & (in->own->nq_entries - 1)];
}

/* Does this word 7 of a VOID say that word 5 is valid? */
static inline bool void_has_extent(uint64_t word)
{
	return (word >> CAY_NQE_BYTES_SHIFT & 0xffff) == CAY_VOID_EXTENT;
}

/* The entry at `next` is taken. */
static inline void intake_take(struct intake *in)
{
	in->next = (in->next + 1) & QUEUE_NQ_MASK;
}

/* An entry is done with; its room goes back when it is worth a swap of R. */
void intake_release(struct cay_port *, struct intake *, uint64_t position);

void intake_return(struct cay_port *, struct intake *);

/* Worth it: a quarter of either ring, or somebody waits. */
static inline bool intake_due(const struct intake *in)
{
	/* Relaxed: a hint; the swap itself finds WAITERS for certain. */
	uint64_t r = atomic_load_explicit(
		&in->own->control->r, memory_order_relaxed);
	return queue_ahead(in->oldest, in->returned) >=
		       in->own->nq_entries / 4 ||
	       queue_rdr_ahead(in->rdr, in->returned_rdr) >=
		       in->own->rdr_units / 4 ||
	       r & R_WAITERS;
}

/*
 * The same for the oldest entry, if it is a fast message and none behind it
 * has been released before it. False: nothing done.
 */
static inline bool intake_release_oldest(
	struct cay_port *port, struct intake *in)
{
	uint64_t behind = (in->oldest + 1) & QUEUE_NQ_MASK;
	if (intake_slot(in, in->oldest)->special ||
		(behind != in->next && intake_slot(in, behind)->released))
		return false;
	in->oldest = behind;
	if (unlikely(intake_due(in)))
		intake_return(port, in);
	return true;
}

/* Nothing there: give back what is due. */
void intake_idle(struct cay_port *, struct intake *);

/*
 * All entries up to W are released, so the RDR is empty as W says; a repair
 * that did not know a dead sender's extent is made good here.
 */
void intake_settle(struct cay_port *, struct intake *, uint64_t w);

/*
 * The queue set is being replaced, or was: pass over what is fenced, and once
 * everything else is taken go on with the new one. As intake_peek().
 */
uint64_t intake_peek_moving(struct cay_port *);

/*
 * Word 7 of the next entry, or 0. `moving` is looked at after the entry: see
 * fence.c of the node.
 */
static inline uint64_t intake_peek(struct cay_port *port)
{
	struct context *own = port->intake.own;
	uint64_t word = device_peek_inline(own, port->intake.next);
	if (unlikely(atomic_load_explicit(
		    &own->control->migration, memory_order_acquire)))
		return intake_peek_moving(port);
	return word;
}

/* An old set of which nothing is held any more is given up. */
void intake_retire(struct cay_port *, struct intake *);

/* The intake that a position belongs to. */
struct intake *intake_at(struct cay_port *, uint64_t position);

#endif
