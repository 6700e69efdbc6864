/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How receives end without a message: their peer is gone, they are cancelled,
 * or their endpoint closes. See receive.h.
 */
#include <stdlib.h>

#include "provider/message/receive.h"

static void receive_fail(
	struct endpoint *ep, struct receive *r, bool tagged, int error)
{
	struct fi_cq_err_entry e = { .op_context = r->context,
		.flags = FI_RECV | (tagged ? FI_TAGGED : FI_MSG),
		.tag = r->tag,
		.err = error,
		.prov_errno = -error };
	receive_out(ep, receive_matcher(ep, tagged), r);
	/* It takes no more; long messages under way into it still end. */
	r->length = r->used;
	if (receive_reserve(ep, r))
		LOG_WARN(CQ, "no memory to tell of a failed receive\n");
	receive_end(ep, r, &e, r->source);
}

static void fail_from(struct endpoint *ep, bool tagged, fi_addr_t source)
{
	struct matcher *m = receive_matcher(ep, tagged);
	list_for_each_safe (link, after, &m->receives) {
		struct receive *r = list_of(link, struct receive, all);
		if (r->source == source)
			receive_fail(ep, r, tagged, FI_EHOSTUNREACH);
	}
}

void receive_fail_from(struct endpoint *ep, fi_addr_t source)
{
	fail_from(ep, true, source);
	fail_from(ep, false, source);
}

static bool cancel_in(struct endpoint *ep, bool tagged, void *context)
{
	struct matcher *m = receive_matcher(ep, tagged);
	list_for_each (link, &m->receives) {
		struct receive *r = list_of(link, struct receive, all);
		if (r->context != context)
			continue;
		receive_fail(ep, r, tagged, FI_ECANCELED);
		return true;
	}
	return false;
}

ssize_t receive_cancel(struct endpoint *ep, void *context)
{
	bool found = cancel_in(ep, true, context) ||
		     cancel_in(ep, false, context);
	return found ? 0 : -FI_ENOENT;
}

void receive_abandon(struct endpoint *ep, struct receive *r)
{
	if (--r->fetching == 0 && list_empty(&r->all))
		receive_free(ep, r);
}

static void free_posted(struct endpoint *ep, struct matcher *m)
{
	list_for_each_safe (link, after, &m->receives) {
		struct receive *r = list_of(link, struct receive, all);
		receive_out(ep, m, r);
		receive_free(ep, r);
	}
}

void receive_free_all(struct endpoint *ep)
{
	free_posted(ep, &ep->tagged);
	free_posted(ep, &ep->untagged);
	for (struct receive *r = ep->spare, *next; r; r = next) {
		next = r->spare;
		free(r);
	}
	ep->spare = NULL;
}
