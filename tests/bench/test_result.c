/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures of kept rounds, of disturbed runs, and targets at their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/result.h"
#include "bench/native/workloads.h"

#define SAMPLES_MAX 1000
#define ROUNDS_MAX  20

static const struct bench_case bc = {
	.bench = "latency",
	.label = "8 B Fast Send",
	.bytes = 8,
	.target = TARGET_MESSAGE,
	.ranks = 2,
	.workloads = CASE_CAY + 1,
	.workload = { &handover_workload, &baseline_fast_workload,
		&cay_message_workload },
	.rules = { .drift_max = 1.125,
		.outlier_factor = 1.25,
		.reject_preempted = true,
		.foreign_load_max = 0.125,
		.rounds_min = 3 },
};

static double above(double value)
{
	return nextafter(value, INFINITY);
}

/* ---- a made-up measurement ---- */

static int run_open(void **state)
{
	struct measurement *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	r->round = calloc(ROUNDS_MAX, sizeof(*r->round));
	r->samples = calloc(
		1, sizeof(*r->samples) + SAMPLES_MAX * sizeof(struct sample));
	if (!r->round || !r->samples)
		return -1;
	r->samples->capacity = SAMPLES_MAX;
	*state = r;
	return 0;
}

static int run_close(void **state)
{
	measurement_free(*state);
	free(*state);
	return 0;
}

/* Adds a round with one batch of each workload. */
static void run_add(struct measurement *r, enum round_status status, double ns)
{
	uint32_t number = r->rounds++;

	r->round[number] = (struct round){ .reference_ns = { 100, 100, 100 },
		.references = 3,
		.status = status };
	for (uint16_t i = 0; i < bc.workloads; i++)
		samples_add(r->samples, number, i, SAMPLE_BATCH, ns + i);
}

static struct result result_of_run(struct measurement *r)
{
	struct result o;

	assert_int_equal(result_of(&bc, r, &o), 0);
	return o;
}

/* ---- figures ---- */

static void figures_of_kept_rounds(void **state)
{
	struct measurement *r = *state;

	run_add(r, ROUND_KEPT, 10);
	run_add(r, ROUND_DRIFTED, 1);
	run_add(r, ROUND_KEPT, 20);
	run_add(r, ROUND_PREEMPTED, 1);
	run_add(r, ROUND_KEPT, 30);
	struct result o = result_of_run(r);
	assert_false(o.disturbed);
	assert_int_equal(o.tried, 5);
	assert_int_equal(o.by_status[ROUND_KEPT], 3);
	assert_int_equal(o.by_status[ROUND_DRIFTED], 1);
	assert_int_equal(o.by_status[ROUND_PREEMPTED], 1);
	for (unsigned i = 0; i < bc.workloads; i++) {
		assert_int_equal(o.figure[i].p50_samples, 3);
		assert_true(o.figure[i].p50_ns == 20 + i);
		/* There are no singles. */
		assert_int_equal(o.figure[i].p99_samples, 3);
		assert_true(o.figure[i].p99_ns == 30 + i);
	}
}

static void tail_of_singles(void **state)
{
	struct measurement *r = *state;

	for (unsigned i = 0; i < 4; i++)
		run_add(r, ROUND_KEPT, 10);
	r->round[3].status = ROUND_DRIFTED;
	for (unsigned i = 1; i <= 200; i++)
		samples_add(r->samples, i % 3, CASE_CAY, SAMPLE_SINGLE, i);
	samples_add(r->samples, 3, CASE_CAY, SAMPLE_SINGLE, 9999);
	struct result o = result_of_run(r);
	const struct figure *cay = &o.figure[CASE_CAY];
	assert_int_equal(cay->p99_samples, 200);
	assert_true(cay->p99_ns == 198);
	assert_int_equal(cay->p50_samples, 3);
	assert_true(cay->p50_ns == 10 + CASE_CAY);
}

/* Samples of a round that did not finish are ignored. */
static void unfinished_round(void **state)
{
	struct measurement *r = *state;

	for (unsigned i = 0; i < 3; i++)
		run_add(r, ROUND_KEPT, 10);
	for (unsigned i = 0; i < 50; i++)
		samples_add(r->samples, 3, CASE_BASELINE, SAMPLE_BATCH, 1);
	struct result o = result_of_run(r);
	assert_int_equal(o.figure[CASE_BASELINE].p50_samples, 3);
	assert_true(o.figure[CASE_BASELINE].p50_ns == 10 + CASE_BASELINE);
}

static void ratios(void **state)
{
	struct result o = { .bc = &bc };

	(void)state;
	o.figure[CASE_REFERENCE].p50_ns = 50;
	o.figure[CASE_CAY].p50_ns = 75;
	assert_true(result_ratio(&o, CASE_REFERENCE) == 1.5);
	assert_true(result_ratio(&o, CASE_BASELINE) == 0);
	assert_true(result_has_distance(&o));
	assert_int_equal(result_distance(&o), DISTANCE_NEAR);
}

static void no_distance(void **state)
{
	struct bench_case other = bc;
	struct result o = { .bc = &other };

	(void)state;
	other.workload[CASE_REFERENCE] = &sleep_futex_workload;
	assert_false(result_has_distance(&o));
}

/* ---- disturbed runs ---- */

static void too_few_kept(void **state)
{
	struct measurement *r = *state;
	char text[DISTURBED_MAX];

	run_add(r, ROUND_KEPT, 10);
	run_add(r, ROUND_KEPT, 10);
	run_add(r, ROUND_DRIFTED, 10);
	run_add(r, ROUND_PREEMPTED, 10);
	struct result o = result_of_run(r);
	assert_true(o.disturbed);
	result_disturbed(&o, text);
	assert_string_equal(
		text, "2 of 4 rounds kept, 3 needed; 1 drifted, 1 preempted");
	/* One more round suffices. */
	run_add(r, ROUND_KEPT, 10);
	o = result_of_run(r);
	assert_false(o.disturbed);
}

static void too_many_outliers(void **state)
{
	struct measurement *r = *state;

	for (unsigned i = 0; i < 3; i++)
		run_add(r, ROUND_KEPT, 10);
	for (unsigned i = 0; i < 3; i++)
		r->round[2].reference_ns[i] = 300;
	struct result o = result_of_run(r);
	assert_true(o.disturbed);
	assert_int_equal(o.by_status[ROUND_KEPT], 2);
	assert_int_equal(o.by_status[ROUND_OUTLIER], 1);
	/* The figures are of all rounds. */
	assert_int_equal(o.figure[CASE_CAY].p50_samples, 3);
}

static void no_rounds(void **state)
{
	struct result o = result_of_run(*state);

	assert_true(o.disturbed);
	assert_int_equal(o.tried, 0);
	assert_int_equal(o.figure[CASE_CAY].p99_samples, 0);
	assert_true(o.figure[CASE_CAY].p99_ns == 0);
}

static void foreign_load(void **state)
{
	struct measurement *r = *state;
	char text[DISTURBED_MAX];

	for (unsigned i = 0; i < 3; i++)
		run_add(r, ROUND_KEPT, 10);
	r->foreign_load = 0.125;
	struct result o = result_of_run(r);
	assert_false(o.disturbed);
	r->foreign_load = above(0.125);
	o = result_of_run(r);
	assert_true(o.disturbed);
	o.foreign_load = 0.5;
	result_disturbed(&o, text);
	assert_string_equal(text, "other processes used 50 % of the two cores");
}

static void dropped_text(void **state)
{
	struct result o = { .bc = &bc };
	char text[DROPPED_MAX];

	(void)state;
	result_dropped(&o, text);
	assert_string_equal(text, "");
	o.by_status[ROUND_KEPT] = 7;
	o.by_status[ROUND_OUTLIER] = 3;
	result_dropped(&o, text);
	assert_string_equal(text, "3 outliers");
	memset(o.by_status, 0xff, sizeof(o.by_status));
	result_dropped(&o, text);
	assert_string_equal(text, "4294967295 drifted, 4294967295 preempted, "
				  "4294967295 outliers");
}

/* ---- targets ---- */

static struct result measured(double line, double baseline, double cay)
{
	struct result o = { .bc = &bc };

	o.figure[CASE_REFERENCE].p50_ns = line;
	o.figure[CASE_BASELINE].p50_ns = baseline;
	o.figure[CASE_CAY].p50_ns = cay;
	return o;
}

static void expect_targets(
	struct result o, double limit_0, double limit_1, bool met)
{
	struct target t[TARGETS_MAX];

	assert_int_equal(result_targets(&o, t), 2);
	assert_true(t[0].limit_ns == limit_0);
	assert_true(t[1].limit_ns == limit_1);
	assert_int_equal(t[0].met && t[1].met, met);
	assert_int_equal(result_missed(&o), !met);
}

static void target_of_baseline(void **state)
{
	(void)state;
	expect_targets(measured(200, 100, 115), 115, 300, true);
	expect_targets(measured(200, 100, above(115)), 115, 300, false);
}

/* Near cores: L + 40; from 80 ns on 1.5 L is more. */
static void target_of_handover(void **state)
{
	(void)state;
	expect_targets(measured(30, 100, 70), 115, 70, true);
	expect_targets(measured(30, 100, above(70)), 115, 70, false);
	expect_targets(measured(80, 200, 120), 215, 120, true);
	expect_targets(measured(80, 200, above(120)), 215, 120, false);
	expect_targets(measured(200, 400, 300), 415, 300, true);
	expect_targets(measured(200, 400, above(300)), 415, 300, false);
}

/* A put has one target, which does not depend on the distance. */
static void target_of_a_put(void **state)
{
	struct bench_case put = bc;
	struct result o = measured(200, 100, 110);
	struct target t[TARGETS_MAX];

	(void)state;
	put.target = TARGET_PUT;
	o.bc = &put;
	assert_int_equal(result_targets(&o, t), 1);
	assert_true(t[0].limit_ns == 110);
	assert_true(t[0].met);
	assert_false(result_missed(&o));
	o.figure[CASE_CAY].p50_ns = above(110);
	assert_true(result_missed(&o));
}

/* Only a case with a target has limits, and only if it is not disturbed. */
static void no_targets(void **state)
{
	struct bench_case without = bc;
	struct result o = measured(10, 10, 1e6);
	struct target t[TARGETS_MAX];

	(void)state;
	assert_true(result_missed(&o));
	o.disturbed = true;
	assert_int_equal(result_targets(&o, t), 0);
	assert_false(result_missed(&o));
	o.disturbed = false;
	without.target = TARGET_NONE;
	o.bc = &without;
	assert_int_equal(result_targets(&o, t), 0);
}

#define WITH_RUN(test) \
	cmocka_unit_test_setup_teardown(test, run_open, run_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RUN(figures_of_kept_rounds),
		WITH_RUN(tail_of_singles),
		WITH_RUN(unfinished_round),
		cmocka_unit_test(ratios),
		cmocka_unit_test(no_distance),
		WITH_RUN(too_few_kept),
		WITH_RUN(too_many_outliers),
		WITH_RUN(no_rounds),
		WITH_RUN(foreign_load),
		cmocka_unit_test(dropped_text),
		cmocka_unit_test(target_of_baseline),
		cmocka_unit_test(target_of_handover),
		cmocka_unit_test(target_of_a_put),
		cmocka_unit_test(no_targets),
	};
	return cmocka_run_group_tests_name("result", tests, NULL, NULL);
}
