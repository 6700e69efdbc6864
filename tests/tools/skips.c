/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that passes and skips one of its cases: see test_run_tests.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void runs(void **state)
{
	assert_null(*state);
}

static void is_skipped(void **state)
{
	(void)state;
	skip();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs),
		cmocka_unit_test(is_skipped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
