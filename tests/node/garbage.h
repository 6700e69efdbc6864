/* SPDX-License-Identifier: BSD-2-Clause */
/* Random requests to a node. */
#ifndef CAY_TESTS_NODE_GARBAGE_H
#define CAY_TESTS_NODE_GARBAGE_H

#include "contract/arena.h"
#include "outside.h"

/* Of one request: a client that repeats it must not exhaust the arena. */
#define GARBAGE_BYTES_MAX (1ull << 20)

/* Prefers boundary values. */
static inline uint64_t random_field(uint64_t *seed)
{
	static const uint64_t boundary[] = { 0, 1, 2, 4, 9, 63, 64, 127, 128,
		255, 4095, 4096, 65535, 65536, 1ull << 31, 1ull << 32,
		1ull << 40, 1ull << 63, UINT64_MAX, ARENA_HEAP_OFFSET,
		ARENA_HEAP_OFFSET + ARENA_PAGE };
	uint64_t count = sizeof(boundary) / sizeof(boundary[0]);
	uint64_t which = random_below(seed, count + 2);
	if (which < count)
		return boundary[which];
	return which == count ? random_next(seed) : random_below(seed, 8);
}

static inline void random_request(
	uint64_t *seed, const char *realm, struct node_request *q)
{
	memset(q, 0, sizeof(*q));
	q->kind = (uint32_t)random_below(seed, NODE_RESOLVE_START + 2);
	if (q->kind == NODE_HELLO && random_below(seed, 4))
		*q = hello_request(realm);
	if (q->kind == NODE_OPEN && random_below(seed, 2))
		return;
	uint64_t fields = 1 + random_below(seed, 4);
	for (uint64_t i = 0; i < fields; i++) {
		uint64_t value = random_field(seed);
		size_t bytes = 1ull << random_below(seed, 4);
		size_t at = random_below(seed, 5) * 4;
		memcpy(q->padding + at, &value, bytes);
	}
	if (q->kind == NODE_ALLOC && q->alloc.bytes < 1ull << 40)
		q->alloc.bytes %= GARBAGE_BYTES_MAX;
	if (q->kind == NODE_FENCE)
		q->fence.pid = (uint32_t)random_below(seed, 2) * getpid();
}

#endif
