/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How receives end: with a message, because their source is gone, cancelled, or
 * because their endpoint closes. See receive.h.
 */
#include "provider/message/receive.h"

#include <stdlib.h>

void receive_free(struct endpoint *ep, struct receive *r)
{
	for (; r->reserved; r->reserved--)
		cq_unreserve(ep->rx_cq);
	receive_recycle(ep, r);
}

void receive_end(struct endpoint *ep, struct receive *r,
	struct fi_cq_err_entry *e, fi_addr_t source)
{
	bool last = receive_full(r, 0) && r->fetching == 0;
	if (unlikely(r->flags & FI_MULTI_RECV) && last)
		e->flags |= FI_MULTI_RECV;
	if (ep->counters[COUNT_RECV])
		cntr_count(ep->counters[COUNT_RECV], e->err != 0);
	if (unlikely(e->err))
		provider_completion_failed(e->flags, e->err);
	if (r->reserved && e->err) {
		cq_fail(ep->rx_cq, e, source);
		r->reserved--;
	} else if (r->reserved &&
		   (!receive_silent(ep, r) || e->flags & FI_MULTI_RECV)) {
		cq_complete(ep->rx_cq, (const void *)e, source);
		r->reserved--;
	}
	if (last)
		receive_free(ep, r);
}

void receive_abandon(struct endpoint *ep, struct receive *r)
{
	if (--r->fetching == 0 && list_empty(&r->all))
		receive_free(ep, r);
}

static void receive_fail(
	struct endpoint *ep, struct receive *r, bool tagged, int error)
{
	struct fi_cq_err_entry e = { .op_context = r->context,
		.flags = FI_RECV | (tagged ? FI_TAGGED : FI_MSG),
		.tag = r->tag,
		.err = error,
		.prov_errno = -error };
	receive_dequeue(ep, receive_matcher(ep, tagged), r);
	/* Rendezvous messages in flight into it still complete. */
	r->length = r->used;
	if (receive_reserve(ep, r))
		LOG_WARN(CQ, "no memory to report a failed receive\n");
	receive_end(ep, r, &e, r->source);
}

void receive_fail_from(struct endpoint *ep, fi_addr_t source)
{
	for (int tagged = 1; tagged >= 0; tagged--) {
		struct matcher *m = receive_matcher(ep, tagged);
		list_for_each_safe (link, after, &m->receives) {
			struct receive *r = list_of(link, struct receive, all);
			if (r->source == source)
				receive_fail(ep, r, tagged, FI_EHOSTUNREACH);
		}
	}
}

ssize_t receive_cancel(struct endpoint *ep, void *context)
{
	for (int tagged = 1; tagged >= 0; tagged--) {
		struct matcher *m = receive_matcher(ep, tagged);
		list_for_each (link, &m->receives) {
			struct receive *r = list_of(link, struct receive, all);
			if (r->context != context)
				continue;
			receive_fail(ep, r, tagged, FI_ECANCELED);
			return 0;
		}
	}
	return -FI_ENOENT;
}

void receive_free_all(struct endpoint *ep)
{
	for (int tagged = 0; tagged <= 1; tagged++) {
		struct matcher *m = receive_matcher(ep, tagged);
		list_for_each_safe (link, after, &m->receives) {
			struct receive *r = list_of(link, struct receive, all);
			receive_dequeue(ep, m, r);
			receive_free(ep, r);
		}
	}
	for (struct receive *r = ep->free_receives, *next; r; r = next) {
		next = r->next_free;
		free(r);
	}
	ep->free_receives = NULL;
}
