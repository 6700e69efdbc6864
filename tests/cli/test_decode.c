/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the decoder of VCIs, NQEs and packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/decode.h"
#include "contract/packet.h"

static struct decode_field fields[DECODE_PACKET_MAX];

static const struct decode_field *field(size_t count, const char *name)
{
	assert_in_range(count, 1, DECODE_PACKET_MAX);
	for (size_t i = 0; i < count; i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	fail_msg("no field '%s'", name);
	return NULL;
}

static void fast_send(void **state)
{
	const struct cay_vci v = { { 0x5a00000700000015ull | 0x11ull << 24,
		0xdeadbeef00280002ull, 42, 0x0706050403020100ull, 1, 2, 3,
		4 } };
	(void)state;
	size_t n = decode_vci(&v, fields);
	assert_int_equal(n, 9 + 5);
	assert_int_equal(field(n, "command")->value, 0x15);
	assert_string_equal(field(n, "command")->meaning, "FAST_SEND");
	assert_string_equal(field(n, "flags")->meaning, "notify, priority");
	assert_int_equal(field(n, "routing offset")->value, 7);
	assert_int_equal(field(n, "generation")->value, 0x5a);
	assert_int_equal(field(n, "target VPID")->value, 2);
	assert_int_equal(field(n, "payload bytes")->value, 40);
	assert_int_equal(field(n, "API tag")->value, 0xdeadbeef);
	assert_int_equal(field(n, "user tag")->value, 42);
	assert_string_equal(
		field(n, "data")->meaning, "00 01 02 03 04 05 06 07");
}

static void send_fields(void **state)
{
	const struct cay_vci v = { { CAY_SEND, 1, 0, 0x40, UINT64_MAX } };
	(void)state;
	size_t n = decode_vci(&v, fields);
	assert_int_equal(n, 9 + 2);
	assert_int_equal(field(n, "SDR offset")->value, 0x40);
	assert_true(field(n, "length")->value == UINT64_MAX);
}

static void remote_memory(void **state)
{
	struct cay_vci v = { { CAY_CAS, 1, 0, 0xabcdull << 16 | 7, 64, 3, 4 } };
	(void)state;
	size_t n = decode_vci(&v, fields);
	assert_int_equal(n, 9 + 5);
	assert_int_equal(field(n, "target window")->value, 7);
	assert_int_equal(field(n, "capability")->value, 0xabcd);
	assert_int_equal(field(n, "target offset")->value, 64);
	assert_int_equal(field(n, "compare")->value, 3);
	assert_int_equal(field(n, "swap")->value, 4);
	v.word[0] = CAY_PUT;
	v.word[7] = 4096;
	n = decode_vci(&v, fields);
	assert_int_equal(field(n, "origin window")->value, 3);
	assert_int_equal(field(n, "origin offset")->value, 4);
	assert_int_equal(field(n, "length")->value, 4096);
	v.word[0] = CAY_FAST_PUT | 1;
	v.word[1] |= 8 << CAY_VCI_BYTES_SHIFT;
	n = decode_vci(&v, fields);
	assert_int_equal(n, 9 + 4);
	assert_string_equal(
		field(n, "data")->meaning, "03 00 00 00 00 00 00 00");
}

/* No command exceeds the array of fields. */
static void unknown_commands(void **state)
{
	(void)state;
	for (unsigned word = 0; word < 65536; word++) {
		struct cay_vci v = { { word | 0xffull << 24, UINT64_MAX } };
		struct cay_nqe e = { .word[7] = word | 0xffffull << 16 };
		assert_in_range(decode_vci(&v, fields), 9, DECODE_FIELDS_MAX);
		assert_in_range(decode_nqe(&e, fields), 9, DECODE_FIELDS_MAX);
	}
}

static void notification_with_error(void **state)
{
	const struct cay_nqe e = { { 1, 2, 3, 0, 0, 7ull << 32 | 6, CAY_SEND,
		0x0003000200000000ull | CAY_NOTIFY_CC |
			CAY_ERROR_GONE << CAY_COMMAND_ERROR_SHIFT } };
	(void)state;
	size_t n = decode_nqe(&e, fields);
	assert_string_equal(
		field(n, "command")->meaning, "NOTIFY_CC, peer_gone");
	assert_string_equal(field(n, "completed command")->meaning, "SEND");
	assert_int_equal(field(n, "WQ read")->value, 6);
	assert_int_equal(field(n, "RDR write")->value, 7);
	assert_int_equal(field(n, "peer VPID")->value, 2);
	assert_int_equal(field(n, "generation")->value, 3);
}

/* The command of an NQE names its words 3 and 4. */
static void completion_fields(void **state)
{
	struct cay_nqe e = { { 0, 0, 8, 5, 6, 0, CAY_FAA, CAY_NOTIFY_CC } };
	(void)state;
	assert_int_equal(field(decode_nqe(&e, fields), "result")->value, 5);
	assert_int_equal(field(decode_nqe(&e, fields), "previous")->value, 6);
	e.word[6] = CAY_PUT;
	assert_int_equal(field(decode_nqe(&e, fields), "offset")->value, 5);
	assert_int_equal(field(decode_nqe(&e, fields), "window")->value, 6);
	e.word[7] = CAY_NOTIFY_RMA;
	assert_int_equal(field(decode_nqe(&e, fields), "offset")->value, 5);
	e.word[7] = CAY_NOTIFY_POSTED_RECV;
	assert_int_equal(field(decode_nqe(&e, fields), "cookie")->value, 5);
	e.word[7] = CAY_FAA; /* an emulated access */
	assert_int_equal(field(decode_nqe(&e, fields), "sequence")->value, 5);
	e.word[7] = CAY_NOTIFY_CC | 9u << CAY_NQE_BYTES_SHIFT;
	size_t n = decode_nqe(&e, fields);
	assert_int_equal(n, 3 + 2 + 3 + 4);
	assert_string_equal(
		field(n, "data")->meaning, "08 00 00 00 00 00 00 00");
}

static void names_of_word_3(void **state)
{
	struct cay_nqe e = { .word[3] = 9, .word[7] = CAY_NOTIFY_RECV };
	(void)state;
	assert_int_equal(field(decode_nqe(&e, fields), "RDR start")->value, 9);
	e.word[4] = 1;
	assert_int_equal(field(decode_nqe(&e, fields), "sequence")->value, 9);
	e.word[4] = 0;
	e.word[7] = CAY_NOTIFY_CC;
	assert_int_equal(field(decode_nqe(&e, fields), "result")->value, 9);
}

/* A segment of a PUT: three routing phits, frame, payload, trailer. */
static void packet_of_a_put(void **state)
{
	(void)state;
	const struct packet_header h = { .command = CAY_PUT,
		.flags = CAY_VCI_FENCE | PACKET_WORD_MODE,
		.origin_vpid = 3,
		.target_vpid = 4,
		.origin_node = 9,
		.tag = 0x77,
		.length = 300,
		.bytes = 64,
		.segment = 64,
		.request = 0xabcd,
		.target_epoch = 17,
		.origin_epoch = 18,
		.window = 5,
		.capability = 0x123456,
		.offset = 0x88 };
	const struct routing_string string = { .tag = 2,
		.count = 2,
		.phit = { phit_make(1, 2, 1), STRING_PORT_ANY } };
	unsigned char data[64] = { 1, 2, 3 }, bytes[PACKET_BYTES_MAX(128)];
	const struct iovec payload = { data, sizeof(data) };
	int size = packet_encode(
		&h, &string, &payload, 1, 128, bytes, sizeof(bytes));
	assert_int_equal(size, 8 + 64 + 64 + 16);

	size_t n = decode_packet(bytes, (size_t)size, 128, fields);
	assert_string_equal(field(n, "phit")->meaning, "link 1, hops: 3");
	assert_string_equal(field(n, "host phit")->meaning,
		"port 15, flags 0x4, word mode");
	assert_int_equal(field(n, "command")->word, 1);
	assert_string_equal(field(n, "command")->meaning, "PUT");
	assert_int_equal(field(n, "origin node")->value, 9);
	assert_int_equal(field(n, "target window")->value, 5);
	assert_int_equal(field(n, "capability")->value, 0x123456);
	assert_int_equal(field(n, "target offset")->value, 0x88);
	assert_int_equal(field(n, "segment")->value, 64);
	assert_int_equal(field(n, "last")->value, 0);
	assert_int_equal(field(n, "length")->value, 300);
	assert_int_equal(field(n, "payload")->word, 9);
	assert_string_equal(
		field(n, "payload")->meaning, "01 02 03 00 00 00 00 00");
	assert_int_equal(field(n, "target epoch")->word, 17);
	assert_int_equal(field(n, "target epoch")->value, 17);
	assert_int_equal(field(n, "origin epoch")->value, 18);
	assert_int_equal(field(n, "request")->word, 18);
	assert_int_equal(field(n, "request")->value, 0xabcd);
	bytes[20] ^= 1;
	assert_int_equal(decode_packet(bytes, (size_t)size, 128, fields), 0);
}

/* An ULTRA message, and the ACK that returns a position. */
static void packets_of_a_path(void **state)
{
	const struct routing_string string = { .tag = 2,
		.count = 2,
		.phit = { STRING_PORT_ANY | STRING_RETURN, STRING_PORT_ANY } };
	const struct packet_header h = { .command = PACKET_ULTRA |
						    CAY_ULTRA_ACK,
		.last = true,
		.length = 8,
		.bytes = 8,
		.request = packet_upids(3, 4) };
	unsigned char bytes[PACKET_BYTES_MAX(128)];
	const struct iovec payload = { "message", 8 };
	(void)state;
	int size = packet_encode(
		&h, &string, &payload, 1, 128, bytes, sizeof(bytes));
	assert_int_equal(size, 8 + 64 + 8 + 16);
	size_t n = decode_packet(bytes, (size_t)size, 128, fields);
	assert_string_equal(field(n, "command")->meaning, "ULTRA");
	assert_int_equal(field(n, "payload")->word, 9);
	assert_int_equal(field(n, "origin UPID")->value, 3);
	assert_int_equal(field(n, "target UPID")->value, 4);

	struct packet_header ack = packet_answer(&h, CAY_ACKNOWLEDGE, 1);
	ack.completed = PACKET_ULTRA;
	ack.segment = 5;
	ack.last = false;
	size = packet_encode(&ack, &string, NULL, 0, 128, bytes, sizeof(bytes));
	n = decode_packet(bytes, (size_t)size, 128, fields);
	assert_string_equal(field(n, "completed command")->meaning, "ULTRA");
	assert_int_equal(field(n, "position")->value, 5);
	assert_int_equal(field(n, "target UPID")->word, 10);
	assert_int_equal(field(n, "target UPID")->value, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_send),
		cmocka_unit_test(send_fields),
		cmocka_unit_test(remote_memory),
		cmocka_unit_test(unknown_commands),
		cmocka_unit_test(notification_with_error),
		cmocka_unit_test(completion_fields),
		cmocka_unit_test(names_of_word_3),
		cmocka_unit_test(packet_of_a_put),
		cmocka_unit_test(packets_of_a_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
