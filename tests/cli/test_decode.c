/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests and notifications taken apart, field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/decode.h"

static struct decode_field fields[DECODE_FIELDS_MAX];

static const struct decode_field *field(size_t count, const char *name)
{
	assert_in_range(count, 1, DECODE_FIELDS_MAX);
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

static void send_has_a_place(void **state)
{
	const struct cay_vci v = { { CAY_SEND, 1, 0, 0x40, UINT64_MAX } };
	(void)state;
	size_t n = decode_vci(&v, fields);
	assert_int_equal(n, 9 + 2);
	assert_int_equal(field(n, "SDR offset")->value, 0x40);
	assert_true(field(n, "length")->value == UINT64_MAX);
}

/* Whatever a peer has written, nothing is read or written outside. */
static void anything_is_taken_apart(void **state)
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

/* Word 3 is called what it is. */
static void start_has_three_names(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_send),
		cmocka_unit_test(send_has_a_place),
		cmocka_unit_test(anything_is_taken_apart),
		cmocka_unit_test(notification_with_error),
		cmocka_unit_test(start_has_three_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
