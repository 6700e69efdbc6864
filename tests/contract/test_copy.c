/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy_bytes() copies what memcpy() copies, in its slow case, too: it copies
 * that case from the end, which a source that overlaps its destination shows.
 * Copies past the caches copy the same; they begin after slow copies, and end
 * with a fast one.
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

typedef void (*copy_function)(void *, const void *, size_t);

static void bytes_and_no_others(copy_function copy)
{
	static const size_t lengths[] = { 0, 1, 63, 64, 1024, 1025, 1087, 1088,
		4096, 8191, BYTES };
	unsigned char *from = malloc(2 * BYTES), *to = malloc(2 * BYTES);
	for (size_t i = 0; i < 2 * BYTES; i++)
		from[i] = (unsigned char)(i * 131 + i / 251);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t shift = 0; shift < 72; shift++) {
			size_t n = lengths[i],
			       at = 4096 - ((uintptr_t)to & 4095);
			at = (at + ((uintptr_t)from & 4095) + shift) % 4096 +
			     64;
			memset(to, 0xee, 2 * BYTES);
			copy(to + at, from + 64, n);
			assert_memory_equal(to + at, from + 64, n);
			assert_int_equal(to[at - 1], 0xee);
			assert_int_equal(to[at + n], 0xee);
		}
	free(from);
	free(to);
}

static void all_bytes_and_no_others(void **state)
{
	(void)state;
	bytes_and_no_others(copy_bytes);
	bytes_and_no_others(copy_past_caches);
}

/* Three slow copies in a row are needed, and one that is not ends it. */
static void slow_copies_change_the_way(void **state)
{
	struct copy_pace pace = { 0 };
	const size_t bytes = 64u << 10;
	const uint64_t slow = 64 * COPY_SLOW_NS_PER_KIB + 1;
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		assert_false(copy_pace_is_slow(&pace));
		copy_pace_learn(&pace, i % 3 ? slow : slow - 1, bytes);
	}
	for (unsigned i = 0; i < COPY_SLOW_MIN; i++)
		copy_pace_learn(&pace, slow, bytes);
	unsigned usual = 0;
	for (unsigned i = 0; i < 1000; i++)
		if (!copy_pace_is_slow(&pace)) {
			usual++;
			copy_pace_learn(&pace, slow, bytes);
		}
	assert_in_range(usual, 1000 / COPY_TURNS, 1000 / COPY_TURNS + 1);
	while (copy_pace_is_slow(&pace))
		continue;
	copy_pace_learn(&pace, slow - 1, bytes);
	assert_false(copy_pace_is_slow(&pace));
}

/* Then no clock is read. */
static void many_fast_copies_end_the_timing(void **state)
{
	struct copy_pace pace = { 0 };
	const size_t bytes = 64u << 10;
	(void)state;
	for (unsigned i = 0; i < COPY_FAST_MAX; i++) {
		assert_false(copy_pace_is_known(&pace));
		copy_pace_learn(&pace, 0, bytes);
	}
	assert_true(copy_pace_is_known(&pace));
	pace = (struct copy_pace){ 0 };
	for (unsigned i = 0; i < 4 * COPY_FAST_MAX; i++) {
		copy_pace_learn(&pace, i % 60 ? 0 : UINT64_MAX, bytes);
		assert_false(copy_pace_is_known(&pace));
	}
}

static void to_a_reader(void **state)
{
	static unsigned char from[64u << 10], to[64u << 10];
	struct copy_pace pace = { .slow = COPY_SLOW_MIN };
	(void)state;
	for (unsigned i = 0; i < 4 * COPY_TURNS; i++) {
		memset(from, (int)i + 1, sizeof(from));
		copy_to_reader(&pace, to, from, sizeof(to));
		assert_memory_equal(to, from, sizeof(to));
	}
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
		cmocka_unit_test(slow_copies_change_the_way),
		cmocka_unit_test(many_fast_copies_end_the_timing),
		cmocka_unit_test(to_a_reader),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
