/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy_bytes() copies what memcpy() copies, in its slow case, too: it copies
 * that case from the end, which a source that overlaps its destination shows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/copy.h"

#define BYTES (3u * 4096)

static void the_slow_case(void **state)
{
	static unsigned char memory[2 * 4096];
	(void)state;
	for (unsigned ahead = 0; ahead < 4096; ahead++)
		assert_int_equal(copy_is_slow(memory + 4096 + ahead, memory),
			ahead >= 1 && ahead <= 31);
	assert_true(copy_is_slow(memory + 16, memory));
	assert_false(copy_is_slow(memory, memory + 16));
	/* Destinations at a page, and where malloc() places large blocks. */
	assert_false(copy_is_slow(memory, memory + 4096 + COPY_SOURCE_AT));
	assert_false(copy_is_slow(memory + 16, memory + 4096 + COPY_SOURCE_AT));
}

static void all_bytes_and_no_others(void **state)
{
	static const size_t lengths[] = { 0, 1, 63, 64, 1024, 1025, 1087, 1088,
		4096, 8191, BYTES };
	unsigned char *from = malloc(2 * BYTES), *to = malloc(2 * BYTES);
	(void)state;
	for (size_t i = 0; i < 2 * BYTES; i++)
		from[i] = (unsigned char)(i * 131 + i / 251);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t shift = 0; shift < 72; shift++) {
			size_t n = lengths[i],
			       at = 4096 - ((uintptr_t)to & 4095);
			at = (at + ((uintptr_t)from & 4095) + shift) % 4096 +
			     64;
			memset(to, 0xee, 2 * BYTES);
			copy_bytes(to + at, from + 64, n);
			assert_memory_equal(to + at, from + 64, n);
			assert_int_equal(to[at - 1], 0xee);
			assert_int_equal(to[at + n], 0xee);
		}
	free(from);
	free(to);
}

/* The slow case of memcpy() copies forwards, and would repeat the start. */
static void from_the_end(void **state)
{
	static _Alignas(4096) unsigned char memory[BYTES + 16];
	unsigned char expected[BYTES];
	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		expected[i] = memory[i] = (unsigned char)(i / 16);
	copy_bytes(memory + 16, memory, BYTES);
	assert_memory_equal(memory + 16, expected, BYTES);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slow_case),
		cmocka_unit_test(all_bytes_and_no_others),
		cmocka_unit_test(from_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
