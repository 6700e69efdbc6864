/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Progress of an endpoint: polls its port, and tries again what found no room.
 * Small messages that the provider itself must get through (answers, and what
 * regulates the flow) are notes; those to one peer keep their order.
 */
#include <stdlib.h>
#include <string.h>

#include "provider/completion/wait.h"
#include "provider/message/fetch.h"
#include "provider/progress/arrive.h"

/* Polls in one go, so that one endpoint does not keep the guard for ever. */
#define ROUNDS_MAX 8

struct note {
	struct list link; /* endpoint->pending */
	struct peer *peer;
	uint32_t head;
	uint64_t tag;
	size_t length;
	unsigned char bytes[];
};

static void note_free(struct note *n)
{
	n->peer->posts--;
	list_remove(&n->link);
	free(n);
}

/* False: later. To who is gone it need not go. */
static bool note_sent(int error)
{
	return error == 0 || error == -EPIPE;
}

static bool note_send(const struct note *n)
{
	const struct peer *p = n->peer;
	return note_sent(cay_send_tagged(p->ep->port, p->port, n->tag, n->head,
		n->bytes, n->length, CAY_PRIORITY));
}

static int note_keep(struct peer *p, uint32_t head, uint64_t tag,
	const void *bytes, size_t length)
{
	struct note *n = malloc(sizeof(*n) + length);
	if (!n)
		return -FI_ENOMEM;
	*n = (struct note){
		.peer = p, .head = head, .tag = tag, .length = length
	};
	if (length)
		memcpy(n->bytes, bytes, length);
	p->posts++;
	endpoint_wait(p->ep, &p->ep->pending, &n->link);
	return 0;
}

void endpoint_wait(struct endpoint *ep, struct list *queue, struct list *link)
{
	list_append(queue, link);
	ep->unsettled = true;
	/* No bell will announce it to who sleeps. */
	if (unlikely(ep->armed))
		wait_rearm(ep);
}

int endpoint_post(struct peer *p, uint32_t head, uint64_t tag,
	const void *bytes, size_t length)
{
	if (!p->port) /* it is gone: nobody waits for this */
		return 0;
	if (p->posts)
		return note_keep(p, head, tag, bytes, length);
	int r = cay_send_tagged(
		p->ep->port, p->port, tag, head, bytes, length, 0);
	return note_sent(r) ? 0 : note_keep(p, head, tag, bytes, length);
}

void endpoint_unpost(struct peer *p)
{
	list_for_each_safe (link, after, &p->ep->pending) {
		struct note *n = list_of(link, struct note, link);
		if (n->peer == p)
			note_free(n);
	}
}

/* A peer without room is not asked twice in a round. */
static void notes_send(struct endpoint *ep)
{
	unsigned round = ++ep->rounds;
	list_for_each_safe (link, after, &ep->pending) {
		struct note *n = list_of(link, struct note, link);
		if (n->peer->full_in == round)
			continue;
		if (note_send(n))
			note_free(n);
		else
			n->peer->full_in = round;
	}
}

/* Deals with what was polled; false: something must wait. */
static bool events_take(struct endpoint *ep)
{
	while (ep->event_next < ep->event_count) {
		const struct cay_event *e = &ep->events[ep->event_next];
		if (unlikely(!arrive_plain(ep, e) && arrive(ep, e)))
			return false;
		cay_release(ep->port, e);
		ep->event_next++;
	}
	return true;
}

/*
 * As many as there were lately: a look behind the only message costs time in
 * which it could be taken.
 */
static inline bool events_poll(struct endpoint *ep)
{
	int n = cay_poll(ep->port, ep->events, ep->batch);
	ep->event_next = 0;
	if (n <= 0) {
		ep->event_count = 0;
		ep->batch = 1;
		return false;
	}
	ep->event_count = n;
	ep->batch = (int)bits_min(2 * (unsigned)n, ENDPOINT_EVENTS);
	return true;
}

static void progress_events(struct endpoint *ep)
{
	for (int i = 0; i < ROUNDS_MAX && events_take(ep); i++) {
		if (ep->event_count < ENDPOINT_EVENTS && !ep->look)
			return;
		ep->look = false;
		if (!events_poll(ep))
			return;
	}
}

/* Once more what found no room; and somebody may sleep who ought to know. */
__attribute__((cold, noinline)) static void progress_again(struct endpoint *ep)
{
	if (!list_empty(&ep->pending))
		notes_send(ep);
	if (!list_empty(&ep->fetching))
		fetch_continue(ep);
	if (!list_empty(&ep->rma_waiting))
		rma_continue(ep);
	ep->unsettled = !list_empty(&ep->pending) ||
			!list_empty(&ep->fetching) ||
			!list_empty(&ep->rma_waiting);
	if (ep->armed)
		wait_rearm(ep);
}

void endpoint_progress(struct endpoint *ep)
{
	if (unlikely(!ep->port))
		return;
	ep->sends = 0;
	ep->polls++;
	if (ep->event_next < ep->event_count || events_poll(ep))
		progress_events(ep);
	if (unlikely(ep->unsettled || ep->armed))
		progress_again(ep);
}
