/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases and reports: a disturbed result says so in every format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/harness/report.h"
#include "bench/native/cases.h"
#include "cay/contract.h"
#include "cay/message.h"

static struct bench_case small_case(void)
{
	struct bench_options options = bench_defaults();
	struct bench_case bc;

	options.rounds = 3;
	case_latency(&bc, &options, 8, false);
	return bc;
}

/* 4321 is in all its figures and nowhere else. */
static struct result result_on(const struct bench_case *bc)
{
	struct result o = { .bc = bc, .tried = 12 };

	o.by_status[ROUND_KEPT] = 1;
	o.by_status[ROUND_DRIFTED] = 11;
	for (unsigned i = 0; i < bc->workloads; i++)
		o.figure[i] = (struct figure){ 4321, 4321, 4321, 4321 };
	return o;
}

/* The whole report of one result, or of a failure; to be freed. */
static char *reported(const struct result *o, bool json, const char *failure)
{
	char *text = NULL;
	size_t bytes = 0;
	struct report r = { .out = open_memstream(&text, &bytes),
		.json = json,
		.core = { 0, 1 },
		.program = "test",
		.command = "cay bench \"quoted\"" };

	assert_non_null(r.out);
	assert_int_equal(report_begin(&r, NULL), 0);
	if (failure)
		report_failure(&r, o->bc, failure);
	else
		report_result(&r, o);
	enum report_status expected = failure	     ? REPORT_FAILED
				      : o->disturbed ? REPORT_DISTURBED
						     : REPORT_DONE;
	assert_int_equal(report_end(&r), expected);
	fclose(r.out);
	return text;
}

static void expect_parts(char *text, const char *const *parts, bool there)
{
	for (; *parts; parts++)
		if ((strstr(text, *parts) != NULL) != there)
			fail_msg("%s '%s' in: %s", there ? "no" : "a", *parts,
				text);
}

static void figures(void **state)
{
	static const char *const json[] = { "\"command\":\"cay bench "
					    "\\\"quoted\\\"\"",
		"\"cores\":[0,1]", "\"case\":\"8 B Fast Send\"",
		"\"disturbed\":false", "\"kept\":1,\"drifted\":11,",
		"\"Cay\":{\"p50_ns\":4321.00,", "\"distance\":\"far\"",
		"\"ratio\":{\"L\":1.000,\"baseline\":1.000}",
		"\"limit_ns\":4336.00,\"met\":true}", NULL };
	static const char *const table[] = { "8 B Fast Send", "4321",
		"target at most baseline + 15 ns, here 4336.0: met",
		"distance far", "rounds dropped: 11 drifted", NULL };
	struct bench_case bc = small_case();
	struct result o = result_on(&bc);
	char *text = reported(&o, true, NULL);

	(void)state;
	expect_parts(text, json, true);
	free(text);
	text = reported(&o, false, NULL);
	expect_parts(text, table, true);
	free(text);
}

/* There are figures, but no targets, which would have to be met. */
static void disturbed(void **state)
{
	static const char *const json[] = { "\"disturbed\":true",
		"\"Cay\":{\"p50_ns\":4321.00,", "\"ratio\":", NULL };
	static const char *const table[] = { "4321",
		"disturbed, for orientation: ", NULL };
	static const char *const targets[] = { "target", "met",
		"rounds dropped", NULL };
	static const char *const why[] = { "1 of 12 rounds kept, 2 needed; 11 "
					   "drifted",
		NULL };
	struct bench_case bc = small_case();
	struct result o = result_on(&bc);

	(void)state;
	o.disturbed = true;
	char *text = reported(&o, true, NULL);
	expect_parts(text, json, true);
	expect_parts(text, targets, false);
	expect_parts(text, why, true);
	free(text);
	text = reported(&o, false, NULL);
	expect_parts(text, table, true);
	expect_parts(text, targets, false);
	expect_parts(text, why, true);
	free(text);
	/* Without any sample there is no figure. */
	memset(o.figure, 0, sizeof(o.figure));
	text = reported(&o, false, NULL);
	expect_parts(text, table, false);
	assert_non_null(strstr(text, "no figure: "));
	free(text);
}

static void failed(void **state)
{
	static const char *const figures[] = { "4321", "p50_ns", "disturbed",
		"kept\"", NULL };
	struct bench_case bc = small_case();
	struct result o = result_on(&bc);
	char *text = reported(&o, true, "a \"reason\"\n");

	(void)state;
	expect_parts(text, figures, false);
	assert_non_null(strstr(text, "\"failure\":\"a \\\"reason\\\"\\n\""));
	free(text);
}

/* JSON cannot represent it. */
static void infinite(void **state)
{
	struct bench_case bc = small_case();
	struct result o = result_on(&bc);

	(void)state;
	o.figure[CASE_REFERENCE].p50_ns = INFINITY;
	char *text = reported(&o, true, NULL);
	assert_non_null(strstr(text, "\"L\":{\"p50_ns\":null,"));
	assert_null(strstr(text, "inf"));
	free(text);
}

/* ---- remote memory ---- */

static struct bench_case rma_case(unsigned i)
{
	struct bench_options options = bench_defaults();
	struct bench_case bc;

	options.brief = false;
	assert_true(case_make(&bc, &options, BENCH_RMA, i));
	return bc;
}

/* Programs find a case by its key; each metric has a table. */
static void rma_by_key(void **state)
{
	static const char *const json[] = { "\"key\":\"put\"",
		"\"key\":\"put_flush\"",
		"\"target\":\"at most baseline + 10 ns\",\"limit_ns\":40.00,"
		"\"met\":true",
		NULL };
	static const char *const table[] = { "8 B put, seen",
		"target at most baseline + 10 ns, here 40.0: met",
		"8 B put + flush", "rma: ns one way, until",
		"rma: ns per operation", NULL };
	struct bench_case put = rma_case(0), flush = rma_case(1);
	struct result o[2] = { result_on(&put), result_on(&flush) };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char *text = NULL;
		size_t bytes = 0;
		struct report r = { .out = open_memstream(&text, &bytes),
			.json = i == 0,
			.program = "test",
			.command = "x" };

		assert_non_null(r.out);
		assert_int_equal(report_begin(&r, NULL), 0);
		for (unsigned k = 0; k < ARRAY_COUNT(o); k++) {
			o[k].figure[CASE_BASELINE].p50_ns = 30 + k;
			o[k].figure[CASE_CAY].p50_ns = 40 + k;
			report_result(&r, &o[k]);
		}
		assert_int_equal(report_end(&r), REPORT_DONE);
		fclose(r.out);
		expect_parts(text, i == 0 ? json : table, true);
		free(text);
	}
}

/* A missed target is a failure only with `check`. */
static void missed(void **state)
{
	struct bench_case bc = small_case();
	struct result o = result_on(&bc);

	(void)state;
	o.figure[CASE_CAY].p50_ns = 1e6;
	for (unsigned check = 0; check < 2; check++) {
		struct report r = { .out = fopen("/dev/null", "w"),
			.check = check,
			.program = "test",
			.command = "x" };
		assert_non_null(r.out);
		assert_int_equal(report_begin(&r, NULL), 0);
		report_result(&r, &o);
		assert_int_equal(
			report_end(&r), check ? REPORT_FAILED : REPORT_DONE);
		fclose(r.out);
	}
}

static void no_results(void **state)
{
	char *text = NULL;
	size_t bytes = 0;
	struct report r = { .out = open_memstream(&text, &bytes),
		.json = true,
		.program = "test",
		.command = "x" };

	(void)state;
	assert_int_equal(report_begin(&r, NULL), 0);
	report_end(&r);
	fclose(r.out);
	assert_string_equal(
		text, "{\"command\":\"x\",\"cores\":[0,0],\"results\":[]}\n");
	free(text);
}

static void samples_as_csv(void **state)
{
	struct bench_case bc = small_case();
	struct round round = { .status = ROUND_PREEMPTED };
	struct samples *s = calloc(1, sizeof(*s) + 2 * sizeof(s->at[0]));
	struct measurement r = { .round = &round, .rounds = 1, .samples = s };
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(s);
	s->capacity = 2;
	samples_add(s, 0, CASE_CAY, SAMPLE_SINGLE, 12.5);
	samples_add(s, 1, CASE_CAY, SAMPLE_SINGLE, 99); /* unfinished */
	report_samples(f, NULL, NULL);
	report_samples(f, &bc, &r);
	fclose(f);
	assert_string_equal(text,
		"bench,case,round,status,workload,kind,ns\n"
		"latency,8 B Fast Send,0,preempted,Cay,single,12.50\n");
	free(text);
	free(s);
}

/* ---- cases ---- */

static uint32_t enough_of(uint32_t rounds)
{
	struct bench_options options = bench_defaults();
	struct bench_case bc;

	options.rounds = rounds;
	case_latency(&bc, &options, 8, false);
	assert_int_equal(bc.rounds, rounds);
	assert_true(bc.tries >= bc.rounds);
	return bc.rules.rounds_min;
}

static void half_is_enough(void **state)
{
	(void)state;
	assert_int_equal(enough_of(2), 1);
	assert_int_equal(enough_of(3), 2);
	assert_int_equal(enough_of(4), 2);
	assert_int_equal(enough_of(5000), 2500);
}

static void expect_label(
	size_t bytes, enum latency_form form, const char *label)
{
	struct bench_options options = bench_defaults();
	struct bench_case bc;

	case_latency(&bc, &options, bytes, form);
	assert_string_equal(bc.label, label);
	assert_int_equal(bc.bytes, bytes);
}

static void labels(void **state)
{
	(void)state;
	expect_label(0, LATENCY_COPIED, "0 B Fast Send");
	expect_label(CAY_FAST_SEND_BYTES, LATENCY_COPIED, "40 B Fast Send");
	expect_label(CAY_FAST_SEND_BYTES + 1, LATENCY_COPIED, "41 B Send");
	expect_label(CAY_EAGER_MAX, LATENCY_COPIED, "8 KiB Send");
	expect_label(CAY_EAGER_MAX + 1, LATENCY_COPIED, "8193 B copied");
	expect_label(
		CAY_EAGER_MAX + 1, LATENCY_MALLOC, "8193 B borrowed, malloc");
	expect_label(
		CAY_EAGER_MAX + 1, LATENCY_FETCH, "8193 B borrowed, fetched");
	expect_label(
		BENCH_BYTES_MAX, LATENCY_ALLOC, "1 MiB borrowed, cay_alloc");
}

static bool key_among(const char *const *keys, const char *key)
{
	for (; *keys; keys++)
		if (strcmp(*keys, key) == 0)
			return true;
	return false;
}

/* Programs look these keys up. */
static void rma_keys(void **state)
{
	static const char *const keys[] = { "put", "put_flush", "fetch_add",
		"fetch_add_into", "compare_swap", "get_flush", "get_event",
		"put_masked", "emulated", "put_4096_alloc", "put_4096_malloc",
		"get_4096_alloc", "get_4096_malloc", "put_65536_alloc",
		"put_65536_malloc", "get_65536_alloc", "get_65536_malloc",
		"put_1048576_alloc", "put_1048576_malloc", "get_1048576_alloc",
		"get_1048576_malloc", "posted_65536", "copied_65536",
		"reference_65536_alloc", "reference_65536_malloc",
		"posted_1048576", "copied_1048576", "reference_1048576_alloc",
		"reference_1048576_malloc", NULL };
	struct bench_options options = bench_defaults();
	struct bench_case bc;
	unsigned count = 0;

	(void)state;
	options.brief = false;
	for (; case_make(&bc, &options, BENCH_RMA, count); count++) {
		if (!key_among(keys, bc.key))
			fail_msg("unexpected case '%s'", bc.key);
		assert_int_equal(bc.target, count ? TARGET_NONE : TARGET_PUT);
		for (unsigned f = 0; f < bc.workloads; f++)
			assert_non_null(bc.workload[f]);
	}
	assert_int_equal(count, ARRAY_COUNT(keys) - 1);
}

static unsigned rma_count(const struct bench_options *options)
{
	struct bench_case bc;
	unsigned count = 0;

	while (case_make(&bc, options, BENCH_RMA, count))
		count++;
	return count;
}

/* 8 bytes: operations on a word. Long sizes: messages, too. Brief: three. */
static void rma_sizes(void **state)
{
	struct bench_options options = bench_defaults();

	(void)state;
	assert_int_equal(rma_count(&options), 3);
	options.sizes[0] = 8;
	options.size_count = 1;
	assert_int_equal(rma_count(&options), 9);
	options.sizes[0] = 24;
	assert_int_equal(rma_count(&options), 4);
	options.sizes[0] = CAY_EAGER_MAX + 1;
	assert_int_equal(rma_count(&options), 8);
	options.sizes[1] = 8;
	options.size_count = 2;
	assert_int_equal(rma_count(&options), 17);
	for (unsigned i = 0; i < BENCH_SIZES_MAX; i++)
		options.sizes[i] = BENCH_BYTES_MAX;
	options.size_count = BENCH_SIZES_MAX;
	assert_int_equal(rma_count(&options), 8 * BENCH_SIZES_MAX);
}

/* The log holds every sample. */
static void every_case(void **state)
{
	struct bench_options options = bench_defaults();
	struct bench_case bc;

	(void)state;
	for (unsigned i = 0; i < BENCH_KINDS; i++) {
		assert_true(case_make(&bc, &options, i, 0));
		for (unsigned f = 0; f < bc.workloads; f++)
			assert_non_null(bc.workload[f]);
		uint32_t most = bc.reference.batches + bc.reference.singles;
		assert_true(case_samples_max(&bc) >= 3 * bc.tries * most);
		assert_int_equal(bc.rules.rounds_min, (bc.rounds + 1) / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures),
		cmocka_unit_test(disturbed),
		cmocka_unit_test(failed),
		cmocka_unit_test(infinite),
		cmocka_unit_test(rma_by_key),
		cmocka_unit_test(missed),
		cmocka_unit_test(no_results),
		cmocka_unit_test(samples_as_csv),
		cmocka_unit_test(half_is_enough),
		cmocka_unit_test(labels),
		cmocka_unit_test(rma_keys),
		cmocka_unit_test(rma_sizes),
		cmocka_unit_test(every_case),
	};
	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
