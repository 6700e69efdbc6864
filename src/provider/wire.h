/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages between endpoints. The device carries a 64-bit tag, a 32-bit API tag
 * and a payload; the API tag is this header:
 *
 *	bits 0-3	kind
 *	bits 4-7	flags
 *	bits 8-31	immediate: remote CQ data that fits, a status, or the
 *			sequence number of the message
 *
 * and the payload begins with one word for each of WIRE_DATA_WORD and WIRE_ID,
 * in this order. On an ULTRA path the header is the lower half of the first
 * word of the payload, and the sequence number the upper half: see path.h.
 */
#ifndef CAY_PROVIDER_WIRE_H
#define CAY_PROVIDER_WIRE_H

#include <stdint.h>

#include "cay/window.h"

enum wire_kind {
	WIRE_HELLO,	 /* struct wire_hello: address of the sender */
	WIRE_MESSAGE,	 /* eager message; the payload is its data */
	WIRE_TAGGED,	 /* eager tagged message */
	WIRE_RTS,	 /* struct wire_rts: rendezvous message */
	WIRE_TAGGED_RTS, /* tagged rendezvous message */
	WIRE_FIN,	 /* message received; tag: OP_SEND; WIRE_STATUS */
	WIRE_XOFF,	 /* pause sending: too many unexpected messages */
	WIRE_XON,	 /* resume sending */
	WIRE_CQ_DATA, /* remote CQ data of an RMA write; keys as WIRE_ACCESS */
	WIRE_ATOMIC,  /* struct wire_atomic: atomic operation to execute */
	WIRE_ATOMIC_RESULT, /* tag: OP_ATOMIC; WIRE_STATUS; previous values */
	WIRE_COCOPY, /* tag: OP_SEND; struct wire_cocopy: co-copy request */
	WIRE_COCOPY_RESULT, /* tag: OP_FETCH; WIRE_STATUS; chunks copied */
	WIRE_ACCESS, /* RMA; WIRE_STATUS: enum mr_access; keys that count it */
	WIRE_PATH,   /* WIRE_STATUS: enum wire_path; see path.h */
};

/* Steps of an ULTRA path, from its target (T) or its origin (O). */
enum wire_path {
	WIRE_PATH_ASK,	  /* T: the path is offered: connect */
	WIRE_PATH_REFUSE, /* O: withdraw it */
	WIRE_PATH_BEGIN,  /* O: messages have sequence numbers from here on */
	WIRE_PATH_CLOSE,  /* T: do not use it any more */
	WIRE_PATH_END,	  /* O: ... up to here; tag: the next number */
};

#define WIRE_KIND(head) ((head)&0xf)
#define WIRE_DATA	(1u << 4) /* the message has remote CQ data */
#define WIRE_DATA_WORD	(1u << 5) /* in the payload, not in the immediate */
#define WIRE_ID		(1u << 6) /* the sender waits for WIRE_FIN */
#define WIRE_SEQUENCE	(1u << 7) /* the immediate is the sequence number */
/* The bits that determine the format of the payload. */
#define WIRE_FORMAT_MASK     (0xf | WIRE_DATA_WORD | WIRE_ID | WIRE_SEQUENCE)
#define WIRE_IMMEDIATE_SHIFT 8
#define WIRE_IMMEDIATE_MAX   ((1u << 24) - 1)
/* Of WIRE_FIN and the results: a positive fi_errno, or 0. */
#define WIRE_STATUS(head) ((head) >> WIRE_IMMEDIATE_SHIFT)

struct wire_hello {
	char name[16];
	uint64_t capability; /* of the window with the sender's key table */
};

/* First address of an endpoint's bulk window, which covers all its memory. */
#define WIRE_BULK_BASE 4096ull

/* A remote key of the device in one word: capability, Win-ID << 48. */
static inline uint64_t wire_key(const struct cay_key *key)
{
	return key->capability | (uint64_t)key->window << 48;
}

static inline struct cay_key wire_key_of(uint64_t word)
{
	return (struct cay_key){ .capability = word & CAY_CAPABILITY_MASK,
		.window = (uint32_t)(word >> 48) };
}

struct wire_rts {
	uint64_t address; /* of the message in the sender's memory */
	uint64_t length;
	uint64_t key; /* wire_key() of the sender's bulk window */
};

/* Asks the sender of a rendezvous message to copy chunks: see cocopy.h. */
struct wire_cocopy {
	uint64_t id;	  /* of the receiver's OP_FETCH */
	uint64_t address; /* of the receive buffer */
	uint64_t length;
	uint64_t key;	     /* wire_key() of the receiver's bulk window */
	uint64_t claim_key;  /* wire_key() of the window with the claim words */
	uint64_t claim_slot; /* index of the claim word */
	uint64_t claim_word; /* its initial value */
};

struct wire_atomic {
	uint64_t key, address;
	uint8_t op, datatype;
	uint8_t fetches;  /* the result carries the previous values */
	uint8_t compares; /* count compare values precede the operands */
	uint32_t count;
};

#endif
