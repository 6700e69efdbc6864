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

/* An entry, and the record on whose account it is repaired. */
struct claimed {
	const struct op_record *repaired;
	const struct context *to;
	uint64_t position;
};

/* Does another record cover the entry? */
static bool record_covers_too(const struct op_record *op, const void *of)
{
	const struct claimed *c = of;
	struct record_seen s = record_read(op);
	return op != c->repaired && !s.abandoned &&
	       record_is_at(&s, c->to->vpid, c->to->epoch) &&
	       record_covers(&s, c->position);
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

static int repair_entry(struct realm *r, const struct op_record *op,
	struct context *to, const struct record_seen *s, uint64_t position)
{
	uint64_t w =
		atomic_load_explicit(&to->control->w, memory_order_acquire);
	if (!entry_claimed(to, w, position) || device_peek(to, position))
		return 0;
	const struct claimed entry = { op, to, position };
	if (s->state == OP_TRY && record_any(r, record_covers_too, &entry))
		return -EAGAIN;
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

/* All that the record covers. */
static int repair_entries(struct realm *r, struct op_record *op,
	struct context *to, const struct record_seen *s)
{
	uint64_t count = record_entries(s);
	if (count > to->nq_entries)
		count = 0; /* not a claim that could have succeeded */
	for (uint64_t i = 0; i < count; i++) {
		int e = repair_entry(
			r, op, to, s, (queue_nq(s->w_old) + i) & QUEUE_NQ_MASK);
		if (e)
			return e;
	}
	repair_wake(to);
	return 0;
}

int repair_record(struct realm *r, struct op_record *op)
{
	struct record_seen s = record_read(op);
	struct context to;
	int e = 0;

	if (record_claims(&s) &&
		context_load(&r->arena, s.vpid, s.epoch, &to) == 0 &&
		record_covers(&s, queue_nq(s.w_old)))
		e = repair_entries(r, op, &to, &s);
	if (e)
		return e;
	repair_posted(r, op);
	atomic_store_explicit(&op->window, 0, memory_order_relaxed);
	atomic_store_explicit(&op->state, OP_IDLE, memory_order_release);
	return 0;
}

/* A queue set, by its VPID and epoch. */
struct set {
	uint16_t vpid;
	uint32_t epoch;
};

static bool record_at_set(const struct op_record *op, const void *of)
{
	const struct set *set = of;
	struct record_seen s = record_read(op);
	return record_is_at(&s, set->vpid, set->epoch);
}

bool repair_quiet(struct realm *r, uint16_t vpid, uint32_t epoch)
{
	return !record_any(r, record_at_set, &(struct set){ vpid, epoch });
}
