/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer's side of a queue set: which entries have been taken, which
 * released, and what R was told. Private to the process, one consuming thread.
 */
#ifndef CAY_PORT_INTAKE_H
#define CAY_PORT_INTAKE_H

#include "port/port.h"

void intake_begin(struct intake *, struct context *own);

/* Frees what the consumer still holds, without telling anybody. */
void intake_end(struct cay_port *);

/*
 * Makes the queues ready for use, once: their pages come from this process's
 * account. 0 or -ENOMEM.
 */
int intake_ready(struct cay_port *);

static inline struct intake_slot *intake_slot(const struct intake *in,
	uint64_t position)
{
	return &in->slots[position & ((1ull << in->own->nq_log2) - 1)];
}

/* The entry at `next` is taken. */
static inline void intake_take(struct intake *in)
{
	in->next = (in->next + 1) & QUEUE_NQ_MASK;
}

/* An entry is done with; its room goes back when it is worth a swap of R. */
void intake_release(struct cay_port *, struct intake *, uint64_t position);

/* Nothing there: give back what is due. */
void intake_idle(struct cay_port *, struct intake *);

/*
 * All entries up to W are released, so the RDR is empty as W says; a repair
 * that did not know a dead sender's extent is made good here.
 */
void intake_settle(struct cay_port *, struct intake *, uint64_t w);

/*
 * The queue set was replaced: pass over what is fenced, and once everything
 * else is taken go on with the new one. True if there is something to look at.
 */
bool intake_follow(struct cay_port *);

/* The intake that a position belongs to. */
struct intake *intake_at(struct cay_port *, uint64_t position);

#endif
