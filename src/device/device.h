/* SPDX-License-Identifier: BSD-2-Clause */
/* The device in the client library, for the layers above. */
#ifndef CAY_DEVICE_DEVICE_H
#define CAY_DEVICE_DEVICE_H

#include "device/ack.h"
#include "device/context.h"
#include "device/packet.h"
#include "device/queue.h"
#include "device/ultra.h"

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

/* Loads W: the consumer has caught up if its position is that of W. */
static inline uint64_t device_written(const struct context *own)
{
	return atomic_load_explicit(&own->control->w, memory_order_acquire);
}

/* Loads R; relaxed where it is a hint whether senders wait. */
static inline uint64_t device_returned(const struct context *c)
{
	return atomic_load_explicit(&c->control->r, memory_order_acquire);
}

static inline bool device_senders_wait(const struct context *own)
{
	return atomic_load_explicit(&own->control->r, memory_order_relaxed) &
	       R_WAITERS;
}

/* Loads the state of the migration, after the entry that was looked at. */
static inline uint32_t device_migration(const struct context *own)
{
	return atomic_load_explicit(
		&own->control->migration, memory_order_acquire);
}

/* Returns true if the queue set is open and of this epoch. */
static inline bool device_open(const struct context *c)
{
	return !(device_written(c) & W_CLOSED) &&
	       atomic_load_explicit(&c->control->epoch, memory_order_acquire) ==
		       c->epoch;
}

#endif
