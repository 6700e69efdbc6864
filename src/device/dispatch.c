/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dispatch: hands an incoming packet to the unit that its command belongs to.
 * On one machine "incoming" is a call; the compiler folds the choice away
 * where the command is known.
 */
static inline int dispatch_request(struct context *to, struct op_record *op,
	const struct packet *p, struct reference *ref)
{
	switch (p->command & CAY_COMMAND_OPERATION) {
	case CAY_FAST_SEND:
		return completer_fast_send(to, op, p);
	case CAY_SEND:
		/* However it was sent, a short message arrives at once. */
		if (!ref && p->length <= CAY_FAST_SEND_BYTES)
			return completer_fast_send(to, op, p);
		return completer_send(to, op, p, ref);
	default:
		return -EOPNOTSUPP;
	}
}
