/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms against the same samples, sorted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/stats/histogram.h"
#include "network/traffic/random.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SAMPLES	 20000

static struct histogram h, other, all;
static uint64_t sample[SAMPLES];

static int clear(void **state)
{
	(void)state;
	/* The previous contents do not matter. */
	memset(&h, 0xff, sizeof(h));
	histogram_clear(&h);
	histogram_clear(&other);
	histogram_clear(&all);
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Values of up to `bits` bits, each width equally often. */
static void draw_samples(struct random *r, unsigned bits)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		unsigned drop = 64 - random_below(r, bits + 1);
		sample[i] = drop == 64 ? 0 : random_next(r) >> drop;
		histogram_add(&h, sample[i]);
	}
	qsort(sample, SAMPLES, sizeof(sample[0]), compare);
}

static void an_empty_histogram_has_no_percentiles(void **state)
{
	(void)state;
	assert_int_equal(h.count, 0);
	assert_int_equal(h.most, 0);
	assert_int_equal(histogram_percentile(&h, 0), 0);
	assert_int_equal(histogram_percentile(&h, 0.5), 0);
	assert_int_equal(histogram_percentile(&h, 1), 0);
	assert_true(histogram_mean(&h) == 0);
}

static void sums_are_exact(void **state)
{
	(void)state;
	histogram_add(&h, 7);
	assert_int_equal(h.least, 7);
	assert_int_equal(h.most, 7);
	histogram_add(&h, 3);
	histogram_add(&h, 5000);
	histogram_add(&h, 0);
	assert_int_equal(h.count, 4);
	assert_int_equal(h.sum, 5010);
	assert_int_equal(h.least, 0);
	assert_int_equal(h.most, 5000);
	assert_true(histogram_mean(&h) == 1252.5);
}

static void ranks_round_up(void **state)
{
	(void)state;
	for (uint64_t v = 1; v <= 100; v++)
		histogram_add(&h, v);
	assert_int_equal(histogram_percentile(&h, 0), 1);
	assert_int_equal(histogram_percentile(&h, -1), 1);
	assert_int_equal(histogram_percentile(&h, NAN), 1);
	assert_int_equal(histogram_percentile(&h, 1e-300), 1);
	assert_int_equal(histogram_percentile(&h, 0.0101), 2);
	assert_int_equal(histogram_percentile(&h, 0.5), 50);
	assert_int_equal(histogram_percentile(&h, 0.501), 51);
	assert_int_equal(histogram_percentile(&h, 0.999), 100);
	assert_int_equal(histogram_percentile(&h, 1), 100);
	assert_int_equal(histogram_percentile(&h, 2), 100);
	/* As in decimal, in spite of binary rounding. */
	for (unsigned percent = 1; percent <= 100; percent++)
		assert_int_equal(
			histogram_percentile(&h, percent / 100.0), percent);
	assert_int_equal(histogram_percentile(&h, 0.07), 7);
	assert_int_equal(histogram_percentile(&h, 0.55), 55);
}

/* The smallest sample that a share of all do not exceed. */
static uint64_t exact(unsigned per_mille)
{
	uint64_t rank = ((uint64_t)SAMPLES * per_mille + 999) / 1000;
	return sample[rank ? rank - 1 : 0];
}

static void percentiles_are_close(void **state)
{
	static const unsigned bits[] = { 4, 10, 11, 20, 41 };
	struct random r = random_stream(11, 0);
	(void)state;
	for (unsigned i = 0; i < COUNT(bits); i++) {
		histogram_clear(&h);
		draw_samples(&r, bits[i]);
		assert_int_equal(h.least, sample[0]);
		assert_int_equal(h.most, sample[SAMPLES - 1]);
		for (unsigned p = 0; p <= 1000; p++) {
			uint64_t got = histogram_percentile(&h, p / 1000.0);
			uint64_t wanted = exact(p);
			assert_true(got >= wanted && got <= h.most);
			assert_true(got - wanted <= wanted / 512);
			assert_true(wanted >= 1024 || got == wanted);
		}
	}
}

/* The value that represents the bucket of this one. */
static uint64_t shown_as(uint64_t value)
{
	histogram_clear(&h);
	histogram_add(&h, value);
	histogram_add(&h, UINT64_MAX);
	return histogram_percentile(&h, 0.5);
}

static void bucket_bounds_are_exact(void **state)
{
	(void)state;
	assert_int_equal(shown_as(0), 0);
	assert_int_equal(shown_as(1023), 1023);
	assert_int_equal(shown_as(1024), 1025);
	assert_int_equal(shown_as(1025), 1025);
	assert_int_equal(shown_as(1026), 1027);
	assert_int_equal(shown_as(2047), 2047);
	assert_int_equal(shown_as(2048), 2051);
	for (unsigned bit = 11; bit < 42; bit++) {
		uint64_t value = 1ull << bit, width = value / 512;
		assert_int_equal(shown_as(value - 1), value - 1);
		assert_int_equal(shown_as(value), value + width - 1);
		assert_int_equal(
			shown_as(value + width - 1), value + width - 1);
		assert_int_equal(
			shown_as(value + width), value + 2 * width - 1);
	}
}

static void huge_values_use_the_last_bucket(void **state)
{
	(void)state;
	/* The largest value is exact, wherever its bucket ends. */
	histogram_add(&h, 1u << 20);
	assert_int_equal(histogram_percentile(&h, 0.5), 1u << 20);
	histogram_add(&h, 1ull << 42);
	histogram_add(&h, 1ull << 60);
	assert_int_equal(h.bucket[HISTOGRAM_BUCKETS - 1], 2);
	assert_int_equal(histogram_percentile(&h, 0.9), 1ull << 60);
	histogram_add(&h, UINT64_MAX);
	assert_int_equal(histogram_percentile(&h, 1), UINT64_MAX);
	assert_int_equal(histogram_percentile(&h, 0.2), (1u << 20) + 2047);
}

static void assert_same(const struct histogram *a, const struct histogram *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->sum, b->sum);
	assert_int_equal(a->least, b->least);
	assert_int_equal(a->most, b->most);
	assert_memory_equal(a->bucket, b->bucket, sizeof(a->bucket));
}

static void merging_is_exact(void **state)
{
	struct random r = random_stream(11, 1);
	(void)state;
	for (unsigned i = 0; i < SAMPLES; i++) {
		/* Each value goes to one of the two. */
		bool low = random_next(&r) & 1;
		uint64_t value = low ? random_below(&r, 2000)
				     : 1500 + random_below(&r, 100000);
		histogram_add(low ? &h : &other, value);
		histogram_add(&all, value);
	}
	histogram_merge(&h, &other);
	assert_same(&h, &all);
}

static void merging_an_empty_histogram_changes_nothing(void **state)
{
	(void)state;
	histogram_merge(&h, &other);
	assert_same(&h, &all);
	histogram_add(&h, 90);
	histogram_add(&h, 3000);
	histogram_add(&all, 90);
	histogram_add(&all, 3000);
	histogram_merge(&h, &other);
	assert_same(&h, &all);
	histogram_merge(&other, &h);
	assert_same(&other, &all);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			an_empty_histogram_has_no_percentiles, clear),
		cmocka_unit_test_setup(sums_are_exact, clear),
		cmocka_unit_test_setup(ranks_round_up, clear),
		cmocka_unit_test_setup(percentiles_are_close, clear),
		cmocka_unit_test_setup(bucket_bounds_are_exact, clear),
		cmocka_unit_test_setup(huge_values_use_the_last_bucket, clear),
		cmocka_unit_test_setup(merging_is_exact, clear),
		cmocka_unit_test_setup(
			merging_an_empty_histogram_changes_nothing, clear),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
