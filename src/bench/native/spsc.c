/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of the kind that programs write for themselves: one producer, one
 * consumer, head and tail in shared memory on lines of their own, each side
 * with a copy of the other's index. Messages are copied in and out. There is
 * one sender, no check of what the other side writes, no sleeping, and no
 * recovery.
 *
 * Ordering edges: R1 store of `tail` (release) pairs with R2 load (acquire):
 * the message. R3 store of `head` (release) pairs with R4 load (acquire): the
 * slot is free.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench/harness/payload.h"
#include "bench/native/workloads.h"

#define RING_BYTES     (WORKLOAD_SHARED_BYTES / 2 - 4096)
#define RING_SLOTS_MAX 64u

struct spsc_ring {
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t tail; /* producer */
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t head; /* consumer */
	_Alignas(4096) unsigned char slot[];
};

struct spsc {
	struct spsc_ring *in, *out;
	uint64_t slots, slot_bytes;
	uint64_t tail, head_seen; /* of `out` */
	uint64_t head, tail_seen; /* of `in` */
	unsigned char *source, *copy;
};

static int setup(struct side *s)
{
	struct spsc *p = calloc(1, sizeof(*p));
	size_t bytes = bits_round_up(s->bytes + sizeof(uint64_t), PAYLOAD_LINE);

	s->state = p;
	if (!p || !(p->source = malloc(bytes)) || !(p->copy = malloc(bytes)))
		return -ENOMEM;
	memset(p->source, 1, bytes);
	memset(p->copy, 1, bytes);
	p->slots = RING_SLOTS_MAX;
	while (p->slots * bytes > RING_BYTES)
		p->slots /= 2;
	p->slot_bytes = bytes;
	p->in = (void *)(s->shared + s->rank * (WORKLOAD_SHARED_BYTES / 2));
	p->out = (void *)(s->shared + !s->rank * (WORKLOAD_SHARED_BYTES / 2));
	return 0;
}

static void teardown(struct side *s)
{
	struct spsc *p = s->state;

	if (p) {
		free(p->source);
		free(p->copy);
	}
	free(p);
	s->state = NULL;
}

static int prepare(struct side *s)
{
	struct spsc *p = s->state;

	if (s->rewrite)
		payload_rewrite(p->source, s->bytes, p->tail);
	return 0;
}

/* A slot: the length, then the message. */
static int push(struct side *s)
{
	struct spsc *p = s->state;
	unsigned char *slot =
		p->out->slot + (p->tail & (p->slots - 1)) * p->slot_bytes;
	uint64_t length = s->bytes;
	uint32_t spins = 0;
	int r;

	payload_stamp(p->source, s->bytes, p->tail);
	while (p->tail - p->head_seen == p->slots) {
		p->head_seen = atomic_load_explicit(
			&p->out->head, memory_order_acquire); /* R4 */
		if (p->tail - p->head_seen == p->slots &&
			(r = group_spin(s->group, &spins)))
			return r;
	}
	memcpy(slot, &length, sizeof(length));
	memcpy(slot + sizeof(length), p->source, s->bytes);
	atomic_store_explicit(
		&p->out->tail, ++p->tail, memory_order_release); /* R1 */
	return 0;
}

static int pop(struct side *s)
{
	struct spsc *p = s->state;
	const unsigned char *slot =
		p->in->slot + (p->head & (p->slots - 1)) * p->slot_bytes;
	uint64_t length;
	uint32_t spins = 0;
	int r;

	while (p->head == p->tail_seen) {
		p->tail_seen = atomic_load_explicit(
			&p->in->tail, memory_order_acquire); /* R2 */
		if (p->head == p->tail_seen &&
			(r = group_spin(s->group, &spins)))
			return r;
	}
	memcpy(&length, slot, sizeof(length));
	if (length > s->bytes)
		return -EBADMSG;
	memcpy(p->copy, slot + sizeof(length), length);
	r = payload_verify(p->copy, length, s->bytes, p->head);
	atomic_store_explicit(
		&p->in->head, ++p->head, memory_order_release); /* R3 */
	return r;
}

static int ping_run(struct side *s, uint32_t iterations)
{
	return workload_ping_pong(s, iterations, push, pop);
}

static int stream_run(struct side *s, uint32_t iterations)
{
	return workload_stream(s, iterations, push, pop);
}

const struct workload spsc_workload = { "ring", setup, teardown, prepare,
	ping_run, NULL, NULL };
const struct workload spsc_stream_workload = { "ring", setup, teardown, prepare,
	stream_run, NULL, NULL };
