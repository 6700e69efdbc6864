/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract: layouts, names, and validation of work requests and
 * notifications. The expected values are copied from the manual page, not from
 * the header.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "cay/error.h"
#include "cay/version.h"
#include "contract/arena.h"

/* ---- layouts ---- */

static void record_sizes(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct cay_vci), 64);
	assert_int_equal(sizeof(struct cay_nqe), 64);
	assert_int_equal(sizeof(struct cay_window_descriptor), 64);
	assert_int_equal(sizeof(struct cay_posted_receive), 64);
	assert_int_equal(sizeof(struct reference), 64);
	assert_int_equal(sizeof(struct op_record), 128);
	assert_int_equal(sizeof(struct queue_control), 512);
	assert_int_equal(sizeof(struct peer_entry), 16);
	assert_int_equal(sizeof(struct cay_answer), 16);
	assert_int_equal(sizeof(struct emulated_access), 64);
	assert_int_equal(sizeof(struct posted_head), 64);
}

static void w_and_r_fields(void **state)
{
	(void)state;
	assert_true(QUEUE_NQ_MASK == 0xffffffffffull);
	assert_true(QUEUE_RDR_MASK == 0xfffffull);
	assert_true(
		(QUEUE_NQ_MASK ^ QUEUE_RDR_MASK << 40 ^ W_FLAGS) == UINT64_MAX);
	assert_int_equal((W_SLEEP | W_ARMED | W_CLOSED) & ~W_FLAGS, 0);
	assert_int_equal((R_WAITERS | R_CLOSED) & ~W_FLAGS, 0);
	assert_true((W_SLEEP | W_ARMED | W_CLOSED) >> 32);
	assert_int_equal(CAY_FAST_SEND_BYTES, 8 * CAY_FAST_SEND_WORDS);
	assert_int_equal(CAY_ERROR_COUNT, 26);
}

/* ---- names ---- */

static void errors_have_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CAY_ERROR_COUNT; i++) {
		assert_non_null(cay_error_name(i));
		assert_string_not_equal(cay_error_name(i), "unknown");
		assert_true(strlen(cay_error_text(i)) > 5);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(
				cay_error_name(i), cay_error_name(j));
	}
	assert_string_equal(cay_error_name(CAY_ERROR_COUNT), "unknown");
	assert_string_equal(cay_error_name(UINT32_MAX), "unknown");
	assert_string_equal(cay_error_name(21), "peer_gone");
	assert_non_null(cay_error_text(UINT32_MAX));
}

struct named {
	unsigned from, to; /* command words, inclusive */
	const char *name;
};

static const struct named names[] = {
	{ 0x00, 0x00, "VOID" },
	{ 0x10, 0x1f, "FAST_SEND" },
	{ 0x20, 0x23, "FAST_PUT" },
	{ 0x28, 0x2b, "FAST_PUT" },
	{ 0x30, 0x33, "FAST_GET" },
	{ 0x34, 0x37, "FAST_GET_RESPONSE" },
	{ 0x40, 0x40, "MISALIGNED_PUT" },
	{ 0x48, 0x48, "MISALIGNED_PUT" },
	{ 0x62, 0x62, "FAA" },
	{ 0x66, 0x66, "FAA_RESPONSE" },
	{ 0x73, 0x73, "CAS" },
	{ 0x77, 0x77, "CAS_RESPONSE" },
	{ 0x90, 0x90, "SEND" },
	{ 0x98, 0x98, "SEND" },
	{ 0xa0, 0xa0, "PUT" },
	{ 0xa8, 0xa8, "PUT" },
	{ 0xb0, 0xb0, "GET" },
	{ 0xb4, 0xb4, "GET_RESPONSE" },
	{ 0xf0, 0xf0, "NOTIFY_CC" },
	{ 0xf1, 0xf1, "NOTIFY_RMA" },
	{ 0xf2, 0xf2, "NOTIFY_FAST_RECV" },
	{ 0xf3, 0xf3, "NOTIFY_RECV" },
	{ 0xf4, 0xf4, "NOTIFY_STATUS" },
	{ 0xf5, 0xf5, "NOTIFY_POSTED_RECV" },
	{ 0xf6, 0xf6, "NOTIFY_ULTRA" },
	{ 0xf7, 0xf7, "NOTIFY_BARRIER" },
	{ 0xf8, 0xf8, "NOTIFY_GONE" },
	{ 0x80, 0x80, "RESOLVE" },
	{ 0xff, 0xff, "ACK" },
};

static const char *expected_name(unsigned command)
{
	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (command >= names[i].from && command <= names[i].to)
			return names[i].name;
	return "unknown";
}

static void commands_have_names(void **state)
{
	(void)state;
	for (unsigned command = 0; command < 256; command++)
		assert_string_equal(
			cay_command_name(command), expected_name(command));
	/* The error and group bits do not change the name. */
	assert_string_equal(cay_command_name(0xf8 | 21 << 11), "NOTIFY_GONE");
}

static void errnos_have_texts(void **state)
{
	static const int documented[] = { EAGAIN, EPIPE, ENOTCONN, ECHILD,
		ENXIO, EACCES, EHOSTUNREACH, ETIMEDOUT, EPERM, EPROTO,
		EPROTONOSUPPORT, EBADMSG, EOPNOTSUPP, ENOSPC, EDQUOT, EEXIST,
		ENOBUFS, EMFILE, ENFILE, ENOMEM, ENOENT, EINVAL, EMSGSIZE };
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(documented); i++) {
		const char *text = cay_strerror(-documented[i]);
		assert_string_equal(text, cay_strerror(documented[i]));
		assert_string_not_equal(text, strerror(documented[i]));
	}
	for (int e = 0; e < 200; e++)
		assert_non_null(cay_strerror(-e));
	assert_string_equal(cay_strerror(12345), "unknown error");
}

/* ---- VCI ---- */

/* Bits 7:0 of the commands that are valid in a VCI, as in the contract. */
static bool command_in_table(unsigned c)
{
	switch (c >> 4) {
	case 0x1: /* A L LL */
		return (c & 7) <= 5;
	case 0x2: /* A - LL, 1 to 3 words */
		return (c & 4) == 0 && (c & 3) != 0;
	case 0x3: /* - R LL, R = 0 */
		return (c & 12) == 0 && (c & 3) != 0;
	case 0x4: /* A - 00 */
	case 0x9: /* A - - */
	case 0xa:
		return (c & 7) == 0;
	case 0x6: /* - R 10, R = 0 */
		return (c & 15) == 2;
	case 0x7: /* - R 11 */
		return (c & 15) == 3;
	case 0xb: /* - R - */
		return (c & 15) == 0;
	default:
		return false;
	}
}

/* The number of words that the command encodes, or 8 if it has none. */
static unsigned command_words(unsigned c)
{
	if (c >> 4 == 1)
		return c & 7;
	return c >> 4 == 2 || c >> 4 == 3 ? c & 3 : 8;
}

static struct cay_vci vci_of(unsigned word, unsigned flags, unsigned bytes)
{
	return (struct cay_vci){ { word | (uint64_t)flags << 24,
		(uint64_t)bytes << 16 } };
}

static void vci_commands(void **state)
{
	(void)state;
	for (unsigned word = 0; word < 65536; word++) {
		unsigned words = command_words(word & 0xff);
		struct cay_vci v = vci_of(word, 0, words == 8 ? 0 : words * 8);
		bool expected = word < 256 && command_in_table(word);
		if (vci_valid(&v) != expected)
			fail_msg("command word 0x%04x", word);
	}
}

static void vci_lengths(void **state)
{
	(void)state;
	for (unsigned c = 0x10; c < 0x40; c++) {
		if (!command_in_table(c))
			continue;
		for (unsigned bytes = 0; bytes < 65536; bytes++) {
			struct cay_vci v = vci_of(c, 0, bytes);
			bool expected = (bytes + 7) / 8 == command_words(c);
			if (vci_valid(&v) != expected)
				fail_msg("0x%02x with %u bytes", c, bytes);
		}
	}
}

/* Tags, offsets and other fields do not affect validity. */
static void vci_flags(void **state)
{
	(void)state;
	for (unsigned flags = 0; flags < 256; flags++) {
		struct cay_vci v = vci_of(CAY_SEND, flags, 0);
		assert_int_equal(vci_valid(&v), flags < 32);
		v.word[0] |= 0xffffffffull << 32 | 0xff << 16;
		v.word[1] = v.word[2] = v.word[3] = v.word[4] = UINT64_MAX;
		assert_int_equal(vci_valid(&v), flags < 32);
	}
}

/* ---- NQE ---- */

static bool expected_valid(unsigned word, unsigned bytes)
{
	unsigned command = word & 0xff;
	if (word >> 8 & 7 || word >> 11 >= 26)
		return false;
	if (command == 0x00)
		return bytes == 1 || bytes == 2;
	if (command == 0xf0) /* inline data of a FAST_GET */
		return bytes <= 24;
	if (command == 0xf2)
		return bytes <= 40;
	return command >= 0xf0 && command <= 0xf8 && bytes == 0;
}

static void nqe_commands(void **state)
{
	static const unsigned bytes[] = { 0, 1, 2, 24, 25, 40, 41, 65535 };
	(void)state;
	for (unsigned word = 0; word < 65536; word++) {
		for (size_t i = 0; i < ARRAY_COUNT(bytes); i++) {
			struct cay_nqe n = {
				.word[7] = word | (uint64_t)bytes[i] << 16 |
					   0xabcdull << 48
			};
			if (nqe_valid(&n) != expected_valid(word, bytes[i]))
				fail_msg("0x%04x, %u bytes", word, bytes[i]);
		}
	}
}

/* ---- version ---- */

#if CAY_VERSION < CAY_VERSION_NUMBER(0, 2, 0)
#error "CAY_VERSION cannot be compared by the preprocessor"
#endif

static void version_order(void **state)
{
	(void)state;
	assert_int_equal(cay_version(), CAY_VERSION);
	assert_true(CAY_VERSION_NUMBER(0, 2, 0) > CAY_VERSION_NUMBER(0, 1, 9));
	assert_true(
		CAY_VERSION_NUMBER(1, 0, 0) > CAY_VERSION_NUMBER(0, 999, 999));
	assert_true(
		CAY_VERSION_NUMBER(0, 1, 0) > CAY_VERSION_NUMBER(0, 0, 999));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_sizes),
		cmocka_unit_test(w_and_r_fields),
		cmocka_unit_test(errors_have_names),
		cmocka_unit_test(commands_have_names),
		cmocka_unit_test(errnos_have_texts),
		cmocka_unit_test(vci_commands),
		cmocka_unit_test(vci_lengths),
		cmocka_unit_test(vci_flags),
		cmocka_unit_test(nqe_commands),
		cmocka_unit_test(version_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
