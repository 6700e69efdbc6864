/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A timing wheel: flits, credits and other events by the cycle in which they
 * take effect. Each worker writes its own wheel, which has a list per cycle and
 * reading worker. A worker reads a list in the cycle of the list; the barrier
 * between two cycles separates the last write from the read. The events of one
 * cycle are independent of each other, so their order has no effect.
 */
#ifndef CAY_NETWORK_ENGINE_WHEEL_H
#define CAY_NETWORK_ENGINE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

struct wheel_event {
	uint32_t index; /* of a VC, port or node, see enum wheel_kind */
	uint32_t value;
};

enum wheel_kind {
	WHEEL_FLIT,    /* input VC; the flit arrives */
	WHEEL_CREDIT,  /* output VC; enum credit */
	WHEEL_READY,   /* input VC; may request the switch from now on */
	WHEEL_HOST,    /* node; a packet that its host sends on */
	WHEEL_BARRIER, /* port; a barrier message arrives */
	WHEEL_KINDS,
};

struct wheel_list {
	struct wheel_event *event;
	uint32_t count, capacity;
};

struct wheel {
	uint32_t mask; /* slots - 1 */
	unsigned readers;
	bool full;		 /* an allocation failed; an event is lost */
	struct wheel_list *list; /* by slot, reader and kind */
};

/* Opens a wheel for events up to `delay` cycles ahead. Returns 0 or -ENOMEM. */
int wheel_open(struct wheel *, unsigned delay, unsigned readers);
void wheel_close(struct wheel *);
/* Makes room for an event. Returns false, and sets `full`, without memory. */
bool wheel_grow(struct wheel *, struct wheel_list *);
/* Returns true if the wheel holds events for cycles after `now`. */
bool wheel_busy(const struct wheel *, uint64_t now);

/* The lists of all cycles, readers and kinds. */
static inline uint64_t wheel_list_count(const struct wheel *w)
{
	return ((uint64_t)w->mask + 1) * w->readers * WHEEL_KINDS;
}

/* The lists of a cycle, by reader and kind. */
static inline struct wheel_list *wheel_slot(struct wheel *w, uint64_t time)
{
	return &w->list[(time & w->mask) * w->readers * WHEEL_KINDS];
}

static inline struct wheel_list *wheel_list(
	struct wheel *w, uint64_t time, unsigned reader, enum wheel_kind kind)
{
	return &wheel_slot(w, time)[reader * WHEEL_KINDS + kind];
}

static inline void wheel_add(
	struct wheel *w, struct wheel_list *l, uint32_t index, uint32_t value)
{
	if (__builtin_expect(l->count == l->capacity, 0) && !wheel_grow(w, l))
		return;
	l->event[l->count++] = (struct wheel_event){ index, value };
}

static inline void wheel_put(struct wheel *w, uint64_t time, unsigned reader,
	enum wheel_kind kind, uint32_t index, uint32_t value)
{
	wheel_add(w, wheel_list(w, time, reader, kind), index, value);
}

#endif
