/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses that are counted; before each one a test may run another thread. */
#ifndef CAY_DEVICE_HOST_COUNTED_H
#define CAY_DEVICE_HOST_COUNTED_H

#include "device/counting.h"

/* In counting.c; no effect outside of counting_begin() and _end(). */
void counting_yield(void);
void counting_note(enum host_access, enum host_kind, const void *at,
	size_t bytes, bool written);
void counting_note_step(enum device_step);
void counting_note_interrupt(uint64_t flags);
void counting_note_room(void);

static inline void host_before(void)
{
	counting_yield();
}

static inline void host_after(enum host_access access, enum host_kind kind,
	const void *at, size_t bytes, bool written)
{
	counting_note(access, kind, at, bytes, written);
}

#include "device/host_access.h"

/* op->step is not stored: only the crash tests do that. */
static inline void host_step(struct op_record *op, enum device_step step)
{
	(void)op;
	counting_note_step(step);
}

static inline void host_step_unrecorded(enum device_step step)
{
	counting_note_step(step);
}

#endif
