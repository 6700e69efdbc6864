/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dispatch: passes a packet to the unit that executes its command. Within one
 * host this is a call; the compiler removes the switch where the command is
 * constant.
 */
static folded int dispatch_request(struct context *to, struct op_record *op,
	const struct packet *p, struct reference *ref)
{
	switch (p->command & CAY_COMMAND_OPERATION) {
	case CAY_FAST_SEND:
		return completer_fast_send(to, op, p);
	case CAY_SEND:
		/* A short message is delivered inline, however it was sent. */
		if (!ref && p->length <= CAY_FAST_SEND_BYTES)
			return completer_fast_send(to, op, p);
		/* fall through */
	default: /* and emulated accesses */
		return completer_send(to, op, p, ref);
	}
}

/* Executes an access that the window has granted. */
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
 * Executes an access. Returns 0; a positive enum cay_error (refused); -EAGAIN;
 * -EPIPE; -EXDEV (it must be emulated); or -ESTALE (it is done, but the
 * notification of the owner was fenced and must be repeated).
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
