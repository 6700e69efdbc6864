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
		/* fall through */
	default: /* and an access that its target must carry out */
		return completer_send(to, op, p, ref);
	}
}

/* Remote memory, once the window is known to allow it. */
static inline int dispatch_granted(struct context *to, const struct access *a,
	const struct packet *p, struct response *out)
{
	switch (p->command & CAY_COMMAND_OPERATION) {
	case CAY_PUT:
	case CAY_FAST_PUT:
		return completer_put(to, a, p);
	case CAY_MISALIGNED_PUT:
		return completer_put_masked(to, a, p);
	case CAY_GET:
	case CAY_FAST_GET:
		return responder_get(to, a, p);
	default:
		return responder_atomic(to, a, p, out);
	}
}

/*
 * 0; a positive enum cay_error: refused; -EAGAIN; -EPIPE; -EXDEV: only its
 * owner can do that; -ESTALE: done, but the owner must be told again.
 */
static inline int dispatch_access(struct context *to, struct op_record *op,
	const struct packet *p, struct response *out)
{
	struct access a;
	int r = window_enter(to, op, p, &a);
	if (unlikely(r))
		return r;
	return window_leave(to, op, p, &a, dispatch_granted(to, &a, p, out));
}
