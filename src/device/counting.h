/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counting platform: the same units as on the real one, but every access
 * to memory that a device shares with others is counted by kind, written down
 * if there is a trace, and preceded by a call through which a test may let
 * somebody else run.
 *
 *	struct counting c = { .arena = &arena, .trace = entries,
 *		.trace_max = ARRAY_COUNT(entries) };
 *	counting_begin(&c);
 *	counting_send_fast(...);
 *	counting_end();
 *	... c.kind[HOST_W].atomics ...
 *
 * Between counting_begin() and counting_end() the state belongs to the calling
 * thread. Outside of them the entrances work and nothing is counted.
 */
#ifndef CAY_DEVICE_COUNTING_H
#define CAY_DEVICE_COUNTING_H

#include "device/ack.h"
#include "device/context.h"
#include "device/host.h"
#include "device/packet.h"
#include "device/queue.h"
#include "device/step.h"

enum counting_what {
	COUNTING_LOAD,
	COUNTING_STORE,
	COUNTING_ATOMIC, /* a read-modify-write, also one that fails */
	COUNTING_COPY,
	COUNTING_STEP, /* the accesses since the last one belong to it */
	COUNTING_WAKE, /* a system call that wakes somebody */
};

struct counting_entry {
	enum counting_what what;
	enum host_kind kind;   /* of an access */
	enum device_step step; /* of a step */
	uint32_t bytes;
	uint32_t lines; /* that were not written before, counting_begin() on */
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
	/* What the caller wants; all of it may be zero. */
	const struct arena *arena; /* only lines in it count as written */
	struct counting_entry *trace;
	uint32_t trace_max;
	void (*yield)(void *argument); /* before each access */
	void *yield_argument;

	/* What was found. */
	struct counting_sum kind[HOST_KINDS];
	uint32_t trace_count; /* more than trace_max: those are not there */
	uint32_t wakes;	      /* of a target on its futex */
	uint32_t rings;	      /* of a target's descriptor */
	uint32_t room_wakes;  /* of senders who wait for room */
	uint32_t lines_lost;  /* lines that the table had no place for */
	uint64_t line[1u << COUNTING_LINES_LOG2]; /* a hash set; 0 is free */
};

/* Clears what was found and counts until counting_end(). */
void counting_begin(struct counting *);
void counting_end(void);

/* The shared lines: of all kinds but the thread's own op record. */
uint64_t counting_lines_shared(const struct counting *);

/* "W", "notification", ... */
const char *counting_kind_name(enum host_kind);

#ifndef DEVICE
#define DEVICE(name) counting_##name
#include "device/entry.h"
#undef DEVICE
#endif

#endif
