/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Op records as the node reads them, of the dead and of the living. A living
 * thread may be writing its record meanwhile; what may be concluded from one
 * is said in repair.c and fence.c.
 */
#ifndef CAY_NODE_RECORD_H
#define CAY_NODE_RECORD_H

#include "node/node.h"

/* What a record said. */
struct record_seen {
	enum op_state state;
	bool abandoned;
	uint16_t vpid;
	uint32_t epoch;
	uint64_t w_old, w_new;
};

static inline struct record_seen record_read(const struct op_record *op)
{
	struct record_seen s;
	/* Acquire pairs with X1, X2, X3 in device/record.c. */
	uint64_t state = atomic_load_explicit(&op->state, memory_order_acquire);
	s.state = (enum op_state)(state & OP_STATE_MASK);
	s.abandoned = state & OP_ABANDONED;
	s.vpid = (uint16_t)(state >> OP_VPID_SHIFT);
	s.epoch = (uint32_t)(state >> OP_EPOCH_SHIFT);
	s.w_old = atomic_load_explicit(&op->w_old, memory_order_acquire);
	s.w_new = atomic_load_explicit(&op->w_new, memory_order_acquire);
	return s;
}

/* May its records still change? */
static inline bool process_lives(const struct process *p)
{
	return p->state != PROCESS_DEAD && p->state != PROCESS_LEFT;
}

/* Is its thread in the middle of something with this queue set? */
static inline bool record_is_at(
	const struct record_seen *s, uint16_t vpid, uint32_t epoch)
{
	return s->state != OP_IDLE && s->vpid == vpid && s->epoch == epoch;
}

/* In the middle of an entry, not of somebody's memory. */
static inline bool record_claims(const struct record_seen *s)
{
	return s->state == OP_TRY || s->state == OP_OWN;
}

/* How many entries from w_old on it claims, or tries to. */
static inline uint64_t record_entries(const struct record_seen *s)
{
	return queue_ahead(queue_nq(s->w_new), queue_nq(s->w_old));
}

static inline bool record_covers(const struct record_seen *s, uint64_t position)
{
	return record_claims(s) &&
	       queue_ahead(position, queue_nq(s->w_old)) < record_entries(s);
}

/* The i-th record of a process; NULL behind the last. */
static inline struct op_record *record_at(const struct process *p, uint32_t i)
{
	uint32_t page = i / OP_RECORDS_PER_PAGE;
	if (page >= p->record_page_count)
		return NULL;
	return &realm_records(
		p->realm, p->record_pages[page])[i % OP_RECORDS_PER_PAGE];
}

typedef bool record_test(const struct op_record *, const void *of);

/* Is there a record of a living thread for which this holds? */
static inline bool record_any(
	const struct realm *r, record_test *holds, const void *of)
{
	list_for_each (at, &r->processes) {
		const struct process *p = list_of(at, struct process, link);
		struct op_record *op;
		for (uint32_t i = 0; process_lives(p) && (op = record_at(p, i));
			i++)
			if (holds(op, of))
				return true;
	}
	return false;
}

#endif
