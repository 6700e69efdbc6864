/* SPDX-License-Identifier: BSD-2-Clause */
/* Dispatches the events of an endpoint's port. */
#ifndef CAY_PROVIDER_DISPATCH_H
#define CAY_PROVIDER_DISPATCH_H

#include "provider/message/receive.h"

/*
 * Fast path: an eager tagged message without extra words, for a receive with
 * one buffer. Returns false with nothing done if it does not apply.
 */
static inline bool dispatch_fast(struct endpoint *ep, const struct cay_event *e)
{
	if (unlikely(e->kind != CAY_EVENT_MESSAGE ||
		     (e->api_tag & WIRE_FORMAT_MASK) != WIRE_TAGGED))
		return false;
	struct peer *from = ep->by_vpid[e->peer.vpid];
	return likely(from != NULL) && deliver_fast(ep, from, e);
}

/* Returns 0 (done), or -FI_EAGAIN, -FI_ENOMEM: the caller retries later. */
int dispatch(struct endpoint *, const struct cay_event *);

#endif
