/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls ports, and retries operations that met backpressure. See progress.h. */
#include "provider/progress/progress.h"

#include "provider/endpoint/control.h"
#include "provider/message/cocopy.h"
#include "provider/message/fetch.h"
#include "provider/message/path.h"
#include "provider/progress/dispatch.h"
#include "provider/rma/rma.h"

/* Bounds the time for which one endpoint holds the domain lock. */
#define POLLS_MAX 8

/* While a path is polled alone, one of so many polls looks at everything. */
#define ALL_POLLS 8
/* Polls of an endpoint with paths between two reviews of their use. */
#define REVIEW_POLLS 1024

/* Dispatches the polled events. Returns false if one has to wait. */
static bool events_dispatch(struct endpoint *ep)
{
	while (ep->event_next < ep->event_count) {
		const struct cay_event *e = &ep->events[ep->event_next];
		if (unlikely(!dispatch_fast(ep, e) && dispatch(ep, e)))
			return false;
		cay_release(ep->port, e);
		ep->event_next++;
	}
	return true;
}

/*
 * Polls twice as many events as there were last time: polling for a second
 * message delays the first one if it is the only one.
 */
static inline bool events_poll(struct endpoint *ep)
{
	int n = cay_poll(ep->port, ep->events, ep->poll_batch);
	ep->event_next = 0;
	if (n <= 0) {
		ep->event_count = 0;
		ep->poll_batch = 1;
		return false;
	}
	ep->event_count = n;
	ep->event_batches++;
	ep->poll_batch = (int)bits_min(2 * (unsigned)n, ENDPOINT_EVENTS);
	return true;
}

__attribute__((noinline)) static void progress_events(struct endpoint *ep)
{
	for (int i = 0; i < POLLS_MAX && events_dispatch(ep); i++) {
		if (ep->event_count < ENDPOINT_EVENTS && !ep->poll_again)
			break;
		ep->poll_again = false;
		if (!events_poll(ep))
			break;
	}
}

/* Retries what met backpressure, and wakes sleepers if something is left. */
__attribute__((cold, noinline)) static void progress_retries(
	struct endpoint *ep)
{
	struct list retries;
	if (!list_empty(&ep->contacts))
		peer_contacts_retry(ep);
	if (!list_empty(&ep->control_retries))
		control_retry(ep);
	/* Once each: those that meet backpressure again are appended again. */
	list_init(&retries);
	while (!list_empty(&ep->rendezvous_retries)) {
		struct list *link = ep->rendezvous_retries.next;
		list_remove(link);
		list_append(&retries, link);
	}
	while (!list_empty(&retries)) {
		struct op *op = list_of(retries.next, struct op, retry_link);
		list_remove(&op->retry_link);
		if (op->kind == OP_COCOPY)
			cocopy_send_continue(op);
		else
			fetch_continue(op);
	}
	if (!list_empty(&ep->rma_retries))
		rma_retry(ep);
	if (!list_empty(&ep->path_retries))
		path_retry(ep);
	ep->needs_retry = !list_empty(&ep->contacts) ||
			  !list_empty(&ep->control_retries) ||
			  !list_empty(&ep->rendezvous_retries) ||
			  !list_empty(&ep->rma_retries) ||
			  !list_empty(&ep->path_retries);
	if (ep->armed)
		wait_recheck(ep);
}

/* Polls ULTRA paths. Returns true if the queue need not be polled. */
__attribute__((noinline)) static bool progress_paths(struct endpoint *ep)
{
	bool alone = ep->path_hot && ep->polls % ALL_POLLS;
	int n;
	if (likely(alone)) {
		ep->path_hot--;
		n = path_recv(ep->path_last);
		if (likely(n == -EAGAIN))
			return true;
		n = path_found(ep->path_last, n);
	} else {
		/* The last poll of the queue has found something. */
		if (ep->event_count)
			ep->path_hot = ep->path_streak = 0;
		n = path_poll(ep);
		if (unlikely(ep->polls % REVIEW_POLLS == 0))
			path_review(ep);
	}
	if (unlikely(n < 0))
		peer_damaged(ep->path_last->peer);
	return alone && n > 0;
}

void endpoint_progress(struct endpoint *ep)
{
	if (unlikely(!ep->port))
		return;
	ep->sends = 0;
	ep->polls++;
	if (likely(ep->path_count == 0 || !progress_paths(ep)) &&
		(ep->event_next < ep->event_count || events_poll(ep)))
		progress_events(ep);
	if (unlikely(ep->needs_retry || ep->armed))
		progress_retries(ep);
}

void domain_progress(struct domain *domain)
{
	list_for_each (at, &domain->endpoints)
		endpoint_progress(list_of(at, struct endpoint, link));
}
