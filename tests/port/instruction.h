/* SPDX-License-Identifier: BSD-2-Clause */
/* All operations on remote memory, with the expected completion of each. */
#ifndef CAY_TESTS_PORT_INSTRUCTION_H
#define CAY_TESTS_PORT_INSTRUCTION_H

#include "remote.h"

/* Size of a window that is large enough for all of them. */
#define INSTRUCTION_BYTES 128

enum {
	COMPLETES = 1, /* completes with an event for all flags */
	ACKS = 2,      /* CAY_ACK sets the A bit of the command */
	LOCATED = 4,   /* the event has window and offset */
};

struct instruction {
	const char *name;
	int (*issue)(struct rma_pair *, uint64_t tag, unsigned flags);
	unsigned command;
	size_t length;
	uint64_t offset;
	unsigned right; /* required right */
	unsigned properties;
};

/* Source of puts, and destination of gets. */
static unsigned char instruction_bytes[100];
static uint64_t instruction_into;

static int issue_put8(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_put(r->origin, r->peer, r->key, 8, instruction_bytes, 8, tag,
		flags);
}

static int issue_put3(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_put(r->origin, r->peer, r->key, 9, instruction_bytes, 3, tag,
		flags);
}

static int issue_put100(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_put(r->origin, r->peer, r->key, 1, instruction_bytes, 100,
		tag, flags);
}

static int issue_put0(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_put(r->origin, r->peer, r->key, 3, NULL, 0, tag, flags);
}

static int issue_masked(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_put_masked(
		r->origin, r->peer, r->key, 16, 0, 0x81, tag, flags);
}

static int issue_get8(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_get(r->origin, r->peer, r->key, 8, instruction_bytes, 8, tag,
		flags);
}

static int issue_get100(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_get(r->origin, r->peer, r->key, 1, instruction_bytes, 100,
		tag, flags);
}

static int issue_get0(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_get(r->origin, r->peer, r->key, 3, NULL, 0, tag, flags);
}

static int issue_fast_get(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_get(r->origin, r->peer, r->key, 1, NULL, 17, tag, flags);
}

static int issue_add(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_fetch_add(r->origin, r->peer, r->key, 8, 1, tag, flags);
}

static int issue_add_into(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_fetch_add_into(r->origin, r->peer, r->key, 8, 1,
		&instruction_into, tag, flags);
}

static int issue_swap(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_compare_swap(
		r->origin, r->peer, r->key, 8, 1, 2, tag, flags);
}

static int issue_swap_into(struct rma_pair *r, uint64_t tag, unsigned flags)
{
	return cay_compare_swap_into(r->origin, r->peer, r->key, 8, 1, 2,
		&instruction_into, tag, flags);
}

static const struct instruction instructions[] = {
	{ "put 8", issue_put8, CAY_FAST_PUT | 1, 8, 8, CAY_RIGHT_WRITE,
		ACKS | LOCATED },
	{ "put 3", issue_put3, CAY_FAST_PUT | 1, 3, 9, CAY_RIGHT_WRITE,
		ACKS | LOCATED },
	{ "put 100", issue_put100, CAY_PUT, 100, 1, CAY_RIGHT_WRITE,
		ACKS | LOCATED },
	{ "put 0", issue_put0, CAY_PUT, 0, 3, CAY_RIGHT_WRITE, ACKS | LOCATED },
	{ "masked put", issue_masked, CAY_MISALIGNED_PUT, 8, 16,
		CAY_RIGHT_WRITE, ACKS | LOCATED },
	{ "get 8", issue_get8, CAY_GET, 8, 8, CAY_RIGHT_READ, LOCATED },
	{ "get 100", issue_get100, CAY_GET, 100, 1, CAY_RIGHT_READ, LOCATED },
	{ "get 0", issue_get0, CAY_GET, 0, 3, CAY_RIGHT_READ, LOCATED },
	{ "get 17", issue_fast_get, CAY_FAST_GET | 3, 17, 1, CAY_RIGHT_READ,
		COMPLETES },
	{ "add", issue_add, CAY_FAA, 8, 8, CAY_RIGHT_ATOMIC, COMPLETES },
	{ "add into", issue_add_into, CAY_FAA, 8, 8, CAY_RIGHT_ATOMIC, 0 },
	{ "swap", issue_swap, CAY_CAS, 8, 8, CAY_RIGHT_ATOMIC, COMPLETES },
	{ "swap into", issue_swap_into, CAY_CAS, 8, 8, CAY_RIGHT_ATOMIC, 0 },
};

static inline bool instruction_notified(
	const struct instruction *i, unsigned flags)
{
	return i->properties & COMPLETES || flags & (CAY_NOTIFY | CAY_ACK);
}

/* Returns the command word of the completion. */
static inline unsigned instruction_command(
	const struct instruction *i, unsigned flags)
{
	bool ack = i->properties & ACKS && flags & CAY_ACK;
	return i->command | (ack ? CAY_COMMAND_ACK : 0);
}

#endif
