/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Complete: takes the response of a request to the ack unit, which notifies the
 * origin. The entry of the notification was reserved before the request left.
 */

/* Returns the completion of an access without results. */
static inline struct completion complete_begin(const struct origin *o,
	_Atomic(struct context *) *slot, const struct packet *p)
{
	return (struct completion){ .tag = p->tag,
		.api_tag = p->api_tag,
		.command = p->command,
		.peer_node = o->node,
		.peer_vpid = host_context(slot)->vpid,
		.length = p->length,
		.result = p->offset,
		.previous = p->window };
}

static inline void complete_message(struct origin *o, struct op_record *op,
	const struct packet *p, uint16_t target)
{
	struct completion c = { .tag = p->tag,
		.api_tag = p->api_tag,
		.command = p->command,
		.peer_node = o->node,
		.peer_vpid = target,
		.length = p->length };
	ack_own(o, op, &c, CAY_NOTIFY_CC);
}

static inline void complete_access(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct packet *p,
	const struct response *response)
{
	struct completion c = complete_begin(o, slot, p);
	completion_results(&c, response,
		p->payload ? p->payload->iov_base : NULL, p->length);
	ack_own(o, op, &c, CAY_NOTIFY_CC);
}

/*
 * Completes a refused access with its error. Returns 1, or what the origin
 * answers instead (host_refused()), or -EAGAIN: no room.
 * CAY_ERROR_NO_RESOURCES is that of window_renotify(): the access is done and
 * must not be repeated, so without room only a flush reports the error.
 */
__attribute__((cold, noinline)) static int complete_refused(struct origin *o,
	struct op_record *op, _Atomic(struct context *) *slot,
	const struct packet *p, bool reserved, int error)
{
	if (error == CAY_ERROR_CAPABILITY)
		private_add32(&o->device.invalid_capabilities, 1);
	bool room = reserved || ack_reserve(o);
	if (!room && error != CAY_ERROR_NO_RESOURCES)
		return -EAGAIN;
	/* Before the completion, which another thread may poll at once. */
	int r = host_refused(o, slot);
	if (!room)
		return r;
	struct completion c = complete_begin(o, slot, p);
	c.error = (uint8_t)error;
	ack_own(o, op, &c, CAY_NOTIFY_CC);
	return r;
}
