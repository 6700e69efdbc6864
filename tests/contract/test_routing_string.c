/* SPDX-License-Identifier: BSD-2-Clause */
/* Routing strings: which are well formed, steps, the string of a response. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "contract/routing_string.h"

/* Two hops low and one high through port 1, one low through 4; and back. */
static const struct routing_string there_and_back = {
	.tag = 0xbeef,
	.count = 6,
	.phit = { 1 | 2 << 4 | 1 << 10, 4 | 1 << 4, 15 | 1 << 4 | 0x3f << 5,
		5 | 1 << 4, 0 | 1 << 4 | 2 << 10, 15 },
};

static void phits_have_the_bits_of_the_manual(void **state)
{
	(void)state;
	assert_int_equal(phit_make(5, 0x3f, 0), 0x03f5);
	assert_int_equal(phit_make(0, 0, 0x3f), 0xfc00);
	assert_int_equal(phit_port(0xfffa), 0xa);
	assert_int_equal(phit_low(0x0150), 0x15);
	assert_int_equal(phit_high(0x5400), 0x15);
	assert_int_equal(STRING_RETURN, 0x0010);
	assert_int_equal(STRING_FLAGS, 0x07e0);
}

static void well_formed_strings_are_accepted(void **state)
{
	static const uint16_t hosts[] = { 6, 8, 9, 10, 11, 15, 15 | 0x3f << 5 };
	struct routing_string s = { .count = 1 };
	(void)state;
	assert_int_equal(routing_string_check(&there_and_back), 0);
	for (unsigned i = 0; i < ARRAY_COUNT(hosts); i++) {
		s.phit[0] = hosts[i];
		assert_int_equal(routing_string_check(&s), 0);
	}
	s.count = STRING_PHITS_MAX;
	for (unsigned i = 0; i + 1 < STRING_PHITS_MAX; i++)
		s.phit[i] = phit_make(i % 6, 1, 0);
	s.phit[STRING_PHITS_MAX - 1] = 15;
	assert_int_equal(routing_string_check(&s), 0);
}

static void wrong_strings_are_refused(void **state)
{
	static const struct routing_string wrong[] = {
		{ .count = 0 },
		{ .count = 1, .phit = { 1 | 1 << 4 } },
		{ .count = 2, .phit = { 0, 15 } },
		{ .count = 1, .phit = { STRING_PORT_DEBUG } },
		{ .count = 1, .phit = { 12 } },
		{ .count = 2, .phit = { 15, 15 } },
		{ .count = 1, .phit = { 15 | 1 << 4 } },
		{ .count = 2, .phit = { 15 | 1 << 4, 15 | 1 << 4 } },
		{ .count = 3, .phit = { 15 | 1 << 4, 15 | 1 << 4, 15 } },
		/* Reserved bits; flags on the way back. */
		{ .count = 1, .phit = { 15 | 1 << 11 } },
		{ .count = 1, .phit = { 15 | 1 << 15 } },
		{ .count = 2, .phit = { 15 | 1 << 4, 15 | 1 << 5 } },
		{ .count = 2, .phit = { 15 | 1 << 4, 15 | 1 << 10 } },
		{ .count = 2, .phit = { 15 | 1 << 4, 15 | 1 << 11 } },
		{ .count = STRING_PHITS_MAX + 1, .phit = { 15 } },
	};
	(void)state;
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++)
		assert_int_equal(routing_string_check(&wrong[i]), -EINVAL);
}

static void assert_steps(const struct routing_string *s,
	struct string_cursor *c, const char *expected)
{
	for (; *expected; expected += 2) {
		enum channel_group group;
		unsigned port = routing_string_step(s, c, &group);
		assert_int_equal(
			port, expected[0] == 'h' ? 15 : expected[0] - '0');
		assert_int_equal(
			group, expected[1] == '+' ? GROUP_HIGH : GROUP_LOW);
	}
}

static void routers_consume_low_hops_first(void **state)
{
	struct string_cursor c;
	(void)state;
	routing_string_start(&there_and_back, &c);
	assert_steps(&there_and_back, &c, "1-1-1+4-h-h-");
	assert_int_equal(routing_string_host(&there_and_back), 2);
	assert_true(routing_string_return(&there_and_back, &c));
	assert_steps(&there_and_back, &c, "5-0-0+0+h-h-");
}

static void a_response_takes_the_return_path(void **state)
{
	struct routing_string s = there_and_back, back;
	struct string_cursor c;
	(void)state;
	assert_int_equal(routing_string_reverse(&s, 0x1234, &back), 0);
	assert_int_equal(routing_string_check(&back), 0);
	assert_int_equal(back.tag, 0x1234);
	assert_int_equal(back.count, 3);
	routing_string_start(&back, &c);
	assert_steps(&back, &c, "5-0-0+0+h-");
	/* It has no return path of its own. */
	assert_false(routing_string_return(&back, &c));
	assert_int_equal(
		routing_string_reverse(&back, 0, &back), -EHOSTUNREACH);
	/* In place. */
	assert_int_equal(routing_string_reverse(&s, 0x1234, &s), 0);
	assert_int_equal(s.count, back.count);
	assert_memory_equal(s.phit, back.phit, 2 * back.count);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(phits_have_the_bits_of_the_manual),
		cmocka_unit_test(well_formed_strings_are_accepted),
		cmocka_unit_test(wrong_strings_are_refused),
		cmocka_unit_test(routers_consume_low_hops_first),
		cmocka_unit_test(a_response_takes_the_return_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
