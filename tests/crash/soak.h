/* SPDX-License-Identifier: BSD-2-Clause */
/* What the receiver of the soak and its senders agree on. */
#ifndef CAY_TESTS_CRASH_SOAK_H
#define CAY_TESTS_CRASH_SOAK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"
#include "cay/cay.h"

#define SENDERS	 8
#define LIVES	 8192 /* senders, dead ones included */
#define PATIENCE (60 * CLOCK_NS_PER_S)

#define REGION_WORDS 256

/* What lies in the receiver's windows; all of them are on the same memory. */
struct field {
	uint64_t added[LIVES]; /* by each life */
	uint64_t counted;      /* by whoever has the lock */
	uint64_t told;	       /* the receiver is told when it is written */
	uint64_t region[SENDERS][REGION_WORDS]; /* of one at a time */
};

enum window {
	WINDOW_PLAIN,
	WINDOW_TOLD,
	WINDOW_COUNT,
};

/* What a life has done, noted when it is done. */
struct life {
	_Atomic uint64_t accepted; /* messages, and what was told */
	_Atomic uint64_t added;
	_Atomic uint64_t counted;
	_Atomic uint64_t counting; /* how often it has begun to */
	_Atomic uint64_t put;
};

struct shared {
	struct life lives[LIVES];
	_Atomic uint64_t keys[WINDOW_COUNT]; /* 0: there is none now */
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

/* A message says who sent it, and which it is. */
static inline uint64_t message_tag(uint32_t life, uint64_t number)
{
	return (uint64_t)life << 40 | number;
}

static inline unsigned char message_byte(uint64_t tag, size_t at)
{
	return (unsigned char)(tag * 11 + (tag >> 40) * 5 + at * 3);
}

/* What the n-th put of a life writes. */
static inline uint64_t region_word(uint32_t life, uint64_t n, unsigned i)
{
	return n == 0 ? 0 : (uint64_t)life << 48 | n << 16 | i;
}

/* One life in the place of others; exits. */
_Noreturn void sender_main(uint32_t life, unsigned slot, uint32_t random);

#endif
