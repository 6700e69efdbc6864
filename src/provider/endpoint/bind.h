/* SPDX-License-Identifier: BSD-2-Clause */
/* What an endpoint is bound to: queues, counters, an address vector. */
#ifndef CAY_PROVIDER_BIND_H
#define CAY_PROVIDER_BIND_H

#include "provider/endpoint/endpoint.h"

#define ENDPOINT_WAITS_MAX (2 + COUNT_KINDS)

/* The call of libfabric. */
int endpoint_bind(struct fid *, struct fid *other, uint64_t flags);
/* Undoes all of it. */
void endpoint_unbind(struct endpoint *);
/* The queues and counters, whatever they are bound as; how many. */
unsigned endpoint_waits(struct endpoint *, struct wait *[ENDPOINT_WAITS_MAX]);

#endif
