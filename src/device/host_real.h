/* SPDX-License-Identifier: BSD-2-Clause */
/* The real platform of the client library and the node. */
#ifndef CAY_DEVICE_HOST_REAL_H
#define CAY_DEVICE_HOST_REAL_H

#include "device/host_plain.h"

#include "device/host_direct.h"

static inline void host_wake_senders(struct context *own)
{
	futex_wake_lower(&own->control->r);
}

static inline int host_sleep_consumer(
	struct context *own, uint64_t w, uint64_t deadline)
{
	return futex_wait_upper(&own->control->w, w, deadline);
}

static inline int host_sleep_sender(
	struct context *to, uint64_t r, uint64_t deadline)
{
	return futex_wait_lower(&to->control->r, r, deadline);
}

#endif
