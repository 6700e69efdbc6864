/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet between units: the command frame with its origin, and a reference
 * to the payload, so that a local transfer copies once. On the real platform
 * it never leaves registers.
 */
#ifndef CAY_DEVICE_PACKET_H
#define CAY_DEVICE_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

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
	uint32_t sequence;  /* of that slot's use */

	/*
	 * Remote memory. The payload of a get is where it goes; that of FAA and
	 * CAS, if there is one, where the previous value goes.
	 */
	uint16_t window;      /* Win-ID at the target */
	uint64_t capability;  /* 48 bits */
	uint64_t offset;      /* in the window */
	uint64_t operand[2];  /* FAA, CAS, MISALIGNED_PUT */
	uint64_t origin_lock; /* the origin as it stands in a window's lock */
};

/* Does an access end in a completion whatever becomes of it? */
static inline bool packet_completes(const struct packet *p)
{
	return p->flags & CAY_VCI_NOTIFY || p->command & CAY_COMMAND_ACK ||
	       command_operation(p->command) == CAY_FAST_GET ||
	       (command_is_atomic(p->command) && !p->payload);
}

/* Where an access goes. */
struct target {
	uint64_t capability; /* 48 bits */
	uint64_t offset;     /* in the window */
	uint16_t window;     /* Win-ID */
};

/* What a responder sends back. */
struct response {
	uint64_t result, previous;
};

#endif
