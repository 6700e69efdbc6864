/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-32C: known answers, and a bitwise calculation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/crc32c.h"

/* The examples of RFC 3720, appendix B.4, and the usual check value. */
static void known_answers(void **state)
{
	unsigned char bytes[32];
	(void)state;
	assert_int_equal(crc32c(0, "", 0), 0);
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	memset(bytes, 0, 32);
	assert_int_equal(crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, 32);
	assert_int_equal(crc32c(0, bytes, 32), 0x62a8ab43);
	for (unsigned i = 0; i < 32; i++)
		bytes[i] = (unsigned char)i;
	assert_int_equal(crc32c(0, bytes, 32), 0x46dd794e);
	for (unsigned i = 0; i < 32; i++)
		bytes[i] = (unsigned char)(31 - i);
	assert_int_equal(crc32c(0, bytes, 32), 0x113fdb5c);
}

static uint32_t bitwise(uint32_t crc, const unsigned char *at, size_t bytes)
{
	crc = ~crc;
	for (; bytes; bytes--) {
		crc ^= *at++;
		for (unsigned i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void equals_the_bitwise_calculation(void **state)
{
	unsigned char bytes[256 + 8];
	uint32_t x = 1;
	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] =
			(unsigned char)((x = x * 1664525 + 1013904223) >> 24);
	for (unsigned start = 0; start < 8; start++)
		for (unsigned n = 0; n <= 256; n++)
			assert_int_equal(crc32c(n, bytes + start, n),
				bitwise(n, bytes + start, n));
}

static void continues_over_parts(void **state)
{
	static const unsigned char text[] = "a packet in three parts";
	uint32_t whole = crc32c(0, text, sizeof(text));
	(void)state;
	for (size_t a = 0; a <= sizeof(text); a++)
		for (size_t b = a; b <= sizeof(text); b++) {
			uint32_t crc = crc32c(0, text, a);
			crc = crc32c(crc, text + a, b - a);
			crc = crc32c(crc, text + b, sizeof(text) - b);
			assert_int_equal(crc, whole);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(equals_the_bitwise_calculation),
		cmocka_unit_test(continues_over_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
