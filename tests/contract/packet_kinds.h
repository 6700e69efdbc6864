/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet of every kind, and how the tests encode and decode it. */
#ifndef CAY_TESTS_CONTRACT_PACKET_KINDS_H
#define CAY_TESTS_CONTRACT_PACKET_KINDS_H

#include <stdlib.h>

#include "packets.h"

#define WIRE_MAX PACKET_BYTES_MAX(PACKET_MTU)

/* One hop there and one back, in two words. */
static const struct routing_string route = {
	.tag = 0x0201,
	.count = 4,
	.phit = { 0x0012, 0x001f, 0x0013, 0x000f },
};
#define ROUTE_BYTES 16

/* At the target: the routers have consumed the way there. */
static const struct routing_string arrived = {
	.tag = 0x0201,
	.count = 3,
	.phit = { 0x001f, 0x0013, 0x000f },
};

static const struct routing_string one_way = {
	.tag = 0x0201,
	.count = 1,
	.phit = { 0x000f },
};

/* Members that all packets have. */
#define COMMON                                               \
	.flags = 0x15, .last = true, .origin_vpid = 0x0403,  \
	.target_vpid = 0x0605, .origin_node = 0x0a090807,    \
	.api_tag = 0x0e0d0c0b, .tag = 0x161514131211100full, \
	.request = 0x1a191817, .target_epoch = 0x32313020,   \
	.origin_epoch = 0x36353433
#define TARGET                                             \
	.window = 0x1c1b, .capability = 0x2221201f1e1dull, \
	.offset = 0x2a29282726252423ull

static const struct packet_header kinds[] = {
	{ COMMON, .command = 0x10 },
	{ COMMON, .command = 0x19, .length = 5, .bytes = 5 },
	{ COMMON, .command = 0x15, .length = 40, .bytes = 40 },
	{ COMMON, .command = 0x90 },
	{ COMMON, .command = 0x98, .length = 13, .bytes = 13 },
	{ COMMON, .command = 0x21, TARGET, .length = 8, .bytes = 8 },
	{ COMMON, .command = 0x2b, TARGET, .length = 23, .bytes = 23 },
	{ COMMON, .command = 0xa0, TARGET },
	{ COMMON, .command = 0xa8, TARGET, .length = 64, .bytes = 64 },
	{ COMMON, .command = 0x40, TARGET, .length = 8,
		.operand = { 0x1122334455667788, 0xa5 } },
	{ COMMON, .command = 0x48, TARGET, .length = 8,
		.operand = { 0x1122334455667788, 0xff } },
	{ COMMON, .command = 0x33, TARGET, .length = 17 },
	{ COMMON, .command = 0x35, .length = 3, .bytes = 3 },
	{ COMMON, .command = 0x37, .length = 24, .bytes = 24 },
	{ COMMON, .command = 0xb0, TARGET, .length = 1ull << 40 },
	{ COMMON, .command = 0xb4, .length = 100, .bytes = 100 },
	{ COMMON, .command = 0x62, TARGET, .length = 8,
		.operand = { UINT64_MAX } },
	{ COMMON, .command = 0x66, .length = 8,
		.operand = { 0x8877665544332211, 0x0102030405060708 } },
	{ COMMON, .command = 0x73, TARGET, .length = 8,
		.operand = { 0x8877665544332211, 0x0102030405060708 } },
	{ COMMON, .command = 0x77, .length = 8, .operand = { 1, 2 } },
	{ COMMON, .command = 0xff, .completed = 0x98 },
	/* Negative ACKs: error 11; of a request without A, of a GET. */
	{ COMMON, .command = 11 << 11 | 0xff, .completed = 0xa0 },
	{ COMMON, .command = 10 << 11 | 0xff, .completed = 0xb0 },
	/* An abort: error 21. */
	{ COMMON, .command = 21 << 11 | 0x98, .segment = 4096, .length = 5000 },
	{ COMMON, .command = 21 << 11 | 0xa0, TARGET, .segment = 1,
		.length = 5000 },
	{ COMMON, .command = 21 << 11 | 0xb4, .segment = 4999, .length = 5000 },
	/* ULTRA: without flags, with all; the position of a path. */
	{ COMMON, .command = 0x100 },
	{ COMMON, .command = 0x107, .length = 13, .bytes = 13 },
	{ COMMON, .command = 0x102, .length = 4080, .bytes = 4080 },
};

/* ---- helpers ---- */

static inline void fill(unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(0xd0 + i * 3);
}

static inline int encode_at(const struct packet_header *h,
	const struct routing_string *r, uint32_t mtu, unsigned char *wire,
	size_t size)
{
	static unsigned char data[PACKET_MTU_MAX + 64];
	const struct iovec piece = { data, h->bytes };
	fill(data, h->bytes);
	return packet_encode(h, r, &piece, 1, mtu, wire, size);
}

/* Encodes with the default MTU; the packet must exist. */
static inline size_t encoded(const struct packet_header *h,
	const struct routing_string *r, unsigned char wire[WIRE_MAX])
{
	int size = encode_at(h, r, PACKET_MTU, wire, WIRE_MAX);
	assert_true(size > 0);
	return (size_t)size;
}

/* Decodes from and into memory of exactly the right size. */
static inline int decode_tight(const unsigned char *wire, size_t size,
	uint32_t mtu, struct packet_header *h, struct routing_string *r,
	unsigned char *to)
{
	unsigned char *copy = malloc(size ? size : 1), *data = malloc(mtu);
	memcpy(copy, wire, size);
	int result = packet_decode(copy + !size, size, mtu, h, r, data);
	if (result > 0)
		memcpy(to, data, h->bytes);
	free(copy);
	free(data);
	return result;
}

static inline int decode(const unsigned char *wire, size_t size)
{
	unsigned char data[PACKET_MTU];
	struct packet_header h;
	struct routing_string r;
	return decode_tight(wire, size, PACKET_MTU, &h, &r, data);
}

static inline void assert_header(
	const struct packet_header *a, const struct packet_header *b)
{
	assert_memory_equal(a, b, sizeof(*a));
}

static inline const struct packet_header *kind_of(uint16_t command)
{
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
		if (kinds[i].command == command)
			return &kinds[i];
	fail_msg("no packet with command 0x%04x", command);
	return NULL;
}

#endif
