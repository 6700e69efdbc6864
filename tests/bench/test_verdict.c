/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rounds are kept: each rule exactly at its border and just beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/bits.h"
#include "bench/verdict.h"

/* Factors that are exact in binary, so that a border is one number. */
static const struct rules rules = {
	.agree = 1.125, .alike = 1.25, .unbroken = true, .enough = 2
};

static double above(double value)
{
	return nextafter(value, INFINITY);
}

static double below(double value)
{
	return nextafter(value, 0);
}

static struct round round_of(double a, double b, double c)
{
	return (struct round){ .yardstick_ns = { a, b, c }, .yardsticks = 3 };
}

static enum verdict verdict_on(double a, double b, double c)
{
	struct round r = round_of(a, b, c);

	return verdict_of(&r, &rules);
}

/* ---- one round ---- */

static void yardsticks_agree(void **state)
{
	(void)state;
	assert_int_equal(verdict_on(80, 80, 80), VERDICT_KEPT);
	assert_int_equal(verdict_on(80, 90, 80), VERDICT_KEPT);
	assert_int_equal(verdict_on(80, above(90), 80), VERDICT_DRIFTED);
}

/* Largest over smallest, wherever in the round they were. */
static void yardsticks_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(verdict_on(90, 85, 80), VERDICT_KEPT);
	assert_int_equal(verdict_on(above(90), 85, 80), VERDICT_DRIFTED);
	assert_int_equal(verdict_on(85, 80, above(90)), VERDICT_DRIFTED);
	/* Each near its neighbour, but not the last near the first. */
	assert_int_equal(verdict_on(80, 88, 96), VERDICT_DRIFTED);
}

static void other_yardsticks_do_not_count(void **state)
{
	struct round r = round_of(80, 80, 500);

	(void)state;
	r.yardsticks = 2;
	assert_int_equal(verdict_of(&r, &rules), VERDICT_KEPT);
	assert_true(round_yardstick_ns(&r) == 80);
}

static void switches(void **state)
{
	struct round r = round_of(80, 80, 80), drifted = round_of(80, 200, 80);
	struct rules lenient = rules;

	(void)state;
	r.switches = drifted.switches = 1;
	lenient.unbroken = false;
	assert_int_equal(verdict_of(&r, &rules), VERDICT_SWITCHED);
	assert_int_equal(verdict_of(&drifted, &rules), VERDICT_SWITCHED);
	assert_int_equal(verdict_of(&r, &lenient), VERDICT_KEPT);
	assert_int_equal(verdict_of(&drifted, &lenient), VERDICT_DRIFTED);
}

static void mean_yardstick(void **state)
{
	struct round r = round_of(80, 90, 100), empty = { .yardsticks = 0 };

	(void)state;
	assert_true(round_yardstick_ns(&r) == 90);
	assert_true(round_yardstick_ns(&empty) == 0);
}

/* ---- all rounds ---- */

static void settle_borders(void **state)
{
	struct round r[] = {
		round_of(100, 100, 100),
		round_of(100, 100, 100),
		round_of(100, 100, 100),
		round_of(125, 125, 125),
		round_of(80, 80, 80),
		round_of(126, 126, 126),
		round_of(79, 79, 79),
	};

	(void)state;
	assert_int_equal(verdict_settle(r, ARRAY_COUNT(r), &rules), 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(r[i].verdict, VERDICT_KEPT);
	assert_int_equal(r[5].verdict, VERDICT_ELSEWHERE);
	assert_int_equal(r[6].verdict, VERDICT_ELSEWHERE);
}

static void settle_hair_beyond(void **state)
{
	struct round r[] = {
		{ .yardstick_ns = { 100 }, .yardsticks = 1 },
		{ .yardstick_ns = { 100 }, .yardsticks = 1 },
		{ .yardstick_ns = { 100 }, .yardsticks = 1 },
		{ .yardstick_ns = { above(125) }, .yardsticks = 1 },
		{ .yardstick_ns = { below(80) }, .yardsticks = 1 },
	};

	(void)state;
	assert_int_equal(verdict_settle(r, ARRAY_COUNT(r), &rules), 3);
	assert_int_equal(r[3].verdict, VERDICT_ELSEWHERE);
	assert_int_equal(r[4].verdict, VERDICT_ELSEWHERE);
}

/* Whoever is dropped has no voice in what most rounds are like. */
static void settle_without_the_dropped(void **state)
{
	struct round r[] = {
		round_of(300, 300, 300),
		round_of(300, 300, 300),
		round_of(300, 300, 300),
		round_of(100, 100, 100),
		round_of(101, 101, 101),
	};

	(void)state;
	r[0].verdict = r[1].verdict = VERDICT_SWITCHED;
	r[2].verdict = VERDICT_DRIFTED;
	assert_int_equal(verdict_settle(r, ARRAY_COUNT(r), &rules), 2);
	assert_int_equal(r[0].verdict, VERDICT_SWITCHED);
	assert_int_equal(r[2].verdict, VERDICT_DRIFTED);
	assert_int_equal(r[3].verdict, VERDICT_KEPT);
	assert_int_equal(r[4].verdict, VERDICT_KEPT);
}

static void settle_nothing(void **state)
{
	struct round r = round_of(100, 100, 100);

	(void)state;
	assert_int_equal(verdict_settle(&r, 0, &rules), 0);
	assert_int_equal(r.verdict, VERDICT_KEPT);
	r.verdict = VERDICT_DRIFTED;
	assert_int_equal(verdict_settle(&r, 1, &rules), 0);
}

/* ---- distances, names ---- */

static void distances(void **state)
{
	(void)state;
	assert_int_equal(distance_of(0), DISTANCE_NEAR);
	assert_int_equal(distance_of(below(60)), DISTANCE_NEAR);
	assert_int_equal(distance_of(60), DISTANCE_MIDDLE);
	assert_int_equal(distance_of(below(220)), DISTANCE_MIDDLE);
	assert_int_equal(distance_of(220), DISTANCE_FAR);
	assert_int_equal(distance_of(1e9), DISTANCE_FAR);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(verdict_name(VERDICT_KEPT), "kept");
	assert_string_equal(verdict_name(VERDICT_DRIFTED), "drifted");
	assert_string_equal(verdict_name(VERDICT_SWITCHED), "switched");
	assert_string_equal(verdict_name(VERDICT_ELSEWHERE), "elsewhere");
	assert_string_equal(verdict_name(VERDICT_COUNT), "unknown");
	assert_string_equal(verdict_text(VERDICT_COUNT), "unknown");
	assert_string_equal(distance_name(DISTANCE_NEAR), "near");
	assert_string_equal(distance_name(DISTANCE_MIDDLE), "middle");
	assert_string_equal(distance_name(DISTANCE_FAR), "far");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yardsticks_agree),
		cmocka_unit_test(yardsticks_in_any_order),
		cmocka_unit_test(other_yardsticks_do_not_count),
		cmocka_unit_test(switches),
		cmocka_unit_test(mean_yardstick),
		cmocka_unit_test(settle_borders),
		cmocka_unit_test(settle_hair_beyond),
		cmocka_unit_test(settle_without_the_dropped),
		cmocka_unit_test(settle_nothing),
		cmocka_unit_test(distances),
		cmocka_unit_test(names),
	};
	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
