/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Repair of posted receives that a dead sender had claimed: they become READY
 * again, unless the entry that announces them was published.
 */
#include "node/record.h"

static bool posted_return(struct cay_posted_receive *slot, uint64_t from)
{
	return atomic_compare_exchange_strong_explicit(
		(_Atomic uint64_t *)&slot->state, &from, POSTED_READY,
		memory_order_acq_rel, memory_order_acquire);
}

/*
 * Of a record whose entries are repaired: returns true if the entry that
 * announces the FILLED slot was published. Whether this repair voided the entry
 * does not decide: it may have been voided for another dead record that had
 * tried to claim the same entry. models/posted.pml.
 */
static bool posted_announced(const struct realm *r, const struct record_copy *c)
{
	const struct vport *p = vport_at(r, c->vpid);
	struct context to;
	if (c->state != OP_OWN)
		return true;
	/* The receiver has left that set, and has freed announced slots. */
	if (!p || vport_context(p, c->epoch, &to) != 0)
		return false;
	uint64_t position = queue_nq(c->w_old);
	uint64_t word = node_device_peek(&to, position);
	return word && (word & CAY_COMMAND_MASK) != CAY_NQE_INVALID &&
	       !vport_fenced(p, c->epoch, position);
}

void repair_posted(
	struct realm *r, struct op_record *op, const struct record_copy *c)
{
	uint64_t named =
		atomic_load_explicit(&op->posted, memory_order_acquire);
	uint64_t claimer =
		(uint64_t)((unsigned char *)op - r->arena.base) / sizeof(*op)
		<< POSTED_CLAIMER_SHIFT;
	uint32_t index = (uint32_t)named - 1;
	const struct vport *p = vport_at(r, (uint16_t)(named >> 32));
	/* The VPID may be free or recycled: the slot names its claimer. */
	if (named && p && index < 1u << p->config.posted_log2) {
		struct posted_head *head = vport_table(p, p->config.posted_at);
		struct cay_posted_receive *slot =
			(struct cay_posted_receive *)(head + 1) + index;
		/* Before the slot is READY, as in device/posted.c. */
		atomic_fetch_add_explicit(
			&head->available, 1, memory_order_relaxed);
		if (!posted_return(slot, claimer | POSTED_CLAIMED) &&
			(posted_announced(r, c) ||
				!posted_return(slot, claimer | POSTED_FILLED)))
			atomic_fetch_sub_explicit(
				&head->available, 1, memory_order_relaxed);
	}
	atomic_store_explicit(&op->posted, 0, memory_order_release);
}
