/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives of the living that a dead sender had taken: they are posted
 * again, unless the entry that tells of them was published.
 */
#include "node/record.h"

/* The port may be gone, or another one by now: the slot says who took it. */
static struct cay_posted_receive *posted_slot(
	struct realm *r, uint64_t named, struct posted_head **head)
{
	uint32_t index = (uint32_t)named - 1;
	struct vport *p = r->node->ports[(uint16_t)(named >> 32)];
	if (!p || p->realm != r || index >= 1u << p->config.posted_log2)
		return NULL;
	*head = (struct posted_head *)(void *)(r->arena.base +
					       p->config.tables_offset +
					       (uint64_t)p->config.posted_at *
						       CAY_LINE);
	return (struct cay_posted_receive *)(*head + 1) + index;
}

static bool posted_return(struct cay_posted_receive *slot, uint64_t from)
{
	return atomic_compare_exchange_strong_explicit(
		(_Atomic uint64_t *)&slot->state, &from, POSTED_READY,
		memory_order_acq_rel, memory_order_acquire);
}

/*
 * Of a record whose entries are repaired: has its thread told the receiver of
 * the slot that it had FILLED? Not "is it we who have made the entry void":
 * that may have been done on account of another dead record, which had tried
 * for the same entry. models/posted.pml.
 */
static bool posted_told(struct realm *r, const struct op_record *op)
{
	struct record_seen s = record_read(op);
	struct context to;
	if (s.state != OP_OWN)
		return true;
	/* The receiver has left that set, and freed what it was told of. */
	if (context_load(&r->arena, s.vpid, s.epoch, &to) != 0)
		return false;
	uint64_t position = queue_nq(s.w_old);
	uint64_t word = device_peek(&to, position);
	return word && (word & CAY_COMMAND_MASK) != CAY_NQE_INVALID &&
	       !queue_fenced(to.control, position);
}

void repair_posted(struct realm *r, struct op_record *op)
{
	uint64_t named =
		atomic_load_explicit(&op->posted, memory_order_acquire);
	uint64_t taker =
		(uint64_t)((unsigned char *)op - r->arena.base) / sizeof(*op)
		<< POSTED_CLAIMER_SHIFT;
	struct posted_head *head;
	struct cay_posted_receive *slot = named ? posted_slot(r, named, &head)
						: NULL;
	if (slot) {
		/* Before the slot is READY, as in device/posted.c. */
		atomic_fetch_add_explicit(
			&head->available, 1, memory_order_relaxed);
		if (!posted_return(slot, taker | POSTED_CLAIMED) &&
			(posted_told(r, op) ||
				!posted_return(slot, taker | POSTED_FILLED)))
			atomic_fetch_sub_explicit(
				&head->available, 1, memory_order_relaxed);
	}
	atomic_store_explicit(&op->posted, 0, memory_order_release);
}
