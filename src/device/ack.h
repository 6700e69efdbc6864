/* SPDX-License-Identifier: BSD-2-Clause */
/* Contents of the NOTIFY_CC that completes an instruction. */
#ifndef CAY_DEVICE_ACK_H
#define CAY_DEVICE_ACK_H

#include <stdint.h>
#include <string.h>

#include "device/packet.h"

struct completion {
	uint64_t tag;
	uint32_t api_tag;
	uint16_t command; /* of the completed instruction */
	uint8_t error;	  /* enum cay_error */
	uint32_t peer_node;
	uint16_t peer_vpid;
	/* Words 2 to 4: see cay_contract(7), or the bytes of a FAST_GET. */
	uint64_t length, result, previous;
	uint16_t bytes;	    /* of a FAST_GET */
	uint16_t reference; /* 0, or 1 + index of its reference slot */
	uint32_t sequence;
};

/*
 * Stores the results of an access in words 2 to 4: those of an atomic, or the
 * bytes of a FAST_GET. Of other accesses these words contain length, offset and
 * window.
 */
static inline void completion_results(struct completion *c,
	const struct response *response, const void *fetched, uint64_t bytes)
{
	uint64_t words[CAY_FAST_PUT_WORDS] = { 0 };
	if (command_is_atomic(c->command)) {
		c->result = response->result;
		c->previous = response->previous;
	} else if (command_operation(c->command) == CAY_FAST_GET) {
		memcpy(words, fetched, bytes);
		c->length = words[0];
		c->result = words[1];
		c->previous = words[2];
		c->bytes = (uint16_t)bytes;
	}
}

#endif
