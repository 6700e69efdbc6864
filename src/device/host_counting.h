/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counting platform's hooks: the accesses of host_real.h, each after a
 * call of counting_yield() and before one of counting_note(). Memory orders
 * are the same, so that threads may interleave as well as coroutines.
 */
#ifndef CAY_DEVICE_HOST_COUNTING_H
#define CAY_DEVICE_HOST_COUNTING_H

#include <string.h>

#define DEVICE(name) counting_##name

#include "base/process_memory.h"
#include "device/counting.h"

/* In counting.c; no effect outside of counting_begin() and _end(). */
void counting_yield(void);
void counting_note(enum counting_what, enum host_kind, const void *at,
	size_t bytes, bool written);
void counting_note_step(enum device_step);
void counting_note_interrupt(uint64_t flags);
void counting_note_room(void);

static inline uint64_t host_load(
	const _Atomic uint64_t *word, enum host_kind kind)
{
	counting_yield();
	uint64_t value = atomic_load_explicit(word, memory_order_acquire);
	counting_note(COUNTING_LOAD, kind, (const void *)word, 8, false);
	return value;
}

static inline uint64_t host_load_relaxed(
	const _Atomic uint64_t *word, enum host_kind kind)
{
	counting_yield();
	uint64_t value = atomic_load_explicit(word, memory_order_relaxed);
	counting_note(COUNTING_LOAD, kind, (const void *)word, 8, false);
	return value;
}

static inline uint32_t host_load32(
	const _Atomic uint32_t *word, enum host_kind kind)
{
	counting_yield();
	uint32_t value = atomic_load_explicit(word, memory_order_acquire);
	counting_note(COUNTING_LOAD, kind, (const void *)word, 4, false);
	return value;
}

static inline void host_store(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	counting_yield();
	atomic_store_explicit(word, value, memory_order_release);
	counting_note(COUNTING_STORE, kind, (const void *)word, 8, true);
}

static inline void host_store_relaxed(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	counting_yield();
	atomic_store_explicit(word, value, memory_order_relaxed);
	counting_note(COUNTING_STORE, kind, (const void *)word, 8, true);
}

static inline bool host_cas(_Atomic uint64_t *word, uint64_t *expected,
	uint64_t value, enum host_kind kind)
{
	counting_yield();
	bool done = atomic_compare_exchange_strong_explicit(word, expected,
		value, memory_order_acq_rel, memory_order_acquire);
	counting_note(COUNTING_ATOMIC, kind, (const void *)word, 8, done);
	return done;
}

static inline uint64_t host_or(
	_Atomic uint64_t *word, uint64_t bits, enum host_kind kind)
{
	counting_yield();
	uint64_t old =
		atomic_fetch_or_explicit(word, bits, memory_order_acq_rel);
	counting_note(COUNTING_ATOMIC, kind, (const void *)word, 8, true);
	return old;
}

static inline uint64_t host_and(
	_Atomic uint64_t *word, uint64_t bits, enum host_kind kind)
{
	counting_yield();
	uint64_t old =
		atomic_fetch_and_explicit(word, bits, memory_order_acq_rel);
	counting_note(COUNTING_ATOMIC, kind, (const void *)word, 8, true);
	return old;
}

static inline uint64_t host_swap(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	counting_yield();
	uint64_t old =
		atomic_exchange_explicit(word, value, memory_order_acq_rel);
	counting_note(COUNTING_ATOMIC, kind, (const void *)word, 8, true);
	return old;
}

static inline uint64_t host_add(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	counting_yield();
	uint64_t old =
		atomic_fetch_add_explicit(word, value, memory_order_acq_rel);
	counting_note(COUNTING_ATOMIC, kind, (const void *)word, 8, true);
	return old;
}

static inline uint32_t host_add32(
	_Atomic uint32_t *word, uint32_t value, enum host_kind kind)
{
	counting_yield();
	uint32_t old =
		atomic_fetch_add_explicit(word, value, memory_order_relaxed);
	counting_note(COUNTING_ATOMIC, kind, (const void *)word, 4, true);
	return old;
}

static inline void host_store_fence(void)
{
	atomic_thread_fence(memory_order_release);
}

static inline int host_process(const struct process_memory *owner, uint64_t at,
	void *local, uint64_t bytes, bool write)
{
	counting_yield();
	int r = write ? process_memory_write(owner, at, local, bytes)
		      : process_memory_read(owner, at, local, bytes);
	counting_note(COUNTING_COPY, HOST_MEMORY, local, bytes, false);
	return r;
}

/* Returns true if this process may read, or write, its memory there. */
static inline bool host_mapped(const void *at, uint64_t bytes, bool write)
{
	return process_memory_mapped(at, bytes, write);
}

static inline void host_write(uint64_t *to, uint64_t value, enum host_kind kind)
{
	counting_yield();
	*to = value;
	counting_note(COUNTING_STORE, kind, to, 8, true);
}

static inline uint64_t host_read(const uint64_t *from, enum host_kind kind)
{
	counting_yield();
	uint64_t value = *from;
	counting_note(COUNTING_LOAD, kind, from, 8, false);
	return value;
}

static inline void host_copy(
	void *to, const void *from, size_t bytes, enum host_kind kind)
{
	counting_yield();
	memcpy(to, from, bytes);
	counting_note(COUNTING_COPY, kind, to, bytes, true);
}

/* op->step is not stored: only the crash tests do that. */
static inline void host_step(struct op_record *op, enum device_step step)
{
	(void)op;
	counting_note_step(step);
}

static inline void host_interrupt(struct context *to, uint64_t flags)
{
	(void)to;
	counting_yield();
	counting_note_interrupt(flags);
}

static inline void host_wake_senders(struct context *own)
{
	(void)own;
	counting_yield();
	counting_note_room();
}

#endif
