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
#include "node/record.h"

/* Does a living thread's record, other than `repaired`, cover the entry? */
static bool entry_covered(struct realm *r, const struct op_record *repaired,
	const struct context *to, uint64_t position)
{
	list_for_each (at, &r->processes) {
		struct process *p = list_of(at, struct process, link);
		struct op_record *op;
		for (uint32_t i = 0; process_lives(p) && (op = record_at(p, i));
			i++) {
			struct record_seen s = record_read(op);
			if (op != repaired && !s.abandoned &&
				record_is_at(&s, to->vpid, to->epoch) &&
				record_covers(&s, position))
				return true;
		}
	}
	return false;
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
static int64_t entry_extent(
	const struct record_seen *s, uint64_t w, uint64_t position)
{
	if (queue_nq(w) == ((position + 1) & QUEUE_NQ_MASK))
		return (int64_t)queue_rdr(w);
	if (s->state == OP_OWN &&
		queue_nq(s->w_new) == ((position + 1) & QUEUE_NQ_MASK))
		return (int64_t)queue_rdr(s->w_new);
	return -1;
}

/* 1 it is void now, 0 it is not, -EAGAIN. */
static int repair_entry(struct realm *r, const struct op_record *op,
	struct context *to, const struct record_seen *s, uint64_t position)
{
	uint64_t w =
		atomic_load_explicit(&to->control->w, memory_order_acquire);
	if (!entry_claimed(to, w, position) || device_peek(to, position))
		return 0;
	if (s->state == OP_TRY && entry_covered(r, op, to, position))
		return -EAGAIN;
	if (!device_void_entry(to, position, entry_extent(s, w, position)))
		return 0;
	r->node->count.voided++;
	return 1;
}

/* It may have swapped SLEEP or ARMED out and died before it woke anybody. */
static void repair_wake(struct context *to)
{
	futex_wake_upper(&to->control->w);
	doorbell_ring_node(to);
}

/* As repair_entry(), for all that the record covers. */
static int repair_entries(struct realm *r, struct op_record *op,
	struct context *to, const struct record_seen *s)
{
	uint64_t count = record_entries(s);
	int voided = 0;
	if (count > to->nq_entries)
		count = 0; /* not a claim that could have succeeded */
	for (uint64_t i = 0; i < count; i++) {
		int e = repair_entry(
			r, op, to, s, (queue_nq(s->w_old) + i) & QUEUE_NQ_MASK);
		if (e < 0)
			return e;
		voided |= e;
	}
	repair_wake(to);
	return voided;
}

int repair_record(struct realm *r, struct op_record *op)
{
	struct record_seen s = record_read(op);
	struct context to;
	int voided = 0;

	if (record_claims(&s) &&
		context_load(&r->arena, s.vpid, s.epoch, &to) == 0 &&
		record_covers(&s, queue_nq(s.w_old)))
		voided = repair_entries(r, op, &to, &s);
	if (voided < 0)
		return voided;
	repair_posted(r, op);
	atomic_store_explicit(&op->window, 0, memory_order_relaxed);
	atomic_store_explicit(&op->state, OP_IDLE, memory_order_release);
	return 0;
}

bool repair_quiet(struct realm *r, uint16_t vpid, uint32_t epoch)
{
	list_for_each (at, &r->processes) {
		struct process *p = list_of(at, struct process, link);
		struct op_record *op;
		for (uint32_t i = 0; process_lives(p) && (op = record_at(p, i));
			i++) {
			struct record_seen s = record_read(op);
			if (record_is_at(&s, vpid, epoch))
				return false;
		}
	}
	return true;
}
