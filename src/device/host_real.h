/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The real platform: host accesses are loads, stores and copies. Steps are
 * compiled only with CAY_HOST_STEPS, for the crash tests.
 */
#ifndef CAY_DEVICE_HOST_REAL_H
#define CAY_DEVICE_HOST_REAL_H

#include <string.h>

#include "base/bits.h"
#include "base/futex.h"
#include "base/process_memory.h"
#include "device/context.h"
#include "device/host.h"
#include "device/step.h"

#define DEVICE(name) device_##name

static inline uint64_t host_load(
	const _Atomic uint64_t *word, enum host_kind kind)
{
	(void)kind;
	return atomic_load_explicit(word, memory_order_acquire);
}

static inline uint64_t host_load_relaxed(
	const _Atomic uint64_t *word, enum host_kind kind)
{
	(void)kind;
	return atomic_load_explicit(word, memory_order_relaxed);
}

static inline uint32_t host_load32(
	const _Atomic uint32_t *word, enum host_kind kind)
{
	(void)kind;
	return atomic_load_explicit(word, memory_order_acquire);
}

static inline void host_store(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	(void)kind;
	atomic_store_explicit(word, value, memory_order_release);
}

static inline void host_store_relaxed(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	(void)kind;
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline bool host_cas(_Atomic uint64_t *word, uint64_t *expected,
	uint64_t value, enum host_kind kind)
{
	(void)kind;
	return atomic_compare_exchange_strong_explicit(word, expected, value,
		memory_order_acq_rel, memory_order_acquire);
}

static inline uint64_t host_or(
	_Atomic uint64_t *word, uint64_t bits, enum host_kind kind)
{
	(void)kind;
	return atomic_fetch_or_explicit(word, bits, memory_order_acq_rel);
}

static inline uint64_t host_and(
	_Atomic uint64_t *word, uint64_t bits, enum host_kind kind)
{
	(void)kind;
	return atomic_fetch_and_explicit(word, bits, memory_order_acq_rel);
}

static inline uint64_t host_swap(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	(void)kind;
	return atomic_exchange_explicit(word, value, memory_order_acq_rel);
}

static inline uint64_t host_add(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	(void)kind;
	return atomic_fetch_add_explicit(word, value, memory_order_acq_rel);
}

static inline uint32_t host_add32(
	_Atomic uint32_t *word, uint32_t value, enum host_kind kind)
{
	(void)kind;
	return atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

static inline void host_store_fence(void)
{
	atomic_thread_fence(memory_order_release);
}

/*
 * Copies from or to the memory of another process through the kernel; the
 * cookie proves the identity of the process. Returns 0, -EPERM, -ESRCH or
 * -EFAULT.
 */
static inline int host_process(const struct process_memory *owner, uint64_t at,
	void *local, uint64_t bytes, bool write)
{
	return write ? process_memory_write(owner, at, local, bytes)
		     : process_memory_read(owner, at, local, bytes);
}

/* Returns true if this process may read, or write, its memory there. */
static inline bool host_mapped(const void *at, uint64_t bytes, bool write)
{
	return process_memory_mapped(at, bytes, write);
}

static inline void host_write(uint64_t *to, uint64_t value, enum host_kind kind)
{
	(void)kind;
	*to = value;
}

static inline uint64_t host_read(const uint64_t *from, enum host_kind kind)
{
	(void)kind;
	return *from;
}

static inline void host_copy(
	void *to, const void *from, size_t bytes, enum host_kind kind)
{
	(void)kind;
	memcpy(to, from, bytes);
}

#ifdef CAY_HOST_STEPS
/* Set by the crash tests: stops or kills the process at a step. */
extern void (*host_step_hook)(enum device_step);

static inline void host_step(struct op_record *op, enum device_step step)
{
	if (op)
		atomic_store_explicit(&op->step, step, memory_order_relaxed);
	if (host_step_hook)
		host_step_hook(step);
}
#else
static inline void host_step(struct op_record *op, enum device_step step)
{
	(void)op;
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

static inline void host_wake_senders(struct context *own)
{
	futex_wake_lower(&own->control->r);
}

#endif
