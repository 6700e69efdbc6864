/* SPDX-License-Identifier: BSD-2-Clause */
/* Control messages and retries. See control.h. */
#include "provider/endpoint/control.h"

#include <stdlib.h>
#include <string.h>

struct control {
	struct list link; /* endpoint->control_retries */
	struct peer *peer;
	uint32_t head;
	uint64_t tag;
	size_t length;
	unsigned char bytes[];
};

static void control_free(struct control *c)
{
	c->peer->control_count--;
	list_remove(&c->link);
	free(c);
}

void retry_enqueue(struct endpoint *ep, struct list *retries, struct list *link)
{
	list_append(retries, link);
	ep->needs_retry = true;
	/* No doorbell announces it to sleeping threads. */
	if (unlikely(ep->armed))
		wait_recheck(ep);
}

int control_send(struct peer *p, uint32_t head, uint64_t tag, const void *bytes,
	size_t length)
{
	if (!p->port && p->contact == CONTACT_NONE)
		return 0; /* gone: no reply is expected */
	if (p->port && p->control_count == 0) {
		int r = cay_send_tagged(
			p->ep->port, p->port, tag, head, bytes, length, 0);
		if (r == 0 || r == -EPIPE)
			return 0;
	}
	struct control *c = malloc(sizeof(*c) + length);
	if (!c)
		return -FI_ENOMEM;
	*c = (struct control){
		.peer = p, .head = head, .tag = tag, .length = length
	};
	if (length)
		memcpy(c->bytes, bytes, length);
	p->control_count++;
	retry_enqueue(p->ep, &p->ep->control_retries, &c->link);
	return 0;
}

void control_retry(struct endpoint *ep)
{
	unsigned round = ++ep->retry_round;
	list_for_each_safe (link, after, &ep->control_retries) {
		struct control *c = list_of(link, struct control, link);
		struct peer *p = c->peer;
		/* A full peer is tried once in a round: order is kept. */
		if (p->full_round == round || !p->port)
			continue;
		int r = cay_send_tagged(ep->port, p->port, c->tag, c->head,
			c->bytes, c->length, CAY_PRIORITY);
		if (r == 0 || r == -EPIPE)
			control_free(c);
		else
			p->full_round = round;
	}
}

void control_discard(struct peer *p)
{
	list_for_each_safe (link, after, &p->ep->control_retries) {
		struct control *c = list_of(link, struct control, link);
		if (c->peer == p)
			control_free(c);
	}
}
