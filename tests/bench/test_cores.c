/* SPDX-License-Identifier: BSD-2-Clause */
/* Selecting two cores, and the load of other processes on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/clock.h"
#include "bench/harness/cores.h"
#include "bench/harness/cpu_load.h"

static cpu_set_t cores_of(int a, int b, int c)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(a, &set);
	CPU_SET(b, &set);
	CPU_SET(c, &set);
	return set;
}

static void expect_pick(const cpu_set_t *allowed, int request_a, int request_b,
	int chosen_a, int chosen_b)
{
	const int request[2] = { request_a, request_b };
	int chosen[2] = { -7, -7 };

	assert_int_equal(cores_pick(allowed, request, chosen), 0);
	assert_int_equal(chosen[0], chosen_a);
	assert_int_equal(chosen[1], chosen_b);
}

static void expect_refusal(
	const cpu_set_t *allowed, int request_a, int request_b, int error)
{
	const int request[2] = { request_a, request_b };
	int chosen[2] = { -7, -7 };

	assert_int_equal(cores_pick(allowed, request, chosen), error);
	assert_int_equal(chosen[0], -7);
	assert_int_equal(chosen[1], -7);
}

static void first_two(void **state)
{
	cpu_set_t low = cores_of(0, 1, 2), high = cores_of(3, 9, 700),
		  last = cores_of(5, CPU_SETSIZE - 1, CPU_SETSIZE - 1);

	(void)state;
	expect_pick(&low, -1, -1, 0, 1);
	expect_pick(&high, -1, -1, 3, 9);
	expect_pick(&last, -1, -1, 5, CPU_SETSIZE - 1);
}

static void as_requested(void **state)
{
	cpu_set_t set = cores_of(3, 9, CPU_SETSIZE - 1);

	(void)state;
	expect_pick(&set, 3, 9, 3, 9);
	expect_pick(&set, 9, 3, 9, 3);
	expect_pick(&set, CPU_SETSIZE - 1, 3, CPU_SETSIZE - 1, 3);
}

static void refused(void **state)
{
	cpu_set_t set = cores_of(3, 9, 12);

	(void)state;
	expect_refusal(&set, 3, 3, -EINVAL);
	expect_refusal(&set, 3, 4, -EINVAL);
	expect_refusal(&set, 4, 3, -EINVAL);
	expect_refusal(&set, -1, 3, -EINVAL);
	expect_refusal(&set, 3, -1, -EINVAL);
	expect_refusal(&set, 3, CPU_SETSIZE, -EINVAL);
	expect_refusal(&set, 32767, 3, -EINVAL);
}

/* Checked first: no request can succeed. */
static void too_few(void **state)
{
	cpu_set_t one = cores_of(3, 3, 3), none;

	(void)state;
	CPU_ZERO(&none);
	expect_refusal(&none, -1, -1, -ENODEV);
	expect_refusal(&one, -1, -1, -ENODEV);
	expect_refusal(&one, 3, 9, -ENODEV);
}

/* ---- load ---- */

static double foreign_s(double busy, double ours, double time)
{
	const struct cpu_load before = {
		.busy_ns = 1000 * CLOCK_NS_PER_S,
		.ours_ns = 10 * CLOCK_NS_PER_S,
		.now_ns = 5000 * CLOCK_NS_PER_S,
	};
	const struct cpu_load after = {
		.busy_ns = before.busy_ns + (uint64_t)(busy * 1e9),
		.ours_ns = before.ours_ns + (uint64_t)(ours * 1e9),
		.now_ns = before.now_ns + (uint64_t)(time * 1e9),
	};

	return cpu_load_foreign(&before, &after);
}

static void load_of_others(void **state)
{
	(void)state;
	assert_true(foreign_s(0, 0, 1) == 0);
	assert_true(foreign_s(2, 2, 1) == 0);
	assert_true(foreign_s(1.5, 1, 1) == 0.25);
	assert_true(foreign_s(1, 0, 1) == 0.5);
	assert_true(foreign_s(2, 0, 1) == 1);
}

/* The kernel counts in ticks of milliseconds, so the sums may contradict. */
static void load_of_coarse_accounts(void **state)
{
	(void)state;
	assert_true(foreign_s(1, 1.5, 1) == 0);
	assert_true(foreign_s(2.5, 0, 1) == 1);
	assert_true(foreign_s(0.25, 0, 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_two),
		cmocka_unit_test(as_requested),
		cmocka_unit_test(refused),
		cmocka_unit_test(too_few),
		cmocka_unit_test(load_of_others),
		cmocka_unit_test(load_of_coarse_accounts),
	};
	return cmocka_run_group_tests_name("cores", tests, NULL, NULL);
}
