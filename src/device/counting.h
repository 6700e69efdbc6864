/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counting platform: the same units as on the real one, but every access to
 * shared memory is counted by kind, recorded if there is a trace, and preceded
 * by a call in which a test may run another coroutine.
 *
 *	struct counting c = { .arena = &arena, .trace = entries,
 *		.trace_max = ARRAY_COUNT(entries) };
 *	counting_begin(&c);
 *	counting_send_fast(...);
 *	counting_end();
 *	... c.kind[HOST_W].atomics ...
 *
 * Between counting_begin() and counting_end() the state belongs to the calling
 * thread. Outside of them the entry points work and nothing is counted.
 */
#ifndef CAY_DEVICE_COUNTING_H
#define CAY_DEVICE_COUNTING_H

#include "device/ack.h"
#include "device/context.h"
#include "device/host.h"
#include "device/packet.h"
#include "device/queue.h"
#include "device/step.h"
#include "device/ultra.h"

enum counting_what {
	COUNTING_LOAD = HOST_LOAD,
	COUNTING_STORE = HOST_STORE,
	COUNTING_ATOMIC = HOST_ATOMIC,
	COUNTING_COPY = HOST_COPY,
	COUNTING_STEP, /* the accesses since the last step belong to it */
	COUNTING_WAKE, /* a system call that wakes a thread */
};

struct counting_entry {
	enum counting_what what;
	enum host_kind kind;   /* of an access */
	enum device_step step; /* of a step */
	uint32_t bytes;
	uint32_t lines; /* written for the first time since counting_begin() */
	uint64_t at;	/* from the arena's start; COUNTING_OUTSIDE */
};

#define COUNTING_OUTSIDE UINT64_MAX

struct counting_sum {
	uint64_t loads, stores, atomics;
	uint64_t copied_bytes;
	uint64_t lines; /* of 64 bytes, distinct, inside the arena, written */
};

#define COUNTING_LINES_LOG2 11

struct counting {
	/* Set by the caller; all may be zero. */
	const struct arena *arena; /* only lines in it count as written */
	struct counting_entry *trace;
	uint32_t trace_max;
	void (*yield)(void *argument); /* before each access */
	void *yield_argument;

	/* Results. */
	struct counting_sum kind[HOST_KINDS];
	uint32_t trace_count; /* may exceed trace_max: the rest is lost */
	uint32_t wakes;	      /* of a target on its futex */
	uint32_t rings;	      /* of a target's descriptor */
	uint32_t room_wakes;  /* of senders that wait for room */
	uint32_t lines_lost;  /* lines for which the table had no room */
	uint64_t line[1u << COUNTING_LINES_LOG2]; /* a hash set; 0 is free */
};

/* Clears the results and counts until counting_end(). */
void counting_begin(struct counting *);
void counting_end(void);

/* Returns the written lines, without the thread's own op record. */
uint64_t counting_lines_shared(const struct counting *);

/* "W", "notification", ... */
const char *counting_kind_name(enum host_kind);

#ifndef DEVICE
#define DEVICE(name) counting_##name
#include "device/entry.h"
#undef DEVICE
#endif

#endif
