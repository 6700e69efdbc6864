/* SPDX-License-Identifier: BSD-2-Clause */
/* Percentiles of few and many samples, and the capacity of the log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/bits.h"
#include "bench/harness/samples.h"

/* Returns 1, 2, ... count, shuffled; to be freed. */
static double *shuffled(size_t count)
{
	double *values = malloc((count + 1) * sizeof(*values));

	assert_non_null(values);
	/* 7919 is prime and divides none of the counts. */
	for (size_t i = 0; i < count; i++)
		values[i] = (double)(i * 7919 % count + 1);
	return values;
}

static void none(void **state)
{
	double nothing = 7;

	(void)state;
	assert_true(samples_percentile(&nothing, 0, 0.5) == 0);
	assert_true(samples_median(&nothing, 0) == 0);
}

static void one(void **state)
{
	double value = 7;

	(void)state;
	assert_true(samples_percentile(&value, 1, 0) == 7);
	assert_true(samples_percentile(&value, 1, 0.5) == 7);
	assert_true(samples_percentile(&value, 1, 0.99) == 7);
	assert_true(samples_percentile(&value, 1, 1) == 7);
}

/* The median of an even number of values is the lower of the middle two. */
static void few(void **state)
{
	double even[] = { 4, 1, 3, 2 }, odd[] = { 30, 10, 20 };

	(void)state;
	assert_true(samples_median(even, ARRAY_COUNT(even)) == 2);
	assert_true(samples_median(odd, ARRAY_COUNT(odd)) == 20);
	/* Sorted now. Fewer than a hundred: p99 is the largest. */
	assert_true(samples_percentile(even, ARRAY_COUNT(even), 0.99) == 4);
	assert_true(samples_percentile(even, ARRAY_COUNT(even), 0.25) == 1);
	assert_true(samples_percentile(even, ARRAY_COUNT(even), 0.26) == 2);
}

static void expect_ranks(size_t count, double p50, double p99, double p999)
{
	double *values = shuffled(count);

	samples_sort(values, count);
	for (size_t i = 0; i < count; i++)
		assert_true(values[i] == (double)(i + 1));
	assert_true(samples_percentile(values, count, 0) == 1);
	assert_true(samples_percentile(values, count, 0.5) == p50);
	assert_true(samples_percentile(values, count, 0.99) == p99);
	assert_true(samples_percentile(values, count, 0.999) == p999);
	assert_true(samples_percentile(values, count, 1) == (double)count);
	free(values);
}

static void many(void **state)
{
	(void)state;
	expect_ranks(99, 50, 99, 99);
	expect_ranks(100, 50, 99, 100);
	expect_ranks(101, 51, 100, 101);
	expect_ranks(1000, 500, 990, 999);
	expect_ranks(1000000, 500000, 990000, 999000);
}

static void equal(void **state)
{
	double values[] = { 5, 5, 5, 5, 5, 5, 9 };

	(void)state;
	assert_true(samples_median(values, ARRAY_COUNT(values)) == 5);
	assert_true(samples_percentile(values, ARRAY_COUNT(values), 1) == 9);
}

static void full_log(void **state)
{
	enum {
		CAPACITY = 3
	};
	struct samples *s =
		calloc(1, sizeof(*s) + (CAPACITY + 1) * sizeof(s->at[0]));

	(void)state;
	assert_non_null(s);
	s->capacity = CAPACITY;
	for (uint32_t i = 0; i < CAPACITY + 2; i++)
		samples_add(s, i, 2, SAMPLE_SINGLE, 10.0 * i);
	assert_int_equal(s->count, CAPACITY);
	assert_int_equal(s->at[2].round, 2);
	assert_int_equal(s->at[2].workload, 2);
	assert_int_equal(s->at[2].kind, SAMPLE_SINGLE);
	assert_true(s->at[2].ns == 20);
	assert_true(s->at[CAPACITY].ns == 0);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none),
		cmocka_unit_test(one),
		cmocka_unit_test(few),
		cmocka_unit_test(many),
		cmocka_unit_test(equal),
		cmocka_unit_test(full_log),
	};
	return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
