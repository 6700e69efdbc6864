/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler: passes a work request to the unit that executes it. On the
 * direct path each issuing thread has its own set of units, so there is nothing
 * to arbitrate.
 */
static int schedule_vci(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct cay_vci *v,
	const struct arena *arena)
{
	switch (v->word[0] & CAY_COMMAND_OPERATION) {
	case CAY_FAST_SEND:
		return requester_fast_send(o, op, slot, v);
	case CAY_SEND:
		return requester_send(o, op, slot, v, arena);
	default:
		return requester_remote(o, op, slot, v);
	}
}

/*
 * Executes one VCI, of which the device has a private copy. Returns 0, or
 * -EAGAIN: the VCI stays in the queue. An error becomes a NOTIFY_CC; the caller
 * has checked that there is room for one.
 */
static int schedule_execute(
	struct origin *o, struct op_record *op, const struct cay_vci *v)
{
	struct context *own = host_context(&o->device.own);
	uint16_t target = (uint16_t)v->word[CAY_VCI_WORD_TARGET];
	_Atomic(struct context *) *slot = NULL;
	int r = 0;

	host_step(op, STEP_DESCRIPTOR);
	enum cay_error error = requester_check(o, v, &slot);
	host_step(op, STEP_ROUTE);
	if (!error)
		r = schedule_vci(o, op, slot, v, own->arena);
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
	ack_own(o, op, &c);
	return 0;
}
