/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repair after the dead, by op records and nothing else: never by time-out,
 * because a slow sender's late store would damage the next owner's entry.
 *
 * An entry i of a queue set is claimed if W is past it, and unpublished if its
 * word 7 has not the generation of this lap. Each such entry is covered by its
 * claimer's record, because TRY is stored before the CAS and IDLE after the
 * publication. So, for a dead record:
 *
 *   OWN(i): nobody else can own i: void it if it is unpublished.
 *   TRY(i): the CAS may have succeeded. If i is claimed and unpublished, its
 *	owner is either this thread or one whose record covers i. If that of a
 *	living thread does, wait: either it publishes i, or it learns that its
 *	CAS failed and goes on. Else the owner is dead: void it.
 *
 * Records are read first, word 7 after them: a living thread that has gone on
 * has published i before it stored a newer record (X1 to X3 in
 * device/record.c), so word 7 then says so. A record that is read while its
 * thread goes on may be torn, its state older than its w_old; so no more is
 * concluded from a living one than that it is worth waiting.
 */
#include <errno.h>

#include "base/futex.h"
#include "node/doorbell.h"
#include "node/node.h"

/* What a record said, read while its thread may be running. */
struct seen {
	enum op_state state;
	uint16_t vpid;
	uint32_t epoch;
	uint64_t w_old, w_new;
	bool abandoned;
};

static struct seen record_read(const struct op_record *op)
{
	struct seen s;
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

static bool record_is_at(const struct seen *s, uint16_t vpid, uint32_t epoch)
{
	return s->state != OP_IDLE && s->vpid == vpid && s->epoch == epoch;
}

static bool record_covers(const struct seen *s, uint64_t position)
{
	return queue_ahead(position, queue_nq(s->w_old)) <
	       queue_ahead(queue_nq(s->w_new), queue_nq(s->w_old));
}

/* Calls `visit` for all records of the living; true as soon as it is. */
static bool records_any(struct realm *r, const struct process *except,
	bool (*visit)(struct op_record *, void *), void *argument)
{
	list_for_each (at, &r->processes) {
		struct process *p = list_of(at, struct process, link);
		if (p == except || p->state == PROCESS_DEAD ||
			p->state == PROCESS_LEFT)
			continue;
		for (uint32_t i = 0; i < p->record_page_count; i++) {
			struct op_record *page =
				realm_records(r, p->record_pages[i]);
			for (uint32_t j = 0; j < OP_RECORDS_PER_PAGE; j++)
				if (visit(&page[j], argument))
					return true;
		}
	}
	return false;
}

struct cover {
	const struct op_record *repaired;
	uint16_t vpid;
	uint32_t epoch;
	uint64_t position;
	bool covered;
};

static bool cover_visit(struct op_record *op, void *argument)
{
	struct cover *c = argument;
	struct seen s = record_read(op);
	if (op == c->repaired || s.abandoned ||
		!record_is_at(&s, c->vpid, c->epoch) ||
		!record_covers(&s, c->position))
		return false;
	c->covered = true;
	return true;
}

/* The entry lies between what the receiver has returned and W. */
static bool entry_claimed(
	const struct context *to, uint64_t w, uint64_t position)
{
	uint64_t behind = queue_ahead(queue_nq(w), position);
	return behind >= 1 && behind <= 1ull << to->nq_log2;
}

/*
 * Where the RDR's write position was after the claim: known for an owner, and
 * for the latest claim from W itself; else the receiver makes it good when it
 * is idle (intake_settle()).
 */
static int64_t entry_extent(const struct seen *s, uint64_t w, uint64_t position)
{
	if (queue_nq(w) == ((position + 1) & QUEUE_NQ_MASK))
		return (int64_t)queue_rdr(w);
	if (s->state == OP_OWN &&
		queue_nq(s->w_new) == ((position + 1) & QUEUE_NQ_MASK))
		return (int64_t)queue_rdr(s->w_new);
	return -1;
}

static int repair_entry(struct realm *r, const struct op_record *op,
	struct context *to, const struct seen *s, uint64_t position)
{
	uint64_t w =
		atomic_load_explicit(&to->control->w, memory_order_acquire);
	if (!entry_claimed(to, w, position) || device_peek(to, position))
		return 0;
	if (s->state == OP_TRY) {
		struct cover c = { .repaired = op,
			.vpid = to->vpid,
			.epoch = to->epoch,
			.position = position };
		records_any(r, NULL, cover_visit, &c);
		if (c.covered)
			return -EAGAIN;
	}
	if (device_void_entry(to, position, entry_extent(s, w, position)))
		r->node->count.voided++;
	return 0;
}

/* It may have swapped SLEEP or ARMED out and died before it woke anybody. */
static void repair_wake(struct context *to)
{
	futex_wake_upper(&to->control->w);
	doorbell_ring_node(to);
}

int repair_record(struct realm *r, struct op_record *op)
{
	struct seen s = record_read(op);
	struct context to;

	if (s.state == OP_IDLE)
		return 0;
	if (context_load(&r->arena, s.vpid, s.epoch, &to) == 0 &&
		record_covers(&s, queue_nq(s.w_old))) {
		uint64_t count =
			queue_ahead(queue_nq(s.w_new), queue_nq(s.w_old));
		if (count > 1ull << to.nq_log2)
			count = 0; /* not a claim that could have succeeded */
		for (uint64_t i = 0; i < count; i++) {
			int e = repair_entry(r, op, &to, &s,
				(queue_nq(s.w_old) + i) & QUEUE_NQ_MASK);
			if (e)
				return e;
		}
		repair_wake(&to);
	}
	atomic_store_explicit(&op->state, OP_IDLE, memory_order_release);
	return 0;
}

struct place {
	uint16_t vpid;
	uint32_t epoch;
};

static bool quiet_visit(struct op_record *op, void *argument)
{
	const struct place *place = argument;
	struct seen s = record_read(op);
	return record_is_at(&s, place->vpid, place->epoch);
}

bool repair_quiet(struct realm *r, uint16_t vpid, uint32_t epoch,
	const struct process *except)
{
	struct place place = { vpid, epoch };
	return !records_any(r, except, quiet_visit, &place);
}
