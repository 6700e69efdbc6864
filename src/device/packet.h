/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet between units: the command with its origin, and a pointer to the
 * payload, so that a local transfer copies once. On the real platform the
 * compiler keeps it in registers.
 */
#ifndef CAY_DEVICE_PACKET_H
#define CAY_DEVICE_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "cay/message.h"
#include "cay/window.h"
#include "contract/command.h"

struct packet {
	uint16_t command; /* command word */
	uint8_t flags;	  /* enum cay_vci_flag */
	uint16_t origin_vpid;
	uint32_t origin_node;
	uint64_t tag;
	uint32_t api_tag;
	uint32_t pieces;
	uint64_t length; /* bytes of payload */
	const struct iovec *payload;
	uint32_t reference; /* 0, or 1 + index of the origin's slot */
	uint32_t sequence;  /* of that slot */

	/*
	 * Remote memory. The payload of a get is its destination; that of FAA
	 * and CAS, if any, the destination of the previous value.
	 */
	uint16_t window;      /* Win-ID at the target */
	uint64_t capability;  /* 48 bits */
	uint64_t offset;      /* in the window */
	uint64_t operand[2];  /* FAA, CAS, MISALIGNED_PUT */
	uint64_t origin_lock; /* origin.lock_word */
};

/* Returns true if an access completes with a notification in any case. */
static inline bool packet_completes(const struct packet *p)
{
	return p->flags & CAY_VCI_NOTIFY || p->command & CAY_COMMAND_ACK ||
	       command_operation(p->command) == CAY_FAST_GET ||
	       (command_is_atomic(p->command) && !p->payload);
}

/* The destination of an access. */
struct target {
	uint64_t capability; /* 48 bits */
	uint64_t offset;     /* in the window */
	uint32_t window;     /* Win-ID, 16 bits */
};

static inline struct cay_key target_key(const struct target *t)
{
	return (struct cay_key){ .capability = t->capability,
		.window = t->window };
}

/* The results of a responder. */
struct response {
	uint64_t result, previous;
};

#endif
