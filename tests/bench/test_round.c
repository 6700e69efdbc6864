/* SPDX-License-Identifier: BSD-2-Clause */
/* Outlier rejection: each rule exactly at its limit and just beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/bits.h"
#include "bench/harness/round.h"

/* Factors that are exact in binary, so that limits are exact. */
static const struct round_rules rules = { .drift_max = 1.125,
	.outlier_factor = 1.25,
	.reject_preempted = true,
	.rounds_min = 2 };

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
	return (struct round){ .reference_ns = { a, b, c }, .references = 3 };
}

static enum round_status status_on(double a, double b, double c)
{
	struct round r = round_of(a, b, c);

	return round_status_of(&r, &rules);
}

/* ---- one round ---- */

static void references_agree(void **state)
{
	(void)state;
	assert_int_equal(status_on(80, 80, 80), ROUND_KEPT);
	assert_int_equal(status_on(80, 90, 80), ROUND_KEPT);
	assert_int_equal(status_on(80, above(90), 80), ROUND_DRIFTED);
}

/* Largest over smallest, wherever in the round they were. */
static void references_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(status_on(90, 85, 80), ROUND_KEPT);
	assert_int_equal(status_on(above(90), 85, 80), ROUND_DRIFTED);
	assert_int_equal(status_on(85, 80, above(90)), ROUND_DRIFTED);
	/* Neighbours agree, but not the first and the last. */
	assert_int_equal(status_on(80, 88, 96), ROUND_DRIFTED);
}

static void unused_references(void **state)
{
	struct round r = round_of(80, 80, 500);

	(void)state;
	r.references = 2;
	assert_int_equal(round_status_of(&r, &rules), ROUND_KEPT);
	assert_true(round_reference_ns(&r) == 80);
}

static void preemptions(void **state)
{
	struct round r = round_of(80, 80, 80), drifted = round_of(80, 200, 80);
	struct round_rules lenient = rules;

	(void)state;
	r.preemptions = drifted.preemptions = 1;
	lenient.reject_preempted = false;
	assert_int_equal(round_status_of(&r, &rules), ROUND_PREEMPTED);
	assert_int_equal(round_status_of(&drifted, &rules), ROUND_PREEMPTED);
	assert_int_equal(round_status_of(&r, &lenient), ROUND_KEPT);
	assert_int_equal(round_status_of(&drifted, &lenient), ROUND_DRIFTED);
}

static void mean_reference(void **state)
{
	struct round r = round_of(80, 90, 100), empty = { .references = 0 };

	(void)state;
	assert_true(round_reference_ns(&r) == 90);
	assert_true(round_reference_ns(&empty) == 0);
}

/* ---- all rounds ---- */

static void reject_at_limits(void **state)
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
	assert_int_equal(rounds_reject_outliers(r, ARRAY_COUNT(r), &rules), 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(r[i].status, ROUND_KEPT);
	assert_int_equal(r[5].status, ROUND_OUTLIER);
	assert_int_equal(r[6].status, ROUND_OUTLIER);
}

static void reject_beyond_limits(void **state)
{
	struct round r[] = {
		{ .reference_ns = { 100 }, .references = 1 },
		{ .reference_ns = { 100 }, .references = 1 },
		{ .reference_ns = { 100 }, .references = 1 },
		{ .reference_ns = { above(125) }, .references = 1 },
		{ .reference_ns = { below(80) }, .references = 1 },
	};

	(void)state;
	assert_int_equal(rounds_reject_outliers(r, ARRAY_COUNT(r), &rules), 3);
	assert_int_equal(r[3].status, ROUND_OUTLIER);
	assert_int_equal(r[4].status, ROUND_OUTLIER);
}

/* Dropped rounds do not count for the median. */
static void reject_without_dropped(void **state)
{
	struct round r[] = {
		round_of(300, 300, 300),
		round_of(300, 300, 300),
		round_of(300, 300, 300),
		round_of(100, 100, 100),
		round_of(101, 101, 101),
	};

	(void)state;
	r[0].status = r[1].status = ROUND_PREEMPTED;
	r[2].status = ROUND_DRIFTED;
	assert_int_equal(rounds_reject_outliers(r, ARRAY_COUNT(r), &rules), 2);
	assert_int_equal(r[0].status, ROUND_PREEMPTED);
	assert_int_equal(r[2].status, ROUND_DRIFTED);
	assert_int_equal(r[3].status, ROUND_KEPT);
	assert_int_equal(r[4].status, ROUND_KEPT);
}

static void reject_nothing(void **state)
{
	struct round r = round_of(100, 100, 100);

	(void)state;
	assert_int_equal(rounds_reject_outliers(&r, 0, &rules), 0);
	assert_int_equal(r.status, ROUND_KEPT);
	r.status = ROUND_DRIFTED;
	assert_int_equal(rounds_reject_outliers(&r, 1, &rules), 0);
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
	assert_string_equal(round_status_name(ROUND_KEPT), "kept");
	assert_string_equal(round_status_name(ROUND_DRIFTED), "drifted");
	assert_string_equal(round_status_name(ROUND_PREEMPTED), "preempted");
	assert_string_equal(round_status_name(ROUND_OUTLIER), "outlier");
	assert_string_equal(round_status_name(ROUND_STATUSES), "unknown");
	assert_string_equal(distance_name(DISTANCE_NEAR), "near");
	assert_string_equal(distance_name(DISTANCE_MIDDLE), "middle");
	assert_string_equal(distance_name(DISTANCE_FAR), "far");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references_agree),
		cmocka_unit_test(references_in_any_order),
		cmocka_unit_test(unused_references),
		cmocka_unit_test(preemptions),
		cmocka_unit_test(mean_reference),
		cmocka_unit_test(reject_at_limits),
		cmocka_unit_test(reject_beyond_limits),
		cmocka_unit_test(reject_without_dropped),
		cmocka_unit_test(reject_nothing),
		cmocka_unit_test(distances),
		cmocka_unit_test(names),
	};
	return cmocka_run_group_tests_name("round", tests, NULL, NULL);
}
