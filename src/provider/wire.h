/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What endpoints write to each other. The device carries 64 bits of tag, 32
 * bits of API tag and a payload; the API tag is this header:
 *
 *	bits 0-3	kind
 *	bits 4-7	flags
 *	bits 8-31	small remote CQ data, if WIRE_DATA without
 *WIRE_DATA_WORD
 *
 * and the payload begins with a word for each of WIRE_DATA_WORD and WIRE_ID,
 * in this order.
 */
#ifndef CAY_PROVIDER_WIRE_H
#define CAY_PROVIDER_WIRE_H

#include <stdint.h>

#include "cay/window.h"

enum wire_kind {
	WIRE_GREETING,	  /* struct wire_greeting: who writes from here on */
	WIRE_MESSAGE,	  /* the payload is a message */
	WIRE_TAGGED,	  /* the same with a tag */
	WIRE_LONG,	  /* struct wire_long: a message to be fetched */
	WIRE_TAGGED_LONG, /* the same with a tag */
	WIRE_TAKEN,	  /* tag: operation; WIRE_STATUS: how it ended */
	WIRE_HALT,	  /* too much is unexpected here */
	WIRE_RESUME,	  /* no more */
	WIRE_WRITTEN,	  /* remote CQ data of an RMA write */
	WIRE_ATOMIC,	  /* struct wire_atomic: execute this */
	WIRE_RESULT,	  /* tag: operation; WIRE_STATUS; the old values */
	WIRE_PUSH,	  /* tag: operation; struct wire_push: help to copy */
	WIRE_PUSHED,	  /* tag: operation; WIRE_STATUS; how many chunks */
	WIRE_GONE,	  /* to oneself: this was the last of port tag */
};

#define WIRE_KIND(head) ((head)&0xf)
#define WIRE_DATA	(1u << 4) /* there is remote CQ data */
#define WIRE_DATA_WORD	(1u << 5) /* in the payload */
#define WIRE_ID		(1u << 6) /* the sender waits for WIRE_TAKEN */
/* Kind and what changes the shape of the payload. */
#define WIRE_PLAIN_MASK	 (0xf | WIRE_DATA_WORD | WIRE_ID)
#define WIRE_SMALL_SHIFT 8
#define WIRE_SMALL_MAX	 ((1u << 24) - 1)
/* Of WIRE_TAKEN and WIRE_RESULT: a positive fi_errno, or 0. */
#define WIRE_STATUS(head) ((head) >> WIRE_SMALL_SHIFT)

struct wire_greeting {
	char name[16];
	uint64_t card;
};

/* The sender's bulk window begins at address WIRE_BULK_BASE. */
#define WIRE_BULK_BASE 4096ull

/* A key of the device in one word: capability, Win-ID << 48. */
static inline uint64_t wire_key(const struct cay_key *key)
{
	return key->capability | (uint64_t)key->window << 48;
}

static inline struct cay_key wire_key_of(uint64_t word)
{
	return (struct cay_key){ .capability = word & CAY_CAPABILITY_MASK,
		.window = (uint32_t)(word >> 48) };
}

struct wire_long {
	uint64_t address; /* of the message */
	uint64_t length;
	uint64_t key; /* of the bulk window: capability, Win-ID << 48 */
};

/* What the receiver of a long message wants the sender to help with: share.h */
struct wire_push {
	uint64_t id;	  /* of the receiver's operation */
	uint64_t address; /* where the message goes */
	uint64_t length;
	uint64_t key;  /* of the receiver's bulk window, as above */
	uint64_t desk; /* key of the window with the word */
	uint64_t slot; /* of the word */
	uint64_t word; /* as it is at first */
};

struct wire_atomic {
	uint64_t key, address;
	uint8_t op, datatype;
	uint8_t fetches;  /* results are wanted */
	uint8_t compares; /* count compare values precede the operands */
	uint32_t count;
};

#endif
