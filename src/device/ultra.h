/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two ends of an ULTRA path, as the processes that have them mapped see
 * them. Positions count messages from 0 and run freely.
 */
#ifndef CAY_DEVICE_ULTRA_H
#define CAY_DEVICE_ULTRA_H

#include <stdbool.h>

#include "contract/ultra.h"

/* Geometry, which both ends have copied and checked. */
struct ultra_slices {
	unsigned char *base; /* of the first slice; read-only at the target */
	uint8_t slice_log2, slices_log2;
};

/*
 * One thread injects. Others read the positions, which are therefore atomic;
 * relaxed, because they only guess from them.
 */
struct ultra_requester {
	struct ultra_slices slices;
	bool fence; /* the target cannot execute a barrier in this process */
	_Atomic uint64_t sent;
	_Atomic uint64_t returned; /* the last position that was loaded */
	struct ultra_origin_page *own;
	const struct ultra_return_page *page;
};

/* One thread takes. */
struct ultra_completer {
	struct ultra_slices slices;
	_Atomic uint64_t position; /* the next message */
	uint64_t returned;	   /* the position on the return page */
	const struct ultra_origin_page *origin;
	struct ultra_return_page *page;
};

/* A message in its slice, as copied out of the status and checked. */
struct ultra_message {
	uint64_t tag;
	const unsigned char *data; /* in the slice: the origin can change it */
	uint32_t length;
	uint8_t flags; /* enum cay_ultra_flag */
};

static inline uint64_t ultra_slice_count(const struct ultra_slices *s)
{
	return 1ull << s->slices_log2;
}

static inline uint32_t ultra_payload_max(const struct ultra_slices *s)
{
	return (1u << s->slice_log2) - CAY_ULTRA_TRAILER;
}

static inline uint64_t ultra_generation(
	const struct ultra_slices *s, uint64_t position)
{
	return (uint32_t)((position >> s->slices_log2) + 1);
}

/* Returns the end of the slice of a position. */
static inline unsigned char *ultra_slice_end(
	const struct ultra_slices *s, uint64_t position)
{
	uint64_t index = position & (ultra_slice_count(s) - 1);
	return s->base + ((index + 1) << s->slice_log2);
}

static inline _Atomic uint64_t *ultra_status_word(unsigned char *end)
{
	return (_Atomic uint64_t *)(void *)(end - 8);
}

#endif
