/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of many bytes: memcpy() without its slow case, and copies to memory
 * that another core has read.
 *
 * The slow case: from 2 KiB on, C libraries copy with the
 * instruction REP MOVSB, which processors of the Zen family execute at a
 * twentieth of the usual speed if the destination is 1 to 31 bytes ahead of
 * the source within a page: then each store overlaps a load in the bits that
 * the processor compares.
 */
#ifndef CAY_BASE_COPY_H
#define CAY_BASE_COPY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bits.h"
#include "base/clock.h"

/* Shorter copies take little time in any case. */
#define COPY_SHORT 1024u

/*
 * Where to place bytes that others will copy, from the start of a page: their
 * destinations often start at a page, or 16 bytes later, where malloc() places
 * large blocks. Neither is in the slow case with this source.
 */
#define COPY_SOURCE_AT 64u

/* Returns true if memcpy() of many bytes would be slow. */
static inline bool copy_is_slow(const void *to, const void *from)
{
	return (((uintptr_t)to - (uintptr_t)from) & 4095) - 1 < 31;
}

struct copy_line {
	uint64_t word[8];
};

/* Copies from the end: then no load follows a store that it overlaps. */
__attribute__((noinline, unused)) static void copy_backwards(
	void *to, const void *from, size_t bytes)
{
	unsigned char *at = (unsigned char *)to + bytes;
	const unsigned char *source = (const unsigned char *)from + bytes;
	struct copy_line line;
	for (; bytes >= sizeof(line); bytes -= sizeof(line)) {
		at -= sizeof(line);
		source -= sizeof(line);
		memcpy(&line, source, sizeof(line));
		memcpy(at, &line, sizeof(line));
	}
	memcpy(at - bytes, source - bytes, bytes);
}

static inline void copy_bytes(void *to, const void *from, size_t bytes)
{
	if (unlikely(bytes > COPY_SHORT) && copy_is_slow(to, from))
		copy_backwards(to, from, bytes);
	else
		memcpy(to, from, bytes);
}

/* ---- to memory that another core has read ---- */

/*
 * The lines of such memory are in the cache of the reader. If that core is
 * near, stores are as fast as always, and the reader finds the bytes in a cache
 * of both. If it is far, each store waits for the other cache to give its line
 * up, and stores that bypass the caches take half the time, also of the reader.
 * The distance is not known, so copies are timed, until many in a row were
 * fast: the steady state reads no clock. After slow copies others bypass the
 * caches, and a few usual ones show when that is no longer right.
 */
struct copy_pace {
	_Atomic uint8_t slow; /* usual copies in a row that were slow */
	_Atomic uint8_t fast; /* that were fast; each up to its limit */
	_Atomic uint8_t turn; /* counts copies while they are slow */
};

#define COPY_PACE_BYTES	     (16u << 10) /* shorter copies are not timed */
#define COPY_SLOW_NS_PER_KIB 120u	 /* usual: 25 to 60, far: 200 */
#define COPY_SLOW_MIN	     3u
#define COPY_FAST_MAX	     64u
#define COPY_TURNS	     16u /* one of these is a usual copy, and timed */

/* Copies with stores that bypass the caches, if the processor has them. */
__attribute__((noinline, unused)) static void copy_past_caches(
	void *to, const void *from, size_t bytes)
{
#ifdef __SSE2__
	unsigned char *at = to;
	const unsigned char *source = from;
	size_t head = bits_min(-(uintptr_t)at & 63, bytes);
	memcpy(at, source, head);
	at += head;
	source += head;
	for (bytes -= head; bytes >= 64; bytes -= 64) {
		__m128i line[4];
		memcpy(line, source, sizeof(line));
		for (int i = 0; i < 4; i++)
			_mm_stream_si128((__m128i *)(void *)at + i, line[i]);
		at += 64;
		source += 64;
	}
	memcpy(at, source, bytes);
	/* Later stores, which publish the bytes, do not pass these. */
	_mm_sfence();
#else
	memcpy(to, from, bytes);
#endif
}

/* Relaxed throughout: an estimate, which several threads may make. */
static inline bool copy_pace_is_slow(struct copy_pace *pace)
{
	if (atomic_load_explicit(&pace->slow, memory_order_relaxed) <
		COPY_SLOW_MIN)
		return false;
	uint8_t turn = (uint8_t)(atomic_load_explicit(
					 &pace->turn, memory_order_relaxed) +
				 1);
	atomic_store_explicit(&pace->turn, turn, memory_order_relaxed);
	return turn % COPY_TURNS != 0;
}

/* Returns true if usual copies are not timed any more. */
static inline bool copy_pace_is_known(const struct copy_pace *pace)
{
	return atomic_load_explicit(&pace->fast, memory_order_relaxed) ==
	       COPY_FAST_MAX;
}

static inline void copy_pace_learn(
	struct copy_pace *pace, uint64_t ns, size_t bytes)
{
	bool is_slow = ns > bytes / 1024 * COPY_SLOW_NS_PER_KIB;
	unsigned slow = atomic_load_explicit(&pace->slow, memory_order_relaxed);
	unsigned fast = atomic_load_explicit(&pace->fast, memory_order_relaxed);
	slow = is_slow ? slow + 1 : 0;
	fast = is_slow ? 0 : fast + 1;
	atomic_store_explicit(&pace->slow,
		(uint8_t)bits_min(slow, COPY_SLOW_MIN), memory_order_relaxed);
	atomic_store_explicit(&pace->fast,
		(uint8_t)bits_min(fast, COPY_FAST_MAX), memory_order_relaxed);
}

/* Copies to memory that the peer to which the pace belongs has read. */
static inline void copy_to_reader(
	struct copy_pace *pace, void *to, const void *from, size_t bytes)
{
	if (bytes < COPY_PACE_BYTES || likely(copy_pace_is_known(pace))) {
		copy_bytes(to, from, bytes);
	} else if (copy_pace_is_slow(pace)) {
		copy_past_caches(to, from, bytes);
	} else {
		uint64_t start = clock_now_ns();
		copy_bytes(to, from, bytes);
		copy_pace_learn(pace, clock_now_ns() - start, bytes);
	}
}

#endif
