/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transmit: where a packet leaves the units of its origin. On the direct path
 * the units of the target execute it at once, on the same thread, and the
 * response is in hand when the call returns.
 */

/*
 * Delivers into a posted buffer, if the target uses them. Returns 1 if the
 * message goes to the RDR, -E2BIG if it is too long for that.
 */
static inline int transmit_posted(
	struct context *to, struct op_record *op, const struct packet *p)
{
	if (p->length <= CAY_FAST_SEND_BYTES)
		return 1;
	int r = 1;
	if (unlikely(host_load32(&to->control->posted, HOST_W)))
		r = posted_send(to, op, p);
	return r > 0 && p->length > QUEUE_PAYLOAD_MAX ? -E2BIG : r;
}

/*
 * Transmits a message. Returns 0, -EAGAIN, -EPIPE, -ESTALE, or -E2BIG: it must
 * be sent by reference.
 */
static folded int transmit_message(struct context *to, struct op_record *op,
	const struct packet *p, struct reference *ref, bool may_be_posted)
{
	int r = may_be_posted ? transmit_posted(to, op, p) : 1;
	return likely(r > 0) ? dispatch_request(to, op, p, ref) : r;
}

/*
 * Transmits an access and follows migrations of the peer. Returns as
 * dispatch_access().
 */
static inline int transmit_access(struct op_record *op,
	_Atomic(struct context *) *slot, const struct packet *p,
	struct response *response)
{
	for (;;) {
		struct context *to = host_context(slot);
		int r = dispatch_access(to, op, p, response);
		if (unlikely(r == -ESTALE))
			return window_renotify(slot, op, p);
		if (likely(r != -EPIPE) || !host_follow(slot, to))
			return r;
	}
}
