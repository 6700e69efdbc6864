/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processes of the quiescence tests: each accesses the owner's window with
 * random commands, or sends into its posted receives.
 */
#ifndef CAY_TESTS_DEVICE_QUIESCE_H
#define CAY_TESTS_DEVICE_QUIESCE_H

#include "coroutine.h"
#include "node_fixture.h"
#include "testbench.h"

#define ORIGINS	       3u
#define OWNER	       3u /* port of the window and the posted receives */
#define ROUNDS	       40u
#define ACTIONS	       12u
#define SWITCHES_MAX   400000u
#define AREA_BYTES     512u
#define MEMORY_BYTES   (ORIGINS * AREA_BYTES)
#define BUFFERS	       3u
#define BUFFER_BYTES   512u
#define NONE	       UINT32_MAX
#define WATCH_SWITCHES 6u /* while which memory must not change */

struct simulation;

struct accessor {
	struct coroutine coroutine;
	struct simulation *sim;
	uint32_t number;
	struct target key; /* possibly out of date */
	uint32_t done, refused, rounds;
	bool dead;
};

struct simulation {
	struct scheduler scheduler;
	struct fixture fixture;
	struct node_fixture node;
	struct counting counting;
	struct accessor accessor[ORIGINS];
	struct coroutine owner, consumer, repair;
	struct target key; /* current remote key */
	uint64_t memory;   /* arena offset */
	uint64_t buffer[BUFFERS];
	uint64_t next, rdr; /* the consumer's read position */
	uint32_t posted, dropped;
	uint32_t victim, kill_after; /* origin, number of accesses; 0: never */
	uint32_t deaths;
};

static inline struct context *owner_context(const struct simulation *sim)
{
	return fixture_own(&sim->fixture, OWNER);
}

static inline struct cay_window_descriptor *descriptor(
	const struct simulation *sim)
{
	return &sim->fixture.port[OWNER].origin.wdt[0];
}

/* ---- accesses ---- */

static inline int access_packet(struct accessor *a, unsigned command,
	unsigned flags, uint64_t offset, void *bytes, size_t length)
{
	struct simulation *sim = a->sim;
	struct origin *o = &sim->fixture.port[a->number].origin;
	const struct iovec payload = { bytes, length };
	struct packet p = { .command = (uint16_t)command,
		.flags = (uint8_t)flags,
		.origin_vpid = o->vpid,
		.origin_lock = o->lock_word,
		.pieces = 1,
		.length = length,
		.payload = bytes ? &payload : NULL,
		.window = a->key.window,
		.capability = a->key.capability,
		.offset = a->number * AREA_BYTES + offset,
		.operand = { 1, 0xff } };
	return counting_access(o, sim->node.op[a->number],
		fixture_route(&sim->fixture, a->number, OWNER), &p);
}

static inline int access_put(struct accessor *a, size_t length)
{
	struct simulation *sim = a->sim;
	struct target t = a->key;
	unsigned char bytes[AREA_BYTES];
	memset(bytes, (int)(a->done + 1), sizeof(bytes));
	t.offset = a->number * AREA_BYTES;
	return counting_put(&sim->fixture.port[a->number].origin,
		fixture_route(&sim->fixture, a->number, OWNER), target_key(&t),
		t.offset, bytes, length, 0, sim->node.op[a->number]);
}

static inline int send_to_posted(struct accessor *a)
{
	struct simulation *sim = a->sim;
	struct origin *o = &sim->fixture.port[a->number].origin;
	unsigned char bytes[BUFFER_BYTES];
	size_t length =
		41 + scheduler_random(&sim->scheduler) % (BUFFER_BYTES - 41);
	memset(bytes, (int)(a->number + 1), sizeof(bytes));
	const struct iovec payload = { bytes, length };
	const struct packet p = { .command = CAY_SEND,
		.origin_vpid = o->vpid,
		.pieces = 1,
		.length = length,
		.payload = &payload };
	return counting_send(o, sim->node.op[a->number],
		fixture_route(&sim->fixture, a->number, OWNER), &p);
}

static inline int access_random(struct accessor *a)
{
	unsigned char bytes[256];
	memset(bytes, (int)(a->done + 1), sizeof(bytes));
	switch (scheduler_random(&a->sim->scheduler) % 8) {
	case 0:
		return access_put(a, 8);
	case 1:
		return access_put(a, AREA_BYTES);
	case 2:
		return access_packet(a, CAY_FAA, 0, 8, NULL, 8);
	case 3:
		return access_packet(a, CAY_MISALIGNED_PUT, 0, 16, NULL, 8);
	case 4:
		return access_packet(
			a, CAY_PUT, CAY_VCI_NOTIFY, 24, bytes, 200);
	case 5:
		return access_packet(a, CAY_GET, 0, 0, bytes, 100);
	default:
		return send_to_posted(a);
	}
}

static inline void accessor_drain_completions(struct accessor *a)
{
	struct simulation *sim = a->sim;
	struct context *own = fixture_own(&sim->fixture, a->number);
	uint64_t r = atomic_load(&own->control->r);
	while (counting_peek(own, queue_nq(r))) {
		r = queue_word(queue_nq(r) + 1, 0);
		counting_return_entries(own, r);
		counting_completions_returned(
			&sim->fixture.port[a->number].origin, 1);
	}
}

static inline void accessor_run(void *argument)
{
	struct accessor *a = argument;
	struct simulation *sim = a->sim;
	for (; a->rounds < ROUNDS; a->rounds++) {
		if (scheduler_chance(&sim->scheduler, 3))
			a->key = sim->key;
		int r = access_random(a);
		if (r == 0)
			a->done++;
		else if (r == 1)
			a->refused++;
		else if (r != -EAGAIN)
			scheduler_fail(&sim->scheduler, "an access failed");
		accessor_drain_completions(a);
		if (r == -EAGAIN)
			scheduler_switch(&sim->scheduler);
	}
}

#endif
