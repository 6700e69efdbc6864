/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the platforms of a machine have in common: nothing waits, loops on words
 * that software writes are bounded, and there are no op records, because the
 * machine does not die alone. The memory of processes is out of its reach.
 */
#ifndef CAY_DEVICE_MACHINE_HOST_MACHINE_H
#define CAY_DEVICE_MACHINE_HOST_MACHINE_H

#include <errno.h>

#include "base/process_memory.h"
#include "device/context.h"

#define MACHINE_RETRIES_MAX 1000

static inline int host_process(const struct process_memory *owner, uint64_t at,
	void *local, uint64_t bytes, bool write)
{
	(void)owner;
	(void)at;
	(void)local;
	(void)bytes;
	(void)write;
	return -EPERM;
}

static inline bool host_mapped(const void *at, uint64_t bytes, bool write)
{
	(void)at;
	(void)bytes;
	(void)write;
	return false;
}

static inline struct context *host_context(_Atomic(struct context *) *slot)
{
	return atomic_load_explicit(slot, memory_order_acquire);
}

static inline bool host_follow(
	_Atomic(struct context *) *slot, struct context *closed)
{
	(void)slot;
	(void)closed;
	return false;
}

/* A machine does not replace a queue set, and reads nothing that says so. */
static inline uint32_t host_migration(const struct context *to)
{
	(void)to;
	return QUEUE_STABLE;
}

static inline bool host_records(void)
{
	return false;
}

static inline bool host_pause(const struct arena *a, uint64_t *deadline)
{
	(void)a;
	(void)deadline;
	return false;
}

static inline bool host_retry(uint32_t *tries)
{
	return ++*tries < MACHINE_RETRIES_MAX;
}

#endif
