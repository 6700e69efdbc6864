/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The accesses of the units to memory, the same on every platform. A platform
 * defines host_before() and host_after(), which enclose each access to shared
 * memory, and then includes this header:
 *
 *	host_before()	may run another thread of an interleaving
 *	host_after(what, kind, at, bytes, written)	accounts for the access
 *
 * Private words belong to the process, or to the machine, that executes the
 * unit; they are not accounted for.
 */
#ifndef CAY_DEVICE_HOST_ACCESS_H
#define CAY_DEVICE_HOST_ACCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/copy.h"
#include "device/host.h"

/* ---- words that other processes write ---- */

static inline uint64_t host_load(
	const _Atomic uint64_t *word, enum host_kind kind)
{
	host_before();
	uint64_t value = atomic_load_explicit(word, memory_order_acquire);
	host_after(HOST_LOAD, kind, (const void *)word, 8, false);
	return value;
}

static inline uint32_t host_load32(
	const _Atomic uint32_t *word, enum host_kind kind)
{
	host_before();
	uint32_t value = atomic_load_explicit(word, memory_order_acquire);
	host_after(HOST_LOAD, kind, (const void *)word, 4, false);
	return value;
}

/* Of a word that only this thread writes, or that an earlier load orders. */
static inline uint64_t host_load_relaxed(
	const _Atomic uint64_t *word, enum host_kind kind)
{
	host_before();
	uint64_t value = atomic_load_explicit(word, memory_order_relaxed);
	host_after(HOST_LOAD, kind, (const void *)word, 8, false);
	return value;
}

static inline uint32_t host_load32_relaxed(
	const _Atomic uint32_t *word, enum host_kind kind)
{
	host_before();
	uint32_t value = atomic_load_explicit(word, memory_order_relaxed);
	host_after(HOST_LOAD, kind, (const void *)word, 4, false);
	return value;
}

static inline uint16_t host_load16_relaxed(
	const _Atomic uint16_t *word, enum host_kind kind)
{
	host_before();
	uint16_t value = atomic_load_explicit(word, memory_order_relaxed);
	host_after(HOST_LOAD, kind, (const void *)word, 2, false);
	return value;
}

static inline void host_store(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	host_before();
	atomic_store_explicit(word, value, memory_order_release);
	host_after(HOST_STORE, kind, (const void *)word, 8, true);
}

/* A later release store covers it. */
static inline void host_store_relaxed(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	host_before();
	atomic_store_explicit(word, value, memory_order_relaxed);
	host_after(HOST_STORE, kind, (const void *)word, 8, true);
}

static inline void host_store32_relaxed(
	_Atomic uint32_t *word, uint32_t value, enum host_kind kind)
{
	host_before();
	atomic_store_explicit(word, value, memory_order_relaxed);
	host_after(HOST_STORE, kind, (const void *)word, 4, true);
}

static inline void host_store16_relaxed(
	_Atomic uint16_t *word, uint16_t value, enum host_kind kind)
{
	host_before();
	atomic_store_explicit(word, value, memory_order_relaxed);
	host_after(HOST_STORE, kind, (const void *)word, 2, true);
}

static inline bool host_cas(_Atomic uint64_t *word, uint64_t *expected,
	uint64_t value, enum host_kind kind)
{
	host_before();
	bool done = atomic_compare_exchange_strong_explicit(word, expected,
		value, memory_order_acq_rel, memory_order_acquire);
	host_after(HOST_ATOMIC, kind, (const void *)word, 8, done);
	return done;
}

static inline bool host_cas32(_Atomic uint32_t *word, uint32_t *expected,
	uint32_t value, enum host_kind kind)
{
	host_before();
	bool done = atomic_compare_exchange_strong_explicit(word, expected,
		value, memory_order_acq_rel, memory_order_acquire);
	host_after(HOST_ATOMIC, kind, (const void *)word, 4, done);
	return done;
}

static inline uint64_t host_or(
	_Atomic uint64_t *word, uint64_t bits, enum host_kind kind)
{
	host_before();
	uint64_t old =
		atomic_fetch_or_explicit(word, bits, memory_order_acq_rel);
	host_after(HOST_ATOMIC, kind, (const void *)word, 8, true);
	return old;
}

static inline uint64_t host_and(
	_Atomic uint64_t *word, uint64_t bits, enum host_kind kind)
{
	host_before();
	uint64_t old =
		atomic_fetch_and_explicit(word, bits, memory_order_acq_rel);
	host_after(HOST_ATOMIC, kind, (const void *)word, 8, true);
	return old;
}

static inline uint64_t host_swap(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	host_before();
	uint64_t old =
		atomic_exchange_explicit(word, value, memory_order_acq_rel);
	host_after(HOST_ATOMIC, kind, (const void *)word, 8, true);
	return old;
}

static inline uint64_t host_add(
	_Atomic uint64_t *word, uint64_t value, enum host_kind kind)
{
	host_before();
	uint64_t old =
		atomic_fetch_add_explicit(word, value, memory_order_acq_rel);
	host_after(HOST_ATOMIC, kind, (const void *)word, 8, true);
	return old;
}

static inline uint32_t host_or32_relaxed(
	_Atomic uint32_t *word, uint32_t bits, enum host_kind kind)
{
	host_before();
	uint32_t old =
		atomic_fetch_or_explicit(word, bits, memory_order_relaxed);
	host_after(HOST_ATOMIC, kind, (const void *)word, 4, true);
	return old;
}

static inline uint32_t host_add32_relaxed(
	_Atomic uint32_t *word, uint32_t value, enum host_kind kind)
{
	host_before();
	uint32_t old =
		atomic_fetch_add_explicit(word, value, memory_order_relaxed);
	host_after(HOST_ATOMIC, kind, (const void *)word, 4, true);
	return old;
}

/* ---- memory that a later release store, or an earlier load, orders ---- */

static inline void host_write(uint64_t *to, uint64_t value, enum host_kind kind)
{
	host_before();
	*to = value;
	host_after(HOST_STORE, kind, to, 8, true);
}

static inline void host_write32(
	uint32_t *to, uint32_t value, enum host_kind kind)
{
	host_before();
	*to = value;
	host_after(HOST_STORE, kind, to, 4, true);
}

static inline void host_write8(uint8_t *to, uint8_t value, enum host_kind kind)
{
	host_before();
	*to = value;
	host_after(HOST_STORE, kind, to, 1, true);
}

static inline uint64_t host_read(const uint64_t *from, enum host_kind kind)
{
	host_before();
	uint64_t value = *from;
	host_after(HOST_LOAD, kind, from, 8, false);
	return value;
}

static inline uint32_t host_read32(const uint32_t *from, enum host_kind kind)
{
	host_before();
	uint32_t value = *from;
	host_after(HOST_LOAD, kind, from, 4, false);
	return value;
}

static inline uint8_t host_read8(const uint8_t *from, enum host_kind kind)
{
	host_before();
	uint8_t value = *from;
	host_after(HOST_LOAD, kind, from, 1, false);
	return value;
}

static inline void host_copy(
	void *to, const void *from, size_t bytes, enum host_kind kind)
{
	host_before();
	copy_bytes(to, from, bytes);
	host_after(HOST_COPY, kind, to, bytes, true);
}

#define HOST_COPY_SHORT 32 /* bytes of the smallest short copy */

/*
 * The same for HOST_COPY_SHORT to a few hundred bytes: a call of memcpy(), with
 * its choice by length, costs more than so few moves.
 */
static inline void host_copy_short(
	void *to, const void *from, size_t bytes, enum host_kind kind)
{
	const unsigned char *source = from;
	unsigned char *at = to;
	size_t last = bytes - HOST_COPY_SHORT;
	host_before();
	for (size_t i = 0; i < last; i += HOST_COPY_SHORT)
		memcpy(at + i, source + i, HOST_COPY_SHORT);
	/* The last ones overlap the ones before. */
	memcpy(at + last, source + last, HOST_COPY_SHORT);
	host_after(HOST_COPY, kind, to, bytes, true);
}

/* Copies to staging memory that the target reads in place. */
static inline void host_stage(
	struct context *target, void *to, const void *from, size_t bytes)
{
	host_before();
	copy_to_reader(&target->pace, to, from, bytes);
	host_after(HOST_COPY, HOST_STAGING, to, bytes, true);
}

/* ---- fences ---- */

/* Earlier stores become visible before later ones. */
static inline void host_fence_stores(void)
{
	atomic_thread_fence(memory_order_release);
}

/* Earlier stores become visible before later loads are performed. */
static inline void host_fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * The same for the compiler only: the partner executes a barrier in this
 * process instead (membarrier(2)).
 */
static inline void host_fence_light(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

/* ---- private words ---- */

static inline uint64_t private_load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static inline void private_store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

static inline bool private_cas(
	_Atomic uint64_t *word, uint64_t *expected, uint64_t value)
{
	return atomic_compare_exchange_weak_explicit(word, expected, value,
		memory_order_acquire, memory_order_relaxed);
}

static inline void private_clear(_Atomic uint64_t *word, uint64_t bits)
{
	atomic_fetch_and_explicit(word, ~bits, memory_order_release);
}

/* Relaxed: a counter, or a hint. */
static inline uint32_t private_load32(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void private_add(_Atomic uint64_t *word, uint64_t value)
{
	atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

static inline void private_store32(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline uint32_t private_add32(_Atomic uint32_t *word, uint32_t value)
{
	return atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

#endif
