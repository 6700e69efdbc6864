/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes out of an endpoint's port. */
#ifndef CAY_PROVIDER_ARRIVE_H
#define CAY_PROVIDER_ARRIVE_H

#include "provider/message/receive.h"

/*
 * A tagged message that is nothing but its bytes, for a receive that is nothing
 * but a buffer: nearly all are. False: nothing has happened.
 */
static inline bool arrive_plain(struct endpoint *ep, const struct cay_event *e)
{
	if (unlikely(e->kind != CAY_EVENT_MESSAGE ||
		     (e->api_tag & WIRE_PLAIN_MASK) != WIRE_TAGGED))
		return false;
	struct peer *from = ep->by_vpid[e->peer.vpid];
	return likely(from != NULL) && receive_plain(ep, from, e);
}

/* 0: dealt with; -FI_EAGAIN, -FI_ENOMEM: offer it again later. */
int arrive(struct endpoint *, const struct cay_event *);

#endif
