/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What messages hold: numbers, so that a receiver can tell that each is the
 * one it waits for, and whole. Buffers are used by all carriers in turn, so
 * that none of them finds its own in a better state.
 */
#ifndef CAY_BENCH_FABRIC_MESSAGE_H
#define CAY_BENCH_FABRIC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MESSAGE_WINDOW_MAX = 64,
	MESSAGE_POOL_BYTES = 8 << 20, /* of all messages of a window */
	MESSAGE_APART = 128,
};

struct pool {
	unsigned char *source, *target;
};

/* 0 or -ENOMEM; every page is there already. */
int pool_open(struct pool *);
void pool_close(struct pool *);

/* Where the message of a slot lies, if all are of that length. */
static inline size_t message_at(unsigned slot, size_t bytes)
{
	size_t lines = (bytes + MESSAGE_APART - 1) / MESSAGE_APART;

	return slot * lines * MESSAGE_APART;
}

/* The first word alone, which every message has. */
static inline void message_number(unsigned char *at, uint64_t number)
{
	*(uint64_t *)(void *)at = number;
}

static inline bool message_is(const unsigned char *at, uint64_t number)
{
	return *(const uint64_t *)(const void *)at == number;
}

/* All words. */
void message_fill(unsigned char *at, size_t bytes, uint64_t number);
bool message_whole(const unsigned char *at, size_t bytes, uint64_t number);

#endif
