/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What will happen in the next cycles, by cycle: flits that arrive, credits
 * that come back. Each thread writes a wheel of its own, with a list for each
 * thread that reads; who reads a list does so in its cycle, a barrier after the
 * last one could be written. Nothing that two of a cycle's events do depends on
 * their order, so it does not matter who wrote them.
 */
#ifndef CAY_NETWORK_ENGINE_WHEEL_H
#define CAY_NETWORK_ENGINE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

struct wheel_event {
	uint32_t place; /* where; see engine.h */
	uint32_t what;	/* a flit, or what a credit says, ... */
};

enum wheel_kind {
	WHEEL_FLIT,
	WHEEL_CREDIT,
	WHEEL_READY,   /* an input that has had a virtual channel long enough */
	WHEEL_HOST,    /* a packet that the host of a node sends on */
	WHEEL_BARRIER, /* a message */
	WHEEL_KINDS,
};

struct wheel_list {
	struct wheel_event *event;
	uint32_t count, room;
};

struct wheel {
	uint32_t mask; /* slots - 1 */
	unsigned readers;
	bool full;		 /* there was no memory for an event */
	struct wheel_list *list; /* by slot, reader and kind */
};

/* For events up to `delay` cycles ahead. 0 or -ENOMEM. */
int wheel_open(struct wheel *, unsigned delay, unsigned readers);
void wheel_close(struct wheel *);
/* Makes room for one more; false: there is none, and `full` says so. */
bool wheel_grow(struct wheel *, struct wheel_list *);

/* Is anything under way for later than now? */
bool wheel_busy(const struct wheel *, uint64_t now);

/* The lists of a cycle: by reader, then kind. */
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
	struct wheel *w, struct wheel_list *l, uint32_t place, uint32_t what)
{
	if (__builtin_expect(l->count == l->room, 0) && !wheel_grow(w, l))
		return;
	l->event[l->count++] = (struct wheel_event){ place, what };
}

static inline void wheel_put(struct wheel *w, uint64_t time, unsigned reader,
	enum wheel_kind kind, uint32_t place, uint32_t what)
{
	wheel_add(w, wheel_list(w, time, reader, kind), place, what);
}

#endif
