/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two ends of an ULTRA path, as the processes that have them mapped see
 * them. Positions count messages from 0 and run freely.
 */
#ifndef CAY_DEVICE_ULTRA_H
#define CAY_DEVICE_ULTRA_H

#include <stdbool.h>

#include "contract/ultra.h"

/* Where the next message is; private to the thread that uses this end. */
struct ultra_cursor {
	unsigned char *end;  /* of its slice; read-only at the target */
	uint64_t generation; /* in the place of the status */
	uint32_t slice_bytes;
	uint32_t slices;
	unsigned char *base; /* of the first slice */
	unsigned char *last; /* end of the last one */
};

/* One thread injects. */
struct ultra_requester {
	struct ultra_cursor next;
	/*
	 * Other threads read these two. The limit is the position that was
	 * returned when it was last loaded, plus the number of slices.
	 */
	_Atomic uint64_t sent, limit;
	bool fence; /* the target cannot execute a barrier in this process */
	const struct ultra_return_page *page;
	struct ultra_origin_page *own;
};

/* One thread takes. */
struct ultra_completer {
	struct ultra_cursor next;
	_Atomic uint64_t position; /* the next message; others read it */
	uint64_t returned;	   /* the position on the return page */
	uint64_t woken;		   /* the last sleep of the origin that ended */
	struct ultra_return_page *page;
	const struct ultra_origin_page *origin;
};

#define ULTRA_WAKE 0x10000 /* above every length */

/* A message in its slice, as copied out of the status and checked. */
struct ultra_message {
	uint64_t tag;
	const unsigned char *data; /* in the slice: the origin can change it */
	uint32_t length;
	uint8_t flags; /* enum cay_ultra_flag */
};

static inline uint32_t ultra_payload_max(const struct ultra_cursor *c)
{
	return c->slice_bytes - CAY_ULTRA_TRAILER;
}

/* Returns true if all slices appear to be in use. Relaxed: own words. */
static inline bool ultra_full(const struct ultra_requester *u)
{
	return atomic_load_explicit(&u->sent, memory_order_relaxed) ==
	       atomic_load_explicit(&u->limit, memory_order_relaxed);
}

static inline void ultra_cursor_init(struct ultra_cursor *c,
	unsigned char *base, unsigned slice_log2, unsigned slices_log2)
{
	*c = (struct ultra_cursor){ .base = base,
		.slice_bytes = 1u << slice_log2,
		.slices = 1u << slices_log2,
		.end = base + (1u << slice_log2),
		.last = base + (1ull << (slice_log2 + slices_log2)),
		.generation = 1ull << CAY_ULTRA_GENERATION_SHIFT };
}

/* The generation changes with each lap, modulo 2^32. */
static inline void ultra_cursor_advance(struct ultra_cursor *c)
{
	if (c->end == c->last) {
		c->end = c->base;
		c->generation += 1ull << CAY_ULTRA_GENERATION_SHIFT;
	}
	c->end += c->slice_bytes;
}

#endif
