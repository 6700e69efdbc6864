/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Op records: a thread stores the operation in its record before it starts, so
 * that every entry that is claimed and not yet published is covered by the
 * record of its claimer, whenever the claimer dies.
 *
 * Order: TRY (with w_old and w_new) is visible before the CAS on W, OWN is
 * stored after it, IDLE after the entry is published and the target woken. The
 * CAS is acq_rel, so a thread that reads the new W also reads TRY or a later
 * state.
 */

/* X1: covered by the CAS on W (N2 in notify.c) that follows. */
static inline void record_try(struct op_record *op, const struct context *to,
	uint64_t w_old, uint64_t w_new)
{
	host_store_relaxed(&op->w_old, w_old, HOST_RECORD);
	host_store_relaxed(&op->w_new, w_new, HOST_RECORD);
	host_store(&op->state, to->op_state | OP_TRY, HOST_RECORD);
}

/* X2: release: a node that reads OWN also reads w_old and w_new. */
static inline void record_own(struct op_record *op, const struct context *to)
{
	host_store(&op->state, to->op_state | OP_OWN, HOST_RECORD);
}

/*
 * X3: release: a node that reads IDLE with acquire may reuse the queue set's
 * memory, because this thread's stores to it have happened.
 */
static inline void record_idle(struct op_record *op)
{
	if (!host_records())
		return;
	host_store(&op->state, OP_IDLE, HOST_RECORD);
	host_step(op, STEP_IDLE);
}

/*
 * X4: names memory that its owner may withdraw, before the loads that check
 * whether it has. Nothing orders this store before these loads: a withdrawal
 * stores its word, issues a membarrier and then reads the records, so either it
 * finds this record or this thread finds the word. models/window.pml.
 */
static inline void record_access(
	struct op_record *op, const struct context *to, uint64_t window)
{
	if (!host_records())
		return;
	host_store_relaxed(&op->window, window, HOST_RECORD);
	host_store(&op->state, to->op_state | OP_ACCESS, HOST_RECORD);
	host_step(op, STEP_ACCESS);
}

/* X5: release, both: a reader that finds 0 knows that the access has ended. */
static inline void record_access_end(struct op_record *op)
{
	if (!host_records())
		return;
	host_store(&op->window, 0, HOST_RECORD);
	record_idle(op);
}
