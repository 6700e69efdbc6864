/* SPDX-License-Identifier: BSD-2-Clause */
/* Definitions shared by the receiver and the senders. */
#ifndef CAY_TESTS_CRASH_SOAK_H
#define CAY_TESTS_CRASH_SOAK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "cay/cay.h"

#define SLOTS	    8	 /* concurrent senders */
#define SENDERS_MAX 8192 /* including dead ones */
#define TIMEOUT	    (60 * CLOCK_NS_PER_S)

#define REGION_WORDS 256

/* Content of the receiver's windows, all of which are on the same memory. */
struct field {
	uint64_t added[SENDERS_MAX]; /* by each sender */
	uint64_t counted;	     /* by the holder of the lock */
	uint64_t notified;	     /* writes are notified to the receiver */
	uint64_t region[SLOTS][REGION_WORDS]; /* of one sender at a time */
};

enum window {
	WINDOW_PLAIN,
	WINDOW_NOTIFIED,
	WINDOW_COUNT,
};

/* Completed operations of a sender. */
struct sender {
	_Atomic uint64_t accepted; /* messages and notified accesses */
	_Atomic uint64_t added;
	_Atomic uint64_t counted;
	_Atomic uint64_t counting; /* started increments */
	_Atomic uint64_t put;
};

struct shared {
	struct sender senders[SENDERS_MAX];
	_Atomic uint64_t keys[WINDOW_COUNT]; /* 0: no window is open */
	_Atomic uint32_t finish;
};

extern struct shared *shared;

static inline uint32_t random_next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* A message contains its sender and number. */
static inline uint64_t message_tag(uint32_t id, uint64_t number)
{
	return (uint64_t)id << 40 | number;
}

static inline unsigned char message_byte(uint64_t tag, size_t at)
{
	return (unsigned char)(tag * 11 + (tag >> 40) * 5 + at * 3);
}

/* The value of the n-th put of a sender. */
static inline uint64_t region_word(uint32_t id, uint64_t n, unsigned i)
{
	return n == 0 ? 0 : (uint64_t)id << 48 | n << 16 | i;
}

/* The body of a sender process to a port of this name; exits. */
_Noreturn void sender_main(
	uint32_t id, unsigned slot, uint32_t random, const char *to);

#endif
