/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics of studies: batch means with their error, and the trend.
 */
#include <math.h>

#include "network/stats/batch.h"
#include "network/stats/trend.h"
#include "network/traffic/random.h"

#include "networks.h"

/* ---- means ---- */

static void batch_means_have_the_expected_error(void **state)
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

/* Strongly correlated values: fewer than twenty independent means. */
static void correlated_batches_widen_the_interval(void **state)
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
static void batches_are_joined(void **state)
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

/* The packets in the network after `sent` packets. */
typedef double backlog_model(double sent);

static double backlog_linear(double sent)
{
	return 0.2 * sent;
}

static double backlog_slow(double sent)
{
	return 500 + 0.02 * sent;
}

static double backlog_root(double sent)
{
	return 20 * sqrt(sent);
}

static double backlog_steady(double sent)
{
	return 5000 * (1 - exp(-sent / 5000));
}

/* The number of points after which growth is detected; 0: never. */
static unsigned grows_after(
	backlog_model *backlog, unsigned points, uint64_t seed)
{
	struct random r = { seed };
	struct trend t = { 0 };
	for (unsigned i = 0; i < points; i++) {
		double sent = 500.0 * i, noise = 60 * random_real(&r) - 30;
		double busy = fmax(backlog(sent) + noise, 0);
		trend_add(&t, (uint64_t)sent, (uint64_t)busy);
		if (trend_grows(&t))
			return i;
	}
	return 0;
}

static void growth_differs_from_filling(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 20; seed++) {
		unsigned soon = grows_after(backlog_linear, 1000, seed);
		unsigned later = grows_after(backlog_slow, 5000, seed);
		assert_true(soon > 0 && soon < 100);
		assert_true(later > soon && later < 2000);
		assert_int_equal(grows_after(backlog_root, 5000, seed), 0);
		assert_int_equal(grows_after(backlog_steady, 5000, seed), 0);
	}
}

static bool rises(backlog_model *backlog, unsigned points)
{
	struct trend t = { 0 };
	for (unsigned i = 0; i < points; i++)
		trend_add(&t, 500 * i, (uint64_t)backlog(500.0 * i));
	return trend_rises(&t);
}

static void a_rise_is_not_always_growth(void **state)
{
	(void)state;
	for (unsigned points = 32; points < 2000; points += 100) {
		assert_true(rises(backlog_linear, points));
		assert_true(rises(backlog_root, points));
		assert_false(rises(backlog_steady, points + 100));
	}
	assert_false(rises(backlog_linear, 31));
	assert_false(rises(backlog_linear, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batch_means_have_the_expected_error),
		cmocka_unit_test(correlated_batches_widen_the_interval),
		cmocka_unit_test(batches_are_joined),
		cmocka_unit_test(growth_differs_from_filling),
		cmocka_unit_test(a_rise_is_not_always_growth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
