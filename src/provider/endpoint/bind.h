/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds endpoints to queues, counters and an address vector. */
#ifndef CAY_PROVIDER_BIND_H
#define CAY_PROVIDER_BIND_H

#include "provider/endpoint/endpoint.h"

#define ENDPOINT_WAITS_MAX (2 + COUNT_KINDS)

/* fi_ep_bind(). Takes the lock. */
int endpoint_bind(struct fid *, struct fid *other, uint64_t flags);
/* Undoes all bindings. */
void endpoint_unbind(struct endpoint *);
/* Collects the wait objects of its queues and counters. Returns how many. */
unsigned endpoint_waits(struct endpoint *, struct wait *[ENDPOINT_WAITS_MAX]);

#endif
