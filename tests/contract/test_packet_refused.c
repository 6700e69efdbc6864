/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damaged and malformed packets are refused, and so are headers that no packet
 * has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/bits.h"
#include "packet_kinds.h"

/* ---- damage ---- */

static void every_flipped_bit_is_detected(void **state)
{
	unsigned char wire[WIRE_MAX];
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		size_t size = encoded(&kinds[i], &route, wire);
		size_t exact = ROUTE_BYTES + CAY_LINE;
		for (size_t bit = 8 * ROUTE_BYTES; bit < 8 * size; bit++) {
			wire[bit / 8] ^= (unsigned char)(1 << bit % 8);
			int r = decode(wire, size);
			if (r >= 0 || (bit >= 8 * exact && r != -EBADMSG))
				fail_msg("command 0x%04x, bit %zu: %d",
					kinds[i].command, bit, r);
			wire[bit / 8] ^= (unsigned char)(1 << bit % 8);
		}
		/* The flags: bits 10:5 of the third phit. */
		for (unsigned bit = 8 * 4 + 5; bit < 8 * 4 + 11; bit++) {
			wire[bit / 8] ^= (unsigned char)(1 << bit % 8);
			assert_int_equal(decode(wire, size), -EBADMSG);
			wire[bit / 8] ^= (unsigned char)(1 << bit % 8);
		}
		assert_int_equal(decode(wire, size), size);
	}
}

static void truncated_packets_are_refused(void **state)
{
	unsigned char wire[WIRE_MAX];
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		size_t size = encoded(&kinds[i], &route, wire);
		for (size_t n = 0; n < size; n++)
			assert_int_equal(decode(wire, n), -EMSGSIZE);
	}
}

static void outputs_are_unchanged_on_failure(void **state)
{
	unsigned char wire[WIRE_MAX], data[PACKET_MTU];
	struct packet_header h = { .tag = 77 };
	struct routing_string r = { .tag = 78 };
	(void)state;
	size_t size = encoded(&kinds[4], &route, wire);
	wire[size - 1] ^= 1;
	assert_int_equal(
		packet_decode(wire, size, PACKET_MTU, &h, &r, data), -EBADMSG);
	assert_int_equal(h.tag, 77);
	assert_int_equal(r.tag, 78);
	memset(wire, 0x5a, sizeof(wire));
	assert_int_equal(
		encode_at(&kinds[4], &route, PACKET_MTU, wire, size - 1),
		-ENOSPC);
	assert_int_equal(wire[0], 0x5a);
}

/* ---- malformed, with the right CRC ---- */

struct alteration {
	uint16_t command; /* of the packet in `kinds` */
	unsigned word;	  /* of the command frame */
	uint64_t clear, set;
};

#define WORD(n, value) (n), UINT64_MAX, (value)
#define LAST	       (1ull << 63)

static const struct alteration malformed[] = {
	/* Command words: no such packet. */
	{ 0x10, 0, 0xff, 0x00 },
	{ 0x10, 0, 0xff, 0x80 },
	{ 0x10, 0, 0xff, 0xf0 },
	{ 0x10, 0, 0, 1 << 8 },
	{ 0x10, 0, 0, 4 << 8 },
	{ 0x98, 0, 0, 0x04 },
	{ 0x21, 0, 0, 0x04 },
	{ 0x33, 0, 0, 0x08 },
	{ 0xb0, 0, 0, 0x08 },
	{ 0x62, 0, 0, 0x01 },
	/* An error where there is none, an unknown error. */
	{ 0x10, 0, 0, 1 << 11 },
	{ 0x62, 0, 0, 1 << 11 },
	{ 0x35, 0, 0, 1 << 11 },
	{ 0x98, 0, 0, 21 << 11 },
	{ 0xff, 0, 0, 26 << 11 },
	{ 0xff, 0, 0, 31 << 11 },
	/* L against bytes; empty; too long. */
	{ 0x19, 0, 0x7, 0x2 },
	{ 0x19, 1, 0xffff0000, 9 << 16 },
	{ 0x15, 0, 0x7, 0x6 },
	{ 0x15, 1, 0xffff0000, 41 << 16 },
	{ 0x21, 0, 0x3, 0x0 },
	{ 0x33, 1, 0xffff0000, 25 << 16 },
	{ 0x33, 1, 0xffff0000, 0 },
	{ 0x35, 0, 0x3, 0x0 },
	/* Bytes where there are none. */
	{ 0xb0, 1, 0, 1 << 16 },
	{ 0x62, 1, 0, 8 << 16 },
	{ 0xff, 1, 0, 1 << 16 },
	/* Data behind the last byte. */
	{ 0x10, 3, 0, 1 },
	{ 0x19, 3, 0, 1ull << 40 },
	{ 0x19, 7, 0, 1ull << 63 },
	{ 0x2b, 7, 0, 1ull << 56 },
	{ 0x35, 5, 0, 1ull << 24 },
	/* Words that are not used. */
	{ 0x98, 5, 0, 1 },
	{ 0x98, 7, 0, 1 },
	{ 0xa8, 7, 0, 1 },
	{ 0x48, 6, 0, 0x100 },
	{ 0x48, 7, 0, 1 },
	{ 0x33, 5, 0, 1 },
	{ 0x35, 3, 0, 1 },
	{ 0xb0, 5, 0, 1 },
	{ 0xb0, 7, 0, 1 },
	{ 0xb4, 3, 0, 1 },
	{ 0x62, 6, 0, 1 },
	{ 0x66, 3, 0, 1 },
	{ 0x66, 7, 0, 1 },
	{ 0x73, 7, 0, 1 },
	{ 0xff, 3, 0, 1 },
	{ 0xff, 5, 0, 1 << 16 },
	{ 0xff, 7, 0, 1 },
	/* Segments: mark, offset and length do not fit together. */
	{ 0x98, WORD(3, 0) },
	{ 0x98, WORD(3, LAST | 1) },
	{ 0x98, WORD(3, LAST | (LAST - 1)) },
	{ 0x98, WORD(3, LAST | (LAST - 13)) },
	{ 0x98, WORD(4, 12) },
	{ 0x98, WORD(4, 14) },
	{ 0x98, WORD(4, 0) },
	{ 0x98, WORD(4, UINT64_MAX) },
	{ 0x98, WORD(4, LAST) },
	{ 0x90, WORD(3, 0) },
	{ 0x90, WORD(4, 1) },
	{ 0xa8, WORD(5, 0) },
	{ 0xa8, WORD(6, 65) },
	{ 0xb4, WORD(5, LAST | 1) },
	{ 0xb0, WORD(6, LAST) },
	/* An abort: without mark, as the first, behind the end. */
	{ 21 << 11 | 0x98, WORD(3, 4096) },
	{ 21 << 11 | 0x98, WORD(3, LAST) },
	{ 21 << 11 | 0x98, WORD(3, LAST | 5000) },
	{ 21 << 11 | 0x98, WORD(3, LAST | 5001) },
	/* ACK of what is no request; a positive one of a get, an atomic. */
	{ 0xff, WORD(5, 0) },
	{ 0xff, WORD(5, 0xff) },
	{ 0xff, WORD(5, 0xb0) },
	{ 0xff, WORD(5, 0x62) },
	{ 0xff, WORD(5, 0x1f) },
	{ 0xff, WORD(5, 0x28) },
	{ 0xff, WORD(5, 0x98 | 1 << 11) },
	{ 0xff, WORD(5, 0x98 | 1 << 8) },
	/* A resume offset in a negative ACK, or too long. */
	{ 11 << 11 | 0xff, WORD(6, 64) },
	{ 0xff, WORD(6, LAST - 1) },
	{ 0xff, WORD(6, LAST) },
	{ 11 << 11 | 0xff, WORD(5, 0x34) },
	{ 11 << 11 | 0xff, WORD(5, 0xb4) },
	{ 11 << 11 | 0xff, WORD(5, 0x66) },
	{ 11 << 11 | 0xff, WORD(5, 0x30) },
	/* ULTRA: words that are not used, an error, another group. */
	{ 0x107, 3, 0, 1 },
	{ 0x107, 7, 0, 1 },
	{ 0x107, 0, 0, 21 << 11 },
	{ 0x107, 0, 0, 2 << 8 },
	{ 0x107, 0, 0, 8 },
	{ 0xff, WORD(5, 0x100) },
	{ 0xff, WORD(5, 0x107) },
};

static void malformed_packets_are_refused(void **state)
{
	unsigned char wire[WIRE_MAX];
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(malformed); i++) {
		const struct alteration *m = &malformed[i];
		const struct packet_header *h = kind_of(m->command);
		size_t size = encoded(h, &route, wire);
		unsigned char *at = wire + ROUTE_BYTES + 8 * m->word;
		uint64_t word;
		memcpy(&word, at, 8);
		word = (word & ~m->clear) | m->set;
		memcpy(at, &word, 8);
		packet_seal(wire, size, ROUTE_BYTES, h->flags);
		int r = decode(wire, size);
		if (r != -EINVAL)
			fail_msg("alteration %zu: %d", i, r);
	}
}

static void fill_must_be_zero(void **state)
{
	unsigned char wire[WIRE_MAX];
	const struct packet_header *h = kind_of(0x98);
	(void)state;
	/* Of the payload, 13 bytes in two words. */
	for (unsigned i = 13; i < 16; i++) {
		size_t size = encoded(h, &route, wire);
		wire[ROUTE_BYTES + CAY_LINE + i] = 0x80;
		packet_seal(wire, size, ROUTE_BYTES, h->flags);
		assert_int_equal(decode(wire, size), -EINVAL);
	}
	/* Of the routing frame. */
	for (unsigned i = 10; i < ROUTE_BYTES; i++) {
		size_t size = encoded(h, &route, wire);
		wire[i] = 1;
		assert_int_equal(decode(wire, size), -EINVAL);
	}
}

static void malformed_routes_are_refused(void **state)
{
	static const struct routing_string wrong[] = {
		{ .count = 4, .phit = { 0x0002, 0x001f, 0x0013, 0x000f } },
		{ .count = 4, .phit = { 0x0007, 0x001f, 0x0013, 0x000f } },
		{ .count = 4, .phit = { 0x0012, 0x081f, 0x0013, 0x000f } },
		{ .count = 4, .phit = { 0x0012, 0x001f, 0x0013, 0x001f } },
		{ .count = 4, .phit = { 0x0012, 0x001f, 0x0013, 0x002f } },
		{ .count = 4, .phit = { 0x0012, 0x001f, 0x000c, 0x000f } },
	};
	struct routing_string flagged = route, endless = route;
	unsigned char wire[WIRE_MAX];
	const struct packet_header *h = kind_of(0x98);
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
		size_t size = encoded(h, &route, wire);
		memcpy(wire + 2, wrong[i].phit, 8);
		assert_int_equal(decode(wire, size), -EINVAL);
		assert_int_equal(
			encode_at(h, &wrong[i], PACKET_MTU, wire, sizeof(wire)),
			-EINVAL);
	}
	/* Flags belong to the header. */
	flagged.phit[1] |= 1 << 5;
	assert_int_equal(encode_at(h, &flagged, PACKET_MTU, wire, sizeof(wire)),
		-EINVAL);
	/* More phits than a string can have. */
	for (unsigned i = 1; i <= STRING_PHITS_MAX + 1; i++)
		memcpy(wire + 2 * i, &endless.phit[0], 2);
	assert_int_equal(decode(wire, sizeof(wire)), -EINVAL);
}

static void answered_requests_need_a_return_path(void **state)
{
	unsigned char wire[WIRE_MAX];
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		unsigned c = kinds[i].command & 0xff;
		unsigned operation = c >> 4;
		bool three_staged = (operation == 0x3 || operation == 0x6 ||
					    operation == 0x7 ||
					    operation == 0xb) &&
				    !(c & 4);
		bool acknowledged = (operation == 0x1 || operation == 0x2 ||
					    operation == 0x4 ||
					    operation == 0x9 ||
					    operation == 0xa) &&
				    c & 8;
		int r = encode_at(
			&kinds[i], &one_way, PACKET_MTU, wire, sizeof(wire));
		bool ultra = kinds[i].command >> 8 == 1;
		if (three_staged || acknowledged || ultra) {
			assert_int_equal(r, -EINVAL);
			continue;
		}
		assert_true(r > 0);
		assert_int_equal(decode(wire, (size_t)r), r);
	}
	/* A received one, too: the route without its return path. */
	size_t size = encoded(kind_of(0xb0), &route, wire);
	memset(wire + 2, 0, ROUTE_BYTES - 2);
	wire[2] = 0x0f;
	memmove(wire + 8, wire + ROUTE_BYTES, size - ROUTE_BYTES);
	packet_seal(wire, size - 8, 8, 0);
	assert_int_equal(decode(wire, size - 8), -EINVAL);
}

static void headers_without_packet_are_refused(void **state)
{
	static const struct packet_header wrong[] = {
		{ COMMON, .command = 0x00 },
		{ COMMON, .command = 0xf0 },
		{ COMMON, .command = 0x80 },
		{ COMMON, .command = 0x110 },
		{ COMMON, .command = 0x11, .length = 5, .bytes = 4 },
		{ COMMON, .command = 0x11, .length = 9, .bytes = 9 },
		{ COMMON, .command = 0x16, .length = 48, .bytes = 48 },
		{ COMMON, .command = 0x33, .length = UINT64_MAX },
		{ COMMON, .command = 0x90, .length = UINT64_MAX,
			.segment = UINT64_MAX },
		{ COMMON, .command = 0x90, .bytes = UINT64_MAX, .segment = 1,
			.length = 0 },
		/* The end of the segment wraps; nothing is in it. */
		{ COMMON, .command = 0x90, .segment = UINT64_MAX, .bytes = 1 },
		{ COMMON, .command = 0x90, .segment = 10, .length = 10 },
		{ COMMON, .command = 0x62, .capability = 1ull << 48 },
		{ COMMON, .command = 0xff, .completed = 0xb0 },
		/* Resume what has no segments. */
		{ COMMON, .command = 0xff, .completed = 0x48, .segment = 64 },
		{ COMMON, .command = 0xff, .completed = 0x18, .segment = 64 },
		{ COMMON, .command = 26 << 11 | 0xff, .completed = 0x98 },
		/* ULTRA: too long, an error, other groups and commands. */
		{ COMMON, .command = 0x100, .length = 4081, .bytes = 4081 },
		{ COMMON, .command = 0x100, .length = 9, .bytes = 8 },
		{ COMMON, .command = 21 << 11 | 0x100 },
		{ COMMON, .command = 0x108 },
		{ COMMON, .command = 0x190 },
		{ COMMON, .command = 0x200 },
		{ COMMON, .command = 0x300 },
		/* The ACK of a path: no position, flags, negative. */
		{ COMMON, .command = 0xff, .completed = 0x100 },
		{ COMMON, .command = 0xff, .completed = 0x102, .segment = 1 },
		{ COMMON, .command = 24 << 11 | 0xff, .completed = 0x100,
			.segment = 1 },
		{ COMMON, .command = 0xff, .completed = 0x100,
			.segment = PACKET_LENGTH_MAX },
	};
	unsigned char wire[WIRE_MAX], data[64] = { 0 };
	const struct iovec shorter = { data, 7 }, longer = { data, 8 };
	const struct iovec wraps[2] = { { data, SIZE_MAX }, { data, 9 } };
	struct packet_header h = { COMMON, .command = 0x11, .length = 8,
		.bytes = 8 };
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
		const struct iovec piece = { data, wrong[i].bytes };
		assert_int_equal(packet_encode(&wrong[i], &route, &piece, 1,
					 PACKET_MTU, wire, sizeof(wire)),
			-EINVAL);
	}
	/* The pieces are not the bytes of the header. */
	assert_int_equal(packet_encode(&h, &route, &shorter, 1, PACKET_MTU,
				 wire, sizeof(wire)),
		-EINVAL);
	assert_int_equal(packet_encode(&h, &route, wraps, 2, PACKET_MTU, wire,
				 sizeof(wire)),
		-EINVAL);
	h.flags = 0x40;
	assert_int_equal(packet_encode(&h, &route, &longer, 1, PACKET_MTU, wire,
				 sizeof(wire)),
		-EINVAL);
	h.flags = 0;
	h.command = 0x62;
	assert_int_equal(packet_encode(&h, &route, &longer, 1, PACKET_MTU, wire,
				 sizeof(wire)),
		-EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_flipped_bit_is_detected),
		cmocka_unit_test(truncated_packets_are_refused),
		cmocka_unit_test(outputs_are_unchanged_on_failure),
		cmocka_unit_test(malformed_packets_are_refused),
		cmocka_unit_test(fill_must_be_zero),
		cmocka_unit_test(malformed_routes_are_refused),
		cmocka_unit_test(answered_requests_need_a_return_path),
		cmocka_unit_test(headers_without_packet_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
