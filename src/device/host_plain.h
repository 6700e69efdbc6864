/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses of the real platforms: loads, stores and copies. Steps are compiled
 * only with CAY_HOST_STEPS, for the crash tests.
 */
#ifndef CAY_DEVICE_HOST_PLAIN_H
#define CAY_DEVICE_HOST_PLAIN_H

#include "base/bits.h"
#include "base/futex.h"
#include "device/context.h"
#include "device/host.h"
#include "device/step.h"

static inline void host_before(void)
{
}

static inline void host_after(enum host_access access, enum host_kind kind,
	const void *at, size_t bytes, bool written)
{
	(void)access;
	(void)kind;
	(void)at;
	(void)bytes;
	(void)written;
}

#include "device/host_access.h"

#ifdef CAY_HOST_STEPS
/* Set by the crash tests: stops or kills the process at a step. */
extern void (*host_step_hook)(enum device_step);

static inline void host_step(struct op_record *op, enum device_step step)
{
	atomic_store_explicit(&op->step, step, memory_order_relaxed);
	if (host_step_hook)
		host_step_hook(step);
}

static inline void host_step_unrecorded(enum device_step step)
{
	if (host_step_hook)
		host_step_hook(step);
}
#else
static inline void host_step(struct op_record *op, enum device_step step)
{
	(void)op;
	(void)step;
}

static inline void host_step_unrecorded(enum device_step step)
{
	(void)step;
}
#endif

/*
 * `flags` are those of the W that the claim replaced: the sender that removes
 * SLEEP or ARMED wakes the target. Out of line: it enters the kernel.
 */
__attribute__((cold, noinline)) static void host_interrupt(
	struct context *to, uint64_t flags)
{
	if (flags & W_SLEEP)
		futex_wake_upper(&to->control->w);
	if (flags & W_ARMED)
		to->arena->ring_doorbell(to);
}

#endif
