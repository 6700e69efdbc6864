/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers and contents of messages: numbers, so that a receiver can tell that
 * it has the expected message, and all of it. All workloads of a rank share the
 * buffers, so that none finds its own in a better cache state.
 */
#ifndef CAY_BENCH_FABRIC_MESSAGE_H
#define CAY_BENCH_FABRIC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MESSAGE_WINDOW_MAX = 64, /* in flight in a stream */
	MESSAGE_POOL_BYTES = 8 << 20,
	MESSAGE_ALIGN = 128,
};

struct pool {
	unsigned char *source, *target;
};

/* Returns the buffers of this process, faulted in; NULL without memory. */
const struct pool *pool_get(void);

/* Returns the offset of a slot, if all messages are of this length. */
static inline size_t message_at(unsigned slot, size_t bytes)
{
	size_t units = (bytes + MESSAGE_ALIGN - 1) / MESSAGE_ALIGN;

	return slot * units * MESSAGE_ALIGN;
}

/* Returns how many messages of a stream are in flight at most. */
static inline unsigned message_window(size_t bytes)
{
	size_t slots = MESSAGE_POOL_BYTES / bytes;

	return slots < MESSAGE_WINDOW_MAX ? (unsigned)slots
					  : MESSAGE_WINDOW_MAX;
}

/* Sets or compares the first word, which every message has. */
static inline void message_stamp(unsigned char *at, uint64_t number)
{
	*(uint64_t *)(void *)at = number;
}

static inline bool message_is(const unsigned char *at, uint64_t number)
{
	return *(const uint64_t *)(const void *)at == number;
}

/* Writes or compares all words. */
void message_fill(unsigned char *at, size_t bytes, uint64_t number);
bool message_whole(const unsigned char *at, size_t bytes, uint64_t number);

#endif
