/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repair of entries that a dead thread claimed and did not publish. Only op
 * records decide, never a time-out: a late store of a slow sender would damage
 * the entry of the next owner.
 *
 * Entry i of a queue set is claimed if W is past it, and unpublished if its
 * word 7 does not have the generation of this lap. Each such entry is covered
 * by the record of its claimer, because TRY is stored before the CAS and IDLE
 * after the publication of the last entry of the claim. So, for each entry i
 * that the record of a dead thread covers:
 *
 *   OWN(i): no other thread can own i: void it if it is unpublished.
 *   TRY(i): the CAS may have succeeded. If i is claimed and unpublished, its
 *	owner is this thread or another one whose record covers i. If a record
 *	of a live thread covers i, wait: that thread either publishes i, or its
 *	CAS fails and it goes on. Else the owner is dead: void i.
 *
 * The node reads the records first and word 7 after them: a live thread that
 * has gone on has published i before it stored a newer record (X1 to X3 in
 * device/record.c), so word 7 shows that. A record that is read while its
 * thread writes it may be torn, with a state older than its w_old; therefore a
 * live record is never a reason to void an entry, only a reason to wait. The
 * rule for TRY does not depend on what the dead record says, so it may be torn
 * too: it was left between the stores of w_old and w_new of another attempt.
 */
#include <errno.h>

#include "base/futex.h"
#include "node/doorbell.h"
#include "node/record.h"

/* Entries to void: bit i is that at `first` + i. */
struct claimed_entries {
	const struct op_record *repaired; /* the record that covers them */
	const struct context *to;
	uint64_t first, bits;
};

CAY_STATIC_ASSERT(QUEUE_CLAIM_MAX <= 64, "a bit for each entry of a claim");

static inline uint64_t entry_position(
	const struct claimed_entries *e, unsigned i)
{
	return (e->first + i) & QUEUE_NQ_MASK;
}

/* Returns true if another record covers one of the entries. */
static bool record_also_covers(const struct op_record *op, const void *argument)
{
	const struct claimed_entries *e = argument;
	struct record_copy c = record_read(op);
	if (op == e->repaired || c.abandoned ||
		!record_is_on(&c, e->to->vpid, e->to->epoch))
		return false;
	for (unsigned i = 0; i < QUEUE_CLAIM_MAX; i++)
		if (e->bits >> i & 1 && record_covers(&c, entry_position(e, i)))
			return true;
	return false;
}

/* Voids the claimed and unpublished entries that the record covers. */
static int repair_entries(struct realm *r, const struct op_record *op,
	struct context *to, const struct record_copy *c)
{
	struct claimed_entries e = { op, to, queue_nq(c->w_old), 0 };
	unsigned count = (unsigned)record_entries(c);
	uint64_t w =
		atomic_load_explicit(&to->control->w, memory_order_acquire);
	if (count > to->nq_entries)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		/* Claimed: between what the receiver returned and W. */
		uint64_t behind =
			queue_ahead(queue_nq(w), entry_position(&e, i));
		if (behind >= 1 && behind <= to->nq_entries &&
			!node_device_peek(to, entry_position(&e, i)))
			e.bits |= 1ull << i;
	}
	if (e.bits && c->state == OP_TRY &&
		record_any(r, record_also_covers, &e))
		return -EAGAIN;
	/*
	 * The write position of the RDR after the claim is known from W for the
	 * latest claim, and from the record of an owner, whose later entries
	 * are void too; if it is unknown, the receiver corrects it when the
	 * queue is empty (consumer_resync_rdr()).
	 */
	for (unsigned i = 0; i < count; i++) {
		uint64_t position = entry_position(&e, i);
		int64_t rdr_write = -1;
		if (!(e.bits >> i & 1))
			continue;
		if (queue_ahead(queue_nq(w), position) == 1)
			rdr_write = (int64_t)queue_rdr(w);
		else if (c->state == OP_OWN)
			rdr_write = (int64_t)queue_rdr(c->w_new);
		if (node_device_void_entry(to, position, rdr_write))
			r->node->count.voided++;
	}
	return 0;
}

/*
 * Wakes the receiver: the dead thread may have removed SLEEP or ARMED from W
 * and died before it woke the receiver.
 */
static void repair_wake(struct context *to)
{
	futex_wake_upper(&to->control->w);
	doorbell_ring_node(to);
}

/*
 * Any member can write the record, so it is copied once, and the queue set is
 * that of the node's own configuration: no record leads to other memory.
 */
int repair_record(struct realm *r, struct op_record *op)
{
	struct record_copy c = record_read(op);
	const struct vport *p = vport_at(r, c.vpid);
	struct context to;

	if (record_claims(&c) && p && vport_context(p, c.epoch, &to) == 0) {
		int e = repair_entries(r, op, &to, &c);
		if (e)
			return e;
		repair_wake(&to);
	}
	repair_posted(r, op, &c);
	atomic_store_explicit(&op->window, 0, memory_order_relaxed);
	atomic_store_explicit(&op->state, OP_IDLE, memory_order_release);
	return 0;
}

int repair_abandoned(struct process *p, struct op_record *op)
{
	int r = repair_record(p->realm, op);
	p->has_abandoned |= r == -EAGAIN;
	return r;
}

bool repair_all_abandoned(struct process *p)
{
	uint32_t count = p->record_page_count * OP_RECORDS_PER_PAGE;
	bool left = false;
	for (uint32_t i = 0; p->has_abandoned && i < count; i++) {
		/* The next round continues there. */
		if (p->realm->record_left-- <= 0) {
			left = true;
			break;
		}
		p->abandoned_at = (p->abandoned_at + 1) % count;
		struct op_record *op = record_at(p, p->abandoned_at);
		uint64_t state =
			atomic_load_explicit(&op->state, memory_order_acquire);
		if (!(state & OP_ABANDONED))
			continue;
		if (repair_record(p->realm, op) != 0) {
			left = true;
			continue;
		}
		/* Its thread uses another record; release as in record.c. */
		atomic_store_explicit(&op->thread, 0, memory_order_release);
	}
	p->has_abandoned = left;
	return !left;
}
