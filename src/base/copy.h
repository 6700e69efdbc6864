/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memcpy() without its slow case. From 2 KiB on, C libraries copy with the
 * instruction REP MOVSB, which processors of the Zen family execute at a
 * twentieth of the usual speed if the destination is 1 to 31 bytes ahead of
 * the source within a page: then each store overlaps a load in the bits that
 * the processor compares.
 */
#ifndef CAY_BASE_COPY_H
#define CAY_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"

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

#endif
