/* SPDX-License-Identifier: BSD-2-Clause */
/* The device on the real platform, for the layers above. */
#ifndef CAY_DEVICE_DEVICE_H
#define CAY_DEVICE_DEVICE_H

#include "device/ack.h"
#include "device/context.h"
#include "device/packet.h"
#include "device/queue.h"

#ifndef DEVICE
#define DEVICE(name) device_##name
#include "device/entry.h"
#undef DEVICE
#endif

static inline struct cay_nqe *device_entry(const struct context *c,
	uint64_t position)
{
	return &c->nq[position & ((1ull << c->nq_log2) - 1)];
}

#endif
