/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trigger: the operation that issues posted work to the device. On the direct
 * path the caller executes the work itself, the conditional store buffer is
 * empty, and the answer is immediate.
 */

static inline struct cay_answer trigger_issue(
	struct origin *o, struct op_record *op, uint32_t count)
{
	uint32_t accepted = 0;
	struct cay_vci v;

	host_step(op, STEP_CONTEXT);
	for (; accepted < count; accepted++) {
		if (!fetch_vci(o, &v))
			return csb_answer(o, accepted, CAY_ERROR_COMMAND);
		if (!csb_accepts(o) || schedule_execute(o, op, &v) != 0)
			return csb_answer(o, accepted, CAY_ERROR_NO_RESOURCES);
		o->device.wq_read++;
	}
	return csb_answer(o, accepted, CAY_ERROR_NONE);
}

/* Writes a NOTIFY_STATUS with all current pointers. Its entry is reserved. */
static int trigger_status(
	struct origin *o, struct op_record *op, struct context *own)
{
	struct claim claim;
	int r = notify_claim(own, op, 0, 0, &claim);
	if (r)
		return r;
	uint64_t position = queue_nq(claim.w_old);
	struct cay_nqe *nqe = notify_entry(own, position);
	notify_head(nqe, 0, o->node, 0);
	notify_fill(
		nqe, &(struct notify_body){ o->client.wq_write, claim.w_new,
			     host_load(&own->control->r, HOST_R),
			     o->device.wq_read | notify_pointers(&claim), 0 });
	notify_publish(
		nqe, notify_word(own, position, CAY_NOTIFY_STATUS, 0, o->vpid));
	return notify_finish(own, op, &claim, 0);
}

static inline struct cay_answer trigger_snapshot(
	struct origin *o, struct op_record *op)
{
	struct context *own;
	int r;
	if (!ack_reserve(o))
		return (struct cay_answer){ .reason = CAY_ERROR_NO_RESOURCES };
	do {
		own = host_context(&o->device.own);
		r = trigger_status(o, op, own);
	} while (r != 0 && host_follow(&o->device.own, own));
	if (r == 0)
		return (struct cay_answer){ .accepted = 1 };
	ack_unreserve(o, 1);
	return (struct cay_answer){ .reason = CAY_ERROR_GONE };
}
