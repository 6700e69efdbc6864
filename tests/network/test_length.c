/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packet lengths: parsing, errors, and the distribution of random lengths. The
 * seeds are fixed, and the bounds are five standard deviations wide.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"
#include "network/traffic/length.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DRAWS	 60000

static struct length parse(const char *text)
{
	struct length l;
	assert_int_equal(length_parse(text, &l), 0);
	return l;
}

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9 * (1 + fabs(b)));
}

static void lengths_are_parsed(void **state)
{
	static const struct {
		const char *text;
		unsigned count;
		uint32_t longest;
		double mean;
	} right[] = { { "4", 1, 4, 4 }, { "1-16", 1, 16, 8.5 },
		{ "1:9,16:1", 2, 16, 2.5 }, { "4096", 1, 4096, 4096 },
		{ "16,1", 2, 16, 8.5 }, { "1-3:0.25,8:.75", 2, 8, 6.5 },
		{ "0007:3.", 1, 7, 7 }, { "5-5:2,1-2:1.0", 2, 5, 23 / 6.0 },
		{ "1:123456789012345,2:0.00000000000001", 2, 2, 1 } };
	(void)state;
	for (unsigned i = 0; i < COUNT(right); i++) {
		struct length l = parse(right[i].text);
		assert_int_equal(l.count, right[i].count);
		assert_int_equal(length_longest(&l), right[i].longest);
		assert_near(length_mean(&l), right[i].mean);
		assert_true(l.of[l.count - 1].until == 1);
	}
}

static void wrong_lengths_are_refused(void **state)
{
	static const char *const wrong[] = { "", ",", "4,", ",4", "4,,5", "0",
		"4097", "99999999999999999999999", "4294967297", "-4", "+4",
		" 4", "4 ", "4x", "0x4", "1-", "1-0", "0-4", "16-1", "1-4097",
		"1-2-3", "1:", "1:0", "1:0.0", "1:.", "1:1.2.3", "1:-1",
		"1:nan", "1:inf", "1:1e3", "1:1:1", "1:9,16:0",
		"1:1234567890123456", "1:0.1234567890123456", "1;2", "one" };
	struct length l = parse("3");
	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++)
		assert_int_equal(length_parse(wrong[i], &l), -EINVAL);
	/* The previous contents remain. */
	assert_int_equal(l.count, 1);
	assert_int_equal(length_longest(&l), 3);
}

static void the_number_of_classes_is_bounded(void **state)
{
	char text[2 * LENGTH_CLASSES_MAX + 2] = "";
	struct length l;
	(void)state;
	for (unsigned i = 0; i < LENGTH_CLASSES_MAX; i++)
		strcat(text, i ? ",2" : "2");
	l = parse(text);
	assert_int_equal(l.count, LENGTH_CLASSES_MAX);
	assert_near(length_mean(&l), 2);
	strcat(text, ",2");
	assert_int_equal(length_parse(text, &l), -EINVAL);
}

static void a_single_length_draws_no_random_number(void **state)
{
	struct length l = parse("12:3");
	struct random r = random_stream(5, 0), before = r;
	(void)state;
	assert_int_equal(length_draw(&l, &r), 12);
	assert_true(r.state == before.state);
}

static void classes_have_their_shares(void **state)
{
	const struct length l = parse("1:6,4-7:3,100:1");
	struct random r = random_stream(5, 1);
	uint32_t count[101] = { 0 };
	double sum = 0;
	(void)state;
	for (unsigned i = 0; i < DRAWS; i++) {
		uint32_t length = length_draw(&l, &r);
		assert_true(length >= 1 && length <= 100);
		count[length]++;
		sum += length;
	}
	assert_share(count[1], DRAWS, 0.6);
	assert_share(count[100], DRAWS, 0.1);
	assert_alike(&count[4], 4);
	assert_int_equal(count[1] + count[4] + count[5] + count[6] + count[7] +
				 count[100],
		DRAWS);
	/* The standard deviation of a length is about 29. */
	double off = sum / DRAWS - length_mean(&l);
	assert_true(off * off < 25.0 * 29 * 29 / DRAWS);
}

static void a_range_is_uniform(void **state)
{
	const struct length l = parse("1-16");
	struct random r = random_stream(5, 2);
	uint32_t count[17] = { 0 };
	(void)state;
	for (unsigned i = 0; i < DRAWS; i++) {
		uint32_t length = length_draw(&l, &r);
		assert_true(length >= 1 && length <= 16);
		count[length]++;
	}
	assert_alike(&count[1], 16);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_are_parsed),
		cmocka_unit_test(wrong_lengths_are_refused),
		cmocka_unit_test(the_number_of_classes_is_bounded),
		cmocka_unit_test(a_single_length_draws_no_random_number),
		cmocka_unit_test(classes_have_their_shares),
		cmocka_unit_test(a_range_is_uniform),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
