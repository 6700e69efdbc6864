/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Op records as the node reads them. The thread of a live process may write its
 * record at the same time; repair.c, fence.c and window.c say what follows from
 * such a record.
 */
#ifndef CAY_NODE_RECORD_H
#define CAY_NODE_RECORD_H

#include "node/node.h"

/* A copy of a record, decoded. */
struct record_copy {
	enum op_state state;
	bool abandoned;
	uint16_t vpid;
	uint32_t epoch;
	uint64_t w_old, w_new;
};

static inline struct record_copy record_read(const struct op_record *op)
{
	struct record_copy c;
	/* Acquire pairs with X1, X2, X3 in device/record.c. */
	uint64_t state = atomic_load_explicit(&op->state, memory_order_acquire);
	c.state = (enum op_state)(state & OP_STATE_MASK);
	c.abandoned = state & OP_ABANDONED;
	c.vpid = (uint16_t)(state >> OP_VPID_SHIFT);
	c.epoch = (uint32_t)(state >> OP_EPOCH_SHIFT);
	c.w_old = atomic_load_explicit(&op->w_old, memory_order_acquire);
	c.w_new = atomic_load_explicit(&op->w_new, memory_order_acquire);
	return c;
}

/* Returns true if threads of the process may still write its records. */
static inline bool process_lives(const struct process *p)
{
	return p->state != PROCESS_EXITED && p->state != PROCESS_LEFT;
}

/* Returns true if the operation in progress is on this queue set. */
static inline bool record_is_on(
	const struct record_copy *c, uint16_t vpid, uint32_t epoch)
{
	return c->state != OP_IDLE && c->vpid == vpid && c->epoch == epoch;
}

/* Returns true if the operation claims an entry; else it is an access. */
static inline bool record_claims(const struct record_copy *c)
{
	return c->state == OP_TRY || c->state == OP_OWN;
}

/*
 * Returns how many entries from w_old on the record covers; 0 if no claim can
 * have so many: the record is torn, or damaged.
 */
static inline uint64_t record_entries(const struct record_copy *c)
{
	uint64_t entries = queue_ahead(queue_nq(c->w_new), queue_nq(c->w_old));
	return entries <= QUEUE_CLAIM_MAX ? entries : 0;
}

static inline bool record_covers(const struct record_copy *c, uint64_t position)
{
	return record_claims(c) &&
	       queue_ahead(position, queue_nq(c->w_old)) < record_entries(c);
}

/* Returns the i-th record of a process, or NULL after the last. */
static inline struct op_record *record_at(const struct process *p, uint32_t i)
{
	uint32_t page = i / OP_RECORDS_PER_PAGE;
	if (page >= p->record_page_count)
		return NULL;
	unsigned char *records = p->realm->arena.base + p->record_pages[page];
	return &((struct op_record *)(void *)records)[i % OP_RECORDS_PER_PAGE];
}

typedef bool record_test(const struct op_record *, const void *argument);

/* Returns true if the test holds for a record of a live process. */
bool record_any(struct realm *, record_test *, const void *argument);

/* Returns true if a process of the realm is alive. */
bool realm_lives(const struct realm *);

/*
 * Returns true if no live thread has an operation on a queue set of a closed
 * port. One scan of the records serves all ports in a round of the node whose
 * barrier precedes it.
 */
bool vport_quiesced(struct vport *);

/* Returns true if no live thread has an operation on this queue set. */
bool queue_set_quiesced(struct realm *, uint16_t vpid, uint32_t epoch);

#endif
