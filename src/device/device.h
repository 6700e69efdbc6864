/* SPDX-License-Identifier: BSD-2-Clause */
/* The device in the client library, for the layers above. */
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

static inline struct cay_nqe *device_entry(
	const struct context *c, uint64_t position)
{
	return &c->nq[position & (c->nq_entries - 1)];
}

/*
 * device_peek() inline, for the loop that waits for a message. The crash tests
 * need the call, because it passes a step.
 */
static inline uint64_t device_peek_inline(
	struct context *own, uint64_t position)
{
#ifdef CAY_HOST_STEPS
	return device_peek(own, position);
#else
	/* N4 in notify.c. */
	uint64_t word = atomic_load_explicit(
		queue_valid_word(device_entry(own, position)),
		memory_order_acquire);
	return word >> CAY_NQE_GENERATION_SHIFT ==
			       queue_generation(position, own->nq_log2)
		       ? word
		       : 0;
#endif
}

#endif
