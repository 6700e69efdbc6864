/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trigger on the direct path: the caller executes the posted work itself, so
 * that accepting is executing and the answer is immediate. A device that is not
 * its caller accepts into a conditional store buffer; see machine/csb.c.
 */

/*
 * The wait hint: work is refused while the completions that were not returned
 * fill their reserve; each needs about as long as its consumer takes for one.
 */
#define TRIGGER_WAIT_NS 50u

static inline struct cay_answer trigger_answer(
	const struct origin *o, uint32_t accepted, enum cay_error reason)
{
	uint32_t unreturned = private_load32(&o->device.completions);
	return (struct cay_answer){ .accepted = accepted,
		.reason = reason,
		.free = (1u << o->wq_log2) -
			(private_load32(&o->client.wq_write) -
				private_load32(&o->device.wq_read)),
		.wait_ns = reason == CAY_ERROR_NO_RESOURCES
				   ? TRIGGER_WAIT_NS * (unreturned + 1)
				   : 0 };
}

/*
 * Executes one VCI, of which the device has a private copy. Returns 0, or
 * -EAGAIN: the VCI stays in the queue. An error becomes a NOTIFY_CC; the caller
 * has checked that there is room for one.
 */
static int trigger_execute(
	struct origin *o, struct op_record *op, const struct cay_vci *v)
{
	uint16_t target = (uint16_t)v->word[CAY_VCI_WORD_TARGET];
	_Atomic(struct context *) *slot = NULL;
	int r = 0;

	host_step(op, STEP_DESCRIPTOR);
	enum cay_error error = requester_check(o, v, &slot);
	host_step(op, STEP_ROUTE);
	if (!error)
		r = requester_vci(o, op, slot, v);
	if (r == -EPIPE)
		error = CAY_ERROR_GONE;
	if (!error)
		return r;
	if (!ack_reserve(o))
		return -EAGAIN;
	struct completion c = { .tag = v->word[CAY_VCI_WORD_TAG],
		.api_tag = (uint32_t)(v->word[CAY_VCI_WORD_TARGET] >>
				      CAY_VCI_API_TAG_SHIFT),
		.command = (uint16_t)v->word[0],
		.error = (uint8_t)error,
		.peer_node = o->node,
		.peer_vpid = target };
	ack_own(o, op, &c, CAY_NOTIFY_CC);
	return 0;
}

static inline struct cay_answer trigger_issue(
	struct origin *o, struct op_record *op, uint32_t count)
{
	uint32_t accepted = 0;
	struct cay_vci v;

	host_step(op, STEP_CONTEXT);
	for (; accepted < count; accepted++) {
		if (!fetch_vci(o, &v))
			return trigger_answer(o, accepted, CAY_ERROR_COMMAND);
		/* Each VCI may need a completion. */
		if (private_load32(&o->device.completions) >= o->cq_reserve)
			return trigger_answer(
				o, accepted, CAY_ERROR_NO_RESOURCES);
		/* First: its completion contains the position after it. */
		uint32_t read = private_load32(&o->device.wq_read);
		private_store32(&o->device.wq_read, read + 1);
		if (trigger_execute(o, op, &v) != 0) {
			private_store32(&o->device.wq_read, read);
			return trigger_answer(
				o, accepted, CAY_ERROR_NO_RESOURCES);
		}
	}
	return trigger_answer(o, accepted, CAY_ERROR_NONE);
}

/* The caller has reserved the entry. */
static inline struct cay_answer trigger_snapshot(
	struct origin *o, struct op_record *op)
{
	struct context *own;
	int r;
	do {
		own = host_context(&o->device.own);
		r = status_write(o, op, own);
	} while (r != 0 && host_follow(&o->device.own, own));
	if (r == 0)
		return (struct cay_answer){ .accepted = 1 };
	ack_unreserve(o, 1);
	return (struct cay_answer){ .reason = CAY_ERROR_GONE };
}
