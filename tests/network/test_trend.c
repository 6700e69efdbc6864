/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a study knows by: means with their error, and whether something grows.
 */
#include <math.h>

#include "network/stats/batch.h"
#include "network/stats/trend.h"
#include "network/traffic/random.h"

#include "networks.h"

/* ---- means ---- */

static void means_of_batches_are_known_well(void **state)
{
	struct batches b = { 0 };
	(void)state;
	assert_true(batches_mean(&b) == 0);
	assert_true(isinf(batches_error(&b)));
	batches_add(&b, 10, 100);
	assert_true(isinf(batches_error(&b)));
	for (unsigned i = 0; i < 9; i++)
		batches_add(&b, 10, 100);
	assert_true(batches_mean(&b) == 10);
	assert_true(batches_error(&b) == 0);
	assert_true(batches_precision(&b) == 0);
	/* Ten of 10 and ten of 20: 2.093 times 5.13 by the root of 20. */
	b = (struct batches){ 0 };
	for (unsigned i = 0; i < 20; i++)
		batches_add(&b, 10, i % 2 ? 200 : 100);
	assert_true(batches_mean(&b) == 15);
	assert_true(near_to(batches_error(&b), 2.093 * 5.13 / sqrt(20), 0.01));
	assert_true(near_to(batches_precision(&b), 0.16, 0.01));
}

/* Up for some time, and down for as long: these are not twenty means. */
static void batches_that_follow_each_other_say_less(void **state)
{
	struct batches apart = { 0 }, alike = { 0 };
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		batches_add(&apart, 10, i % 2 ? 200 : 100);
		batches_add(&alike, 10, i / 5 % 2 ? 200 : 100);
	}
	assert_true(batches_mean(&apart) == batches_mean(&alike));
	assert_true(batches_error(&alike) > 1.8 * batches_error(&apart));
	assert_true(isfinite(batches_error(&alike)));
}

/* Throws of dice: 2.9 by the root of all of them, times 1.96. */
static void more_batches_are_longer_ones(void **state)
{
	struct random r = { 11 };
	struct batches b = { 0 };
	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t sum = 0;
		for (unsigned k = 0; k < 4; k++)
			sum += 1 + random_below(&r, 10);
		batches_add(&b, 4, sum);
		assert_true(b.count < BATCHES_MAX);
	}
	assert_true(b.count >= BATCHES_MAX / 2);
	assert_true(near_to(batches_mean(&b), 5.5, 0.01));
	assert_true(near_to(batches_error(&b), 1.96 * 2.87 / sqrt(40000), 0.5));
}

/* ---- growth ---- */

/* What is there after so many packets; as if it were random by a seed. */
typedef double there(double sent);

static double there_linear(double sent)
{
	return 0.2 * sent;
}

static double there_slowly(double sent)
{
	return 500 + 0.02 * sent;
}

static double there_root(double sent)
{
	return 20 * sqrt(sent);
}

static double there_steady(double sent)
{
	return 5000 * (1 - exp(-sent / 5000));
}

/* After how many points it says that it grows; 0: never. */
static unsigned grows_after(there *is, unsigned points, uint64_t seed)
{
	struct random r = { seed };
	struct trend t = { 0 };
	for (unsigned i = 0; i < points; i++) {
		double sent = 500.0 * i, noise = 60 * random_real(&r) - 30;
		double busy = fmax(is(sent) + noise, 0);
		trend_add(&t, (uint64_t)sent, (uint64_t)busy);
		if (trend_grows(&t))
			return i;
	}
	return 0;
}

static void growth_is_known_from_filling(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		unsigned soon = grows_after(there_linear, 1000, seed);
		unsigned later = grows_after(there_slowly, 5000, seed);
		assert_true(soon > 0 && soon < 100);
		assert_true(later > soon && later < 2000);
		assert_int_equal(grows_after(there_root, 5000, seed), 0);
		assert_int_equal(grows_after(there_steady, 5000, seed), 0);
	}
}

static bool rises(there *is, unsigned points)
{
	struct trend t = { 0 };
	for (unsigned i = 0; i < points; i++)
		trend_add(&t, 500 * i, (uint64_t)is(500.0 * i));
	return trend_rises(&t);
}

static void what_rises_need_not_grow(void **state)
{
	(void)state;
	for (unsigned points = 32; points < 2000; points += 100) {
		assert_true(rises(there_linear, points));
		assert_true(rises(there_root, points));
		assert_false(rises(there_steady, points + 100));
	}
	assert_false(rises(there_linear, 31));
	assert_false(rises(there_linear, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means_of_batches_are_known_well),
		cmocka_unit_test(batches_that_follow_each_other_say_less),
		cmocka_unit_test(more_batches_are_longer_ones),
		cmocka_unit_test(growth_is_known_from_filling),
		cmocka_unit_test(what_rises_need_not_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
