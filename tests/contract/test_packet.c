/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets: every kind there and back, layouts as bytes, segments, responses.
 * The expected bytes are those of the manual page.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "base/bits.h"
#include "packet_kinds.h"

/* ---- there and back ---- */

static void check_round_trip(
	const struct packet_header *kind, const struct routing_string *way)
{
	unsigned char wire[WIRE_MAX], again[WIRE_MAX], data[PACKET_MTU],
		expected[PACKET_MTU];
	struct packet_header h;
	struct routing_string r;
	size_t size = encoded(kind, way, wire);
	/* What follows the packet is not part of it. */
	memset(wire + size, 0xee, sizeof(wire) - size);
	assert_int_equal(
		decode_tight(wire, sizeof(wire), PACKET_MTU, &h, &r, data),
		size);
	assert_int_equal(
		decode_tight(wire, size, PACKET_MTU, &h, &r, data), size);
	assert_header(&h, kind);
	assert_memory_equal(&r, way, sizeof(r));
	fill(expected, h.bytes);
	assert_memory_equal(data, expected, h.bytes);

	/* The same bits, also if the data are in pieces. */
	const struct iovec pieces[4] = { { data, h.bytes / 3 }, { NULL, 0 },
		{ data + h.bytes / 3, h.bytes - h.bytes / 3 }, { NULL, 0 } };
	memset(again, 0x55, sizeof(again));
	assert_int_equal(
		packet_encode(&h, &r, pieces, 4, PACKET_MTU, again, size),
		size);
	assert_memory_equal(again, wire, size);
}

static void every_kind_round_trips(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		check_round_trip(&kinds[i], &route);
		check_round_trip(&kinds[i], &arrived);
	}
}

static void unused_members_are_ignored(void **state)
{
	unsigned char wire[WIRE_MAX], again[WIRE_MAX];
	struct packet_header send = { COMMON, .command = 0x98, .length = 8,
		.bytes = 8 };
	struct packet_header add = { COMMON, .command = 0x62, TARGET };
	(void)state;
	size_t size = encoded(&send, &route, wire);
	send.window = 7;
	send.capability = UINT64_MAX;
	send.operand[1] = send.offset = 9;
	send.completed = 0xffff;
	assert_int_equal(encoded(&send, &route, again), size);
	assert_memory_equal(again, wire, size);

	size = encoded(&add, &route, wire);
	add.operand[1] = add.segment = add.length = 99;
	add.last = false;
	assert_int_equal(encoded(&add, &route, again), size);
	assert_memory_equal(again, wire, size);

	/* Only 8 byte enables exist. */
	add.command = 0x40;
	add.operand[1] = 0x0f;
	size = encoded(&add, &route, wire);
	add.operand[1] = 0xff0f;
	assert_int_equal(encoded(&add, &route, again), size);
	assert_memory_equal(again, wire, size);
}

/* ---- layouts ---- */

static void assert_wire(const unsigned char *wire, size_t size, const char *hex)
{
	size_t n = 0;
	for (; *hex; hex++) {
		unsigned byte;
		if (*hex == ' ')
			continue;
		assert_int_equal(sscanf(hex++, "%2x", &byte), 1);
		if (n >= size || wire[n] != byte)
			fail_msg(
				"byte %zu of %zu is not 0x%02x", n, size, byte);
		n++;
	}
	assert_int_equal(n, size);
}

static void assert_bytes(const struct packet_header *h, const char *hex)
{
	unsigned char wire[WIRE_MAX];
	assert_wire(wire, encoded(h, &route, wire), hex);
}

/* Flags 0x15 in the host phit: 0x001f | 0x15 << 5 is 0x02bf. */
#define ROUTING	     "0102 1200 bf02 1300 0f00 0000 0000 0000 "
#define ORIGIN	     "0304 0708090a 0506 " /* and the target's VPID */
#define TAGS	     "0b0c0d0e 0f10111213141516 "
#define EPOCHS	     "20303132 33343536 " /* of target and origin */
#define ZERO	     "0000000000000000 "
#define TARGET_WORDS "1b1c 1d1e1f202122 232425262728292a "

static void layouts_are_those_of_the_manual(void **state)
{
	(void)state;
	/* FAST_SEND, 5 bytes. */
	assert_bytes(kind_of(0x19),
		ROUTING "1900 " ORIGIN "0500 " TAGS
			"d0d3d6d9dc000000 0000000000000000 0000000000000000 "
			"0000000000000000 0000000000000000 " EPOCHS
			"1718191a f236f9b2");
	/* SEND, 13 bytes: one segment. */
	assert_bytes(kind_of(0x98),
		ROUTING "9800 " ORIGIN "0d00 " TAGS
			"0000000000000080 0d00000000000000 " ZERO ZERO ZERO
			"d0d3d6d9dcdfe2e5 e8ebeef1f4000000 " EPOCHS
			"1718191a 96abd544");
	/* FAST_PUT, 23 bytes. */
	assert_bytes(kind_of(0x2b), ROUTING
		"2b00 " ORIGIN "1700 " TAGS TARGET_WORDS
		"d0d3d6d9dcdfe2e5 e8ebeef1f4f7fafd 000306090c0f1200 " EPOCHS
		"1718191a 05307043");
	/* MISALIGNED_PUT. */
	assert_bytes(kind_of(0x40),
		ROUTING "4000 " ORIGIN "0000 " TAGS TARGET_WORDS
			"8877665544332211 a500000000000000 " ZERO EPOCHS
			"1718191a 08efc2fb");
	/* FAST_GET, 17 bytes. */
	assert_bytes(kind_of(0x33), ROUTING
		"3300 " ORIGIN "1100 " TAGS TARGET_WORDS ZERO ZERO ZERO EPOCHS
		"1718191a f6aeb84b");
	/* FAST_GET_RESPONSE, 3 bytes. */
	assert_bytes(kind_of(0x35), ROUTING
		"3500 " ORIGIN "0300 " TAGS ZERO ZERO
		"d0d3d60000000000 0000000000000000 0000000000000000 " EPOCHS
		"1718191a bd3486c0");
	/* GET. */
	assert_bytes(kind_of(0xb0),
		ROUTING "b000 " ORIGIN "0000 " TAGS TARGET_WORDS ZERO
			"0000000000010000 " ZERO EPOCHS "1718191a 7c9973e0");
	/* FAA. */
	assert_bytes(kind_of(0x62), ROUTING
		"6200 " ORIGIN "0000 " TAGS TARGET_WORDS
		"ffffffffffffffff " ZERO ZERO EPOCHS "1718191a ed522381");
	/* FAA_RESPONSE. */
	assert_bytes(kind_of(0x66),
		ROUTING "6600 " ORIGIN "0000 " TAGS ZERO ZERO
			"1122334455667788 0807060504030201 " ZERO EPOCHS
			"1718191a a71dffb5");
	/* CAS. */
	assert_bytes(kind_of(0x73),
		ROUTING "7300 " ORIGIN "0000 " TAGS TARGET_WORDS
			"1122334455667788 0807060504030201 " ZERO EPOCHS
			"1718191a 7567361f");
	/* CAS_RESPONSE. */
	assert_bytes(kind_of(0x77),
		ROUTING "7700 " ORIGIN "0000 " TAGS ZERO ZERO
			"0100000000000000 0200000000000000 " ZERO EPOCHS
			"1718191a 8d0d1e2e");
	/* ACK of a SEND with A. */
	assert_bytes(kind_of(0xff), ROUTING
		"ff00 " ORIGIN "0000 " TAGS ZERO ZERO
		"9800000000000000 " ZERO ZERO EPOCHS "1718191a 58b4efc0");
	/* Negative ACK of a PUT: error 11. */
	assert_bytes(kind_of(11 << 11 | 0xff), ROUTING
		"ff58 " ORIGIN "0000 " TAGS ZERO ZERO
		"a000000000000000 " ZERO ZERO EPOCHS "1718191a c4d873b8");
	/* Abort of a PUT: error 21, 1 of 5000 bytes sent. */
	assert_bytes(kind_of(21 << 11 | 0xa0),
		ROUTING "a0a8 " ORIGIN "0000 " TAGS TARGET_WORDS
			"0100000000000080 8813000000000000 " ZERO EPOCHS
			"1718191a e5ef6490");
	/* ULTRA message with all flags. */
	assert_bytes(kind_of(0x107),
		ROUTING "0701 " ORIGIN "0d00 " TAGS ZERO ZERO ZERO ZERO ZERO
			"d0d3d6d9dcdfe2e5 e8ebeef1f4000000 " EPOCHS
			"1718191a fe6515e0");
	/* Abort of a GET_RESPONSE. */
	assert_bytes(kind_of(21 << 11 | 0xb4),
		ROUTING "b4a8 " ORIGIN "0000 " TAGS ZERO ZERO
			"8713000000000080 8813000000000000 " ZERO EPOCHS
			"1718191a fc918a80");
}

static void the_example_of_the_manual(void **state)
{
	const struct routing_string r = { .tag = 9,
		.count = 4,
		.phit = { phit_make(0, 2, 0), 0x1f, phit_make(1, 2, 0), 15 } };
	const struct packet_header h = { .command = CAY_FAST_SEND |
						    CAY_COMMAND_ACK | 1,
		.flags = CAY_VCI_NOTIFY,
		.origin_vpid = 0x0102,
		.origin_node = 7,
		.target_vpid = 0x0304,
		.length = 5,
		.bytes = 5,
		.target_epoch = 3,
		.origin_epoch = 5,
		.request = 42 };
	const struct iovec data = { (void *)"hello", 5 };
	unsigned char wire[WIRE_MAX];
	(void)state;
	assert_int_equal(
		packet_encode(&h, &r, &data, 1, PACKET_MTU, wire, WIRE_MAX),
		96);
	assert_wire(wire, 96,
		"09 00 20 00 3f 00 21 00 0f 00 00 00 00 00 00 00"
		"19 00 02 01 07 00 00 00 04 03 05 00 00 00 00 00" ZERO
		"68 65 6c 6c 6f 00 00 00" ZERO ZERO ZERO ZERO
		"03 00 00 00 05 00 00 00 2a 00 00 00 b2 d1 61 45");
}

/* ---- MTU and segments ---- */

/* The longest string: 64 phits after the tag take 17 words. */
static void the_longest_route_fits(void **state)
{
	struct routing_string r = { .tag = 1, .count = STRING_PHITS_MAX };
	unsigned char wire[WIRE_MAX];
	struct packet_header h = { COMMON, .command = 0x98, .bytes = PACKET_MTU,
		.length = PACKET_MTU };
	(void)state;
	for (unsigned i = 0; i < STRING_PHITS_MAX; i++)
		r.phit[i] = phit_make(i % 6, 63, 63);
	r.phit[31] = 0x1f;
	r.phit[63] = 0x0f;
	check_round_trip(&h, &r);
	assert_int_equal(encoded(&h, &r, wire), WIRE_MAX);
	assert_int_equal(WIRE_MAX, 136 + 64 + 4096 + 16);
}

static void the_mtu_limits_a_payload(void **state)
{
	static const uint32_t wrong[] = { 0, 8, 63, 65, 4095, 65473, 65535,
		65536, UINT32_MAX };
	static const uint32_t right[] = { 64, 128, 4096, 65472 };
	static unsigned char wire[PACKET_BYTES_MAX(PACKET_MTU_MAX)],
		data[PACKET_MTU_MAX];
	struct packet_header h = { COMMON, .command = 0xa8, TARGET }, out;
	struct routing_string r;
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
		h.bytes = h.length = 0;
		assert_int_equal(
			encode_at(&h, &route, wrong[i], wire, sizeof(wire)),
			-EINVAL);
		assert_true(encode_at(&h, &route, 64, wire, sizeof(wire)) > 0);
		assert_int_equal(packet_decode(wire, sizeof(wire), wrong[i],
					 &out, &r, data),
			-EINVAL);
	}
	for (size_t i = 0; i < ARRAY_COUNT(right); i++) {
		h.bytes = h.length = right[i];
		int size = encode_at(&h, &route, right[i], wire, sizeof(wire));
		assert_int_equal(size, ROUTE_BYTES + 64 + right[i] + 16);
		assert_int_equal(decode_tight(wire, (size_t)size, right[i],
					 &out, &r, data),
			size);
		assert_header(&out, &h);
		/* A receiver with a smaller MTU has no room for it. */
		if (right[i] > 64)
			assert_int_equal(decode_tight(wire, (size_t)size,
						 right[i] - 64, &out, &r, data),
				-EINVAL);
		h.bytes = h.length = right[i] + 1;
		assert_int_equal(
			encode_at(&h, &route, right[i], wire, sizeof(wire)),
			-EINVAL);
	}
}

static void a_long_message_is_segmented(void **state)
{
	unsigned char wire[WIRE_MAX];
	struct packet_header h = { COMMON, .command = 0x98, .length = 10000 };
	unsigned marks = 0, packets = 0;
	(void)state;
	while (h.segment < h.length) {
		h.bytes = bits_min(PACKET_MTU, h.length - h.segment);
		h.last = h.segment + h.bytes == h.length;
		check_round_trip(&h, &route);
		marks += h.last;
		packets++;
		/* The mark cannot be anywhere else. */
		h.last = !h.last;
		assert_int_equal(
			encode_at(&h, &route, PACKET_MTU, wire, sizeof(wire)),
			-EINVAL);
		h.segment += h.bytes;
	}
	assert_int_equal(packets, 3);
	assert_int_equal(marks, 1);
	/* The last byte of the longest message. */
	h = (struct packet_header){ COMMON, .command = 0x90,
		.length = PACKET_LENGTH_MAX, .segment = PACKET_LENGTH_MAX - 1,
		.bytes = 1 };
	check_round_trip(&h, &one_way);
}

/* ---- answers ---- */

/* An ACK that asks for segments again does not end its request. */
static void an_ack_may_resume(void **state)
{
	struct packet_header h = { COMMON, .command = 0xff, .segment = 4096,
		.completed = 0x98 };
	unsigned char wire[WIRE_MAX];
	(void)state;
	h.last = false;
	check_round_trip(&h, &route);
	encoded(&h, &route, wire);
	/* Word 6 of the command frame. */
	assert_memory_equal(wire + ROUTE_BYTES + 48, "\x00\x10\0\0\0\0\0\0", 8);
	h.completed = 0xa0;
	h.segment = PACKET_LENGTH_MAX - 1;
	check_round_trip(&h, &one_way);
}

/* The ACK of an ULTRA path has the identifier of its messages. */
static void an_ack_returns_a_position(void **state)
{
	struct packet_header m = { COMMON, .command = 0x105, .bytes = 5,
		.length = 5 };
	unsigned char wire[WIRE_MAX];
	(void)state;
	m.request = packet_upids(0x1817, 0x1a19);
	assert_int_equal(m.request, 0x1a191817);
	struct packet_header h = packet_answer(&m, 0xff, 0x0202);
	h.completed = 0x100;
	h.segment = 0x123456789;
	h.last = false;
	check_round_trip(&h, &one_way);
	encoded(&h, &one_way, wire);
	/* Words 5 and 6 of the command frame. */
	assert_memory_equal(wire + 8 + 40,
		"\x00\x01\0\0\0\0\0\0\x89\x67\x45\x23\x01\0\0\0", 16);
	assert_int_equal(h.request, 0x1a191817);
}

/* A target answers what it has decoded; the origin finds its request. */
static void an_answer_names_its_request(void **state)
{
	static const struct {
		uint16_t request, answer;
	} pairs[] = { { 0x33, 0x37 }, { 0xb0, 0xb4 }, { 0x62, 0x66 },
		{ 0x73, 0x77 }, { 0x98, 0xff }, { 0xa8, 0xff } };
	unsigned char wire[WIRE_MAX], data[PACKET_MTU];
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(pairs); i++) {
		struct packet_header request, out;
		struct routing_string there, back, arrives;
		size_t size =
			encoded(kind_of(pairs[i].request), &arrived, wire);
		assert_true(packet_decode(wire, size, PACKET_MTU, &request,
				    &there, data) > 0);
		struct packet_header answer =
			packet_answer(&request, pairs[i].answer, 0x0202);
		if (pairs[i].answer == 0x37 || pairs[i].answer == 0xb4)
			answer.length = answer.bytes = 17;
		answer.completed = request.command;
		assert_int_equal(
			routing_string_reverse(&there, 0x0807, &back), 0);
		size = encoded(&answer, &back, wire);
		/* Tag, one hop, host phit with the request's flags. */
		assert_memory_equal(wire, "\x07\x08\x13\x00\xaf\x02\0\0", 8);
		assert_true(packet_decode(wire, size, PACKET_MTU, &out,
				    &arrives, data) > 0);
		assert_int_equal(out.command, pairs[i].answer);
		assert_int_equal(out.request, 0x1a191817);
		assert_int_equal(out.target_vpid, request.origin_vpid);
		assert_int_equal(out.origin_vpid, request.target_vpid);
		assert_int_equal(out.origin_node, 0x0202);
		assert_int_equal(out.target_epoch, request.origin_epoch);
		assert_int_equal(out.origin_epoch, request.target_epoch);
		assert_int_equal(out.api_tag, request.api_tag);
		assert_true(out.tag == request.tag);
		assert_int_equal(out.flags, request.flags);
		assert_int_equal(routing_string_reverse(&arrives, 0, &back),
			-EHOSTUNREACH);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_round_trips),
		cmocka_unit_test(unused_members_are_ignored),
		cmocka_unit_test(layouts_are_those_of_the_manual),
		cmocka_unit_test(the_example_of_the_manual),
		cmocka_unit_test(the_longest_route_fits),
		cmocka_unit_test(the_mtu_limits_a_payload),
		cmocka_unit_test(a_long_message_is_segmented),
		cmocka_unit_test(an_answer_names_its_request),
		cmocka_unit_test(an_ack_may_resume),
		cmocka_unit_test(an_ack_returns_a_position),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
