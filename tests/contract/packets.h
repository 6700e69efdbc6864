/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoded packets, and how a test alters them. */
#ifndef CAY_TESTS_CONTRACT_PACKETS_H
#define CAY_TESTS_CONTRACT_PACKETS_H

#include <string.h>

#include "base/crc32c.h"
#include "contract/packet.h"

/* Bytes of a routing frame, by the number of phits after the tag. */
static inline size_t routing_frame_bytes(const struct routing_string *route)
{
	return (2 * (1 + (size_t)route->count) + 7) / 8 * 8;
}

/*
 * Corrects the CRC of an altered packet of `size` bytes, so that only the other
 * checks can refuse it.
 */
static inline void packet_seal(
	unsigned char *packet, size_t size, size_t routing, uint8_t flags)
{
	unsigned char *trailer = packet + size - 8;
	unsigned char place[4] = { flags };
	uint32_t crc = crc32c(0, packet + routing, size - 4 - routing);
	crc = crc32c(crc, place, sizeof(place));
	memcpy(trailer + 4, &crc, sizeof(crc));
}

#endif
