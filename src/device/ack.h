/* SPDX-License-Identifier: BSD-2-Clause */
/* What the NOTIFY_CC that ends an instruction says. */
#ifndef CAY_DEVICE_ACK_H
#define CAY_DEVICE_ACK_H

#include <stdint.h>

struct completion {
	uint64_t tag;
	uint32_t api_tag;
	uint16_t command; /* that completed */
	uint8_t error;	  /* enum cay_error */
	uint32_t peer_node;
	uint16_t peer_vpid;
	/* Words 2 to 4: as the contract says, or the bytes of a FAST_GET. */
	uint64_t length, result, previous;
	uint16_t bytes;	    /* of these */
	uint16_t reference; /* 0, or 1 + index of the slot that it frees */
	uint32_t sequence;
};

#endif
