/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Control messages of the provider itself (FIN, XON, XOFF, results), which must
 * not be lost: those that meet backpressure are queued and retried with
 * progress. Messages to one peer keep their order.
 */
#ifndef CAY_PROVIDER_CONTROL_H
#define CAY_PROVIDER_CONTROL_H

#include "provider/endpoint/endpoint.h"

/* Sends a control message, or queues a copy of it. Returns 0 or -FI_ENOMEM. */
int control_send(struct peer *, uint32_t head, uint64_t tag, const void *,
	size_t length);
/* Retries the queued messages of an endpoint. */
void control_retry(struct endpoint *);
/* Discards the messages that are queued for a peer. */
void control_discard(struct peer *);

/* Appends to a retry list of the endpoint, which progress retries. */
void retry_enqueue(struct endpoint *, struct list *retries, struct list *link);

#endif
