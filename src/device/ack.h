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
	uint64_t length;
	uint32_t reference; /* 0, or 1 + index of the slot that it frees */
	uint32_t sequence;
};

#endif
