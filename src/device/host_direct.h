/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of the platforms on which the issuing thread executes the units: a
 * context is a pointer that other threads may replace, and the memory of other
 * processes is accessed through the kernel.
 */
#ifndef CAY_DEVICE_HOST_DIRECT_H
#define CAY_DEVICE_HOST_DIRECT_H

#include "base/process_memory.h"
#include "device/context.h"

/* The cookie proves the identity of the process. */
static inline int host_process(const struct process_memory *owner, uint64_t at,
	void *local, uint64_t bytes, bool write)
{
	host_before();
	int r = write ? process_memory_write(owner, at, local, bytes)
		      : process_memory_read(owner, at, local, bytes);
	host_after(HOST_COPY, HOST_MEMORY, local, bytes, false);
	return r;
}

static inline bool host_mapped(const void *at, uint64_t bytes, bool write)
{
	return process_memory_mapped(at, bytes, write);
}

/* Acquire pairs with the CAS of context_follow_migration(). */
static inline struct context *host_context(_Atomic(struct context *) *slot)
{
	return atomic_load_explicit(slot, memory_order_acquire);
}

static inline bool host_follow(
	_Atomic(struct context *) *slot, struct context *closed)
{
	return context_follow_migration(slot, closed);
}

/* A thread may die anywhere: its op record says what it had begun. */
static inline bool host_records(void)
{
	return true;
}

static inline bool host_can_emulate(const struct origin *o)
{
	return o->send_emulated;
}

static inline int host_emulate(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *slot, const struct packet *p)
{
	return o->send_emulated(o, op, slot, p);
}

static inline int host_refused(
	struct origin *o, _Atomic(struct context *) *slot)
{
	return o->access_refused ? o->access_refused(slot) : 1;
}

#endif
