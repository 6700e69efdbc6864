/* SPDX-License-Identifier: BSD-2-Clause */
/* A bounded FIFO of indices. */
#ifndef CAY_DEVICE_MACHINE_RING_H
#define CAY_DEVICE_MACHINE_RING_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct ring {
	uint32_t *item;
	uint32_t size, first, count;
};

static inline bool ring_full(const struct ring *r)
{
	return r->count == r->size;
}

static inline uint32_t ring_position(const struct ring *r, uint32_t i)
{
	uint32_t at = r->first + i;
	return at < r->size ? at : at - r->size;
}

static inline uint32_t ring_at(const struct ring *r, uint32_t i)
{
	return r->item[ring_position(r, i)];
}

/* Returns the position of the item in the ring. */
static inline uint32_t ring_push(struct ring *r, uint32_t item)
{
	assert(r->count < r->size);
	uint32_t at = ring_position(r, r->count++);
	r->item[at] = item;
	return at;
}

static inline uint32_t ring_pop(struct ring *r)
{
	uint32_t item = r->item[r->first];
	r->first = ring_position(r, 1);
	r->count--;
	return item;
}

/* Removes item i; the items before it move up. */
static inline void ring_remove(struct ring *r, uint32_t i)
{
	for (; i > 0; i--)
		r->item[ring_position(r, i)] = r->item[ring_position(r, i - 1)];
	ring_pop(r);
}

#endif
