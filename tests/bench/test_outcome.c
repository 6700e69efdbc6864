/* SPDX-License-Identifier: BSD-2-Clause */
/* Figures from the kept rounds only, refusal, and targets at their border. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/outcome.h"

#define SAMPLES_MAX 1000
#define ROUNDS_MAX  20

static const struct plan plan = {
	.kind = BENCH_LATENCY,
	.label = "8 B Fast Send",
	.bytes = 8,
	.goal = GOAL_MESSAGE,
	.ranks = 2,
	.flavour = { &handover_flavour, &sketch_fast_flavour,
		&candidate_flavour },
	.rules = { .agree = 1.125,
		.alike = 1.25,
		.unbroken = true,
		.foreign = 0.125,
		.enough = 3 },
};

static double above(double value)
{
	return nextafter(value, INFINITY);
}

/* ---- a run that never took place ---- */

static int run_open(void **state)
{
	struct rounds *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	r->at = calloc(ROUNDS_MAX, sizeof(*r->at));
	r->samples = calloc(
		1, sizeof(*r->samples) + SAMPLES_MAX * sizeof(struct sample));
	if (!r->at || !r->samples)
		return -1;
	r->samples->capacity = SAMPLES_MAX;
	*state = r;
	return 0;
}

static int run_close(void **state)
{
	rounds_free(*state);
	free(*state);
	return 0;
}

/* One round more, with one batch of each flavour. */
static void run_add(struct rounds *r, enum verdict verdict, double ns)
{
	uint32_t number = r->count++;

	r->at[number] = (struct round){ .yardstick_ns = { 100, 100, 100 },
		.yardsticks = 3,
		.verdict = verdict };
	for (uint16_t i = 0; i < PLAN_FLAVOURS_MAX; i++)
		samples_add(r->samples, number, i, SAMPLE_BATCH, ns + i);
}

static struct outcome settled(struct rounds *r)
{
	struct outcome o;

	assert_int_equal(outcome_of(&plan, r, &o), 0);
	return o;
}

/* ---- figures ---- */

static void figures_of_the_kept(void **state)
{
	struct rounds *r = *state;

	run_add(r, VERDICT_KEPT, 10);
	run_add(r, VERDICT_DRIFTED, 1);
	run_add(r, VERDICT_KEPT, 20);
	run_add(r, VERDICT_SWITCHED, 1);
	run_add(r, VERDICT_KEPT, 30);
	struct outcome o = settled(r);
	assert_false(o.refused);
	assert_int_equal(o.tried, 5);
	assert_int_equal(o.verdicts[VERDICT_KEPT], 3);
	assert_int_equal(o.verdicts[VERDICT_DRIFTED], 1);
	assert_int_equal(o.verdicts[VERDICT_SWITCHED], 1);
	for (unsigned i = 0; i < PLAN_FLAVOURS_MAX; i++) {
		assert_int_equal(o.figure[i].p50_samples, 3);
		assert_true(o.figure[i].p50_ns == 20 + i);
		/* No trip was timed by itself. */
		assert_int_equal(o.figure[i].p99_samples, 3);
		assert_true(o.figure[i].p99_ns == 30 + i);
	}
}

static void tail_of_single_trips(void **state)
{
	struct rounds *r = *state;

	for (unsigned i = 0; i < 4; i++)
		run_add(r, VERDICT_KEPT, 10);
	r->at[3].verdict = VERDICT_DRIFTED;
	for (unsigned i = 1; i <= 200; i++)
		samples_add(r->samples, i % 3, PLAN_CANDIDATE, SAMPLE_TRIP, i);
	samples_add(r->samples, 3, PLAN_CANDIDATE, SAMPLE_TRIP, 9999);
	struct outcome o = settled(r);
	const struct figure *cay = &o.figure[PLAN_CANDIDATE];
	assert_int_equal(cay->p99_samples, 200);
	assert_true(cay->p99_ns == 198);
	assert_int_equal(cay->p50_samples, 3);
	assert_true(cay->p50_ns == 10 + PLAN_CANDIDATE);
}

/* A round that did not end leaves samples; nobody has judged it. */
static void unfinished_round(void **state)
{
	struct rounds *r = *state;

	for (unsigned i = 0; i < 3; i++)
		run_add(r, VERDICT_KEPT, 10);
	for (unsigned i = 0; i < 50; i++)
		samples_add(r->samples, 3, PLAN_SKETCH, SAMPLE_BATCH, 1);
	struct outcome o = settled(r);
	assert_int_equal(o.figure[PLAN_SKETCH].p50_samples, 3);
	assert_true(o.figure[PLAN_SKETCH].p50_ns == 10 + PLAN_SKETCH);
}

static void ratios(void **state)
{
	struct outcome o = { .plan = &plan };

	(void)state;
	o.figure[PLAN_YARDSTICK].p50_ns = 50;
	o.figure[PLAN_CANDIDATE].p50_ns = 75;
	assert_true(outcome_ratio(&o, PLAN_YARDSTICK) == 1.5);
	assert_true(outcome_ratio(&o, PLAN_SKETCH) == 0);
	assert_true(outcome_has_distance(&o));
	assert_int_equal(outcome_distance(&o), DISTANCE_NEAR);
}

static void no_distance(void **state)
{
	struct plan other = plan;
	struct outcome o = { .plan = &other };

	(void)state;
	other.flavour[PLAN_YARDSTICK] = &sleep_futex_flavour;
	assert_false(outcome_has_distance(&o));
}

/* ---- refusal ---- */

static void too_few_kept(void **state)
{
	struct rounds *r = *state;
	char text[REFUSED_MAX];

	run_add(r, VERDICT_KEPT, 10);
	run_add(r, VERDICT_KEPT, 10);
	run_add(r, VERDICT_DRIFTED, 10);
	run_add(r, VERDICT_SWITCHED, 10);
	struct outcome o = settled(r);
	assert_true(o.refused);
	outcome_refused(&o, text);
	assert_string_equal(text,
		"2 of 4 rounds kept, 3 needed; 1 yardstick drifted, 1 process "
		"switched out");
	/* One more, and that is enough. */
	run_add(r, VERDICT_KEPT, 10);
	o = settled(r);
	assert_false(o.refused);
}

static void too_few_alike(void **state)
{
	struct rounds *r = *state;

	for (unsigned i = 0; i < 3; i++)
		run_add(r, VERDICT_KEPT, 10);
	for (unsigned i = 0; i < 3; i++)
		r->at[2].yardstick_ns[i] = 300;
	struct outcome o = settled(r);
	assert_true(o.refused);
	assert_int_equal(o.verdicts[VERDICT_KEPT], 2);
	assert_int_equal(o.verdicts[VERDICT_ELSEWHERE], 1);
	assert_int_equal(o.figure[PLAN_CANDIDATE].p50_samples, 2);
}

static void no_rounds(void **state)
{
	struct outcome o = settled(*state);

	assert_true(o.refused);
	assert_int_equal(o.tried, 0);
	assert_int_equal(o.figure[PLAN_CANDIDATE].p99_samples, 0);
	assert_true(o.figure[PLAN_CANDIDATE].p99_ns == 0);
}

static void foreign_load(void **state)
{
	struct rounds *r = *state;
	char text[REFUSED_MAX];

	for (unsigned i = 0; i < 3; i++)
		run_add(r, VERDICT_KEPT, 10);
	r->foreign = 0.125;
	struct outcome o = settled(r);
	assert_false(o.refused);
	r->foreign = above(0.125);
	o = settled(r);
	assert_true(o.refused);
	o.foreign = 0.5;
	outcome_refused(&o, text);
	assert_string_equal(text, "others had 50 % of the two cores");
}

static void dropped_text(void **state)
{
	struct outcome o = { .plan = &plan };
	char text[DROPPED_MAX];

	(void)state;
	outcome_dropped(&o, text);
	assert_string_equal(text, "");
	o.verdicts[VERDICT_KEPT] = 7;
	o.verdicts[VERDICT_ELSEWHERE] = 3;
	outcome_dropped(&o, text);
	assert_string_equal(text, "3 unlike most");
	memset(o.verdicts, 0xff, sizeof(o.verdicts));
	outcome_dropped(&o, text);
	assert_string_equal(text, "4294967295 yardstick drifted, 4294967295 "
				  "process switched out, 4294967295 unlike "
				  "most");
}

/* ---- targets ---- */

static struct outcome measured(double line, double sketch, double cay)
{
	struct outcome o = { .plan = &plan };

	o.figure[PLAN_YARDSTICK].p50_ns = line;
	o.figure[PLAN_SKETCH].p50_ns = sketch;
	o.figure[PLAN_CANDIDATE].p50_ns = cay;
	return o;
}

static void expect_targets(
	struct outcome o, double limit_0, double limit_1, bool held)
{
	struct target t[TARGETS_MAX];

	assert_int_equal(outcome_targets(&o, t), 2);
	assert_true(t[0].limit_ns == limit_0);
	assert_true(t[1].limit_ns == limit_1);
	assert_int_equal(t[0].held && t[1].held, held);
	assert_int_equal(outcome_missed(&o), !held);
}

static void target_of_the_sketch(void **state)
{
	(void)state;
	expect_targets(measured(200, 100, 115), 115, 300, true);
	expect_targets(measured(200, 100, above(115)), 115, 300, false);
}

/* Near cores: L + 40; from 80 ns on 1.5 L is more. */
static void target_of_the_line(void **state)
{
	(void)state;
	expect_targets(measured(30, 100, 70), 115, 70, true);
	expect_targets(measured(30, 100, above(70)), 115, 70, false);
	expect_targets(measured(80, 200, 120), 215, 120, true);
	expect_targets(measured(80, 200, above(120)), 215, 120, false);
	expect_targets(measured(200, 400, 300), 415, 300, true);
	expect_targets(measured(200, 400, above(300)), 415, 300, false);
}

/* A put has one target, which the distance does not change. */
static void target_of_a_put(void **state)
{
	struct plan put = plan;
	struct outcome o = measured(200, 100, 110);
	struct target t[TARGETS_MAX];

	(void)state;
	put.kind = BENCH_RMA;
	put.goal = GOAL_PUT;
	o.plan = &put;
	assert_int_equal(outcome_targets(&o, t), 1);
	assert_true(t[0].limit_ns == 110);
	assert_true(t[0].held);
	assert_false(outcome_missed(&o));
	o.figure[PLAN_CANDIDATE].p50_ns = above(110);
	assert_true(outcome_missed(&o));
}

/* Only a plan with a goal has targets, and only if it has figures. */
static void no_targets(void **state)
{
	struct plan aimless = plan;
	struct outcome o = measured(10, 10, 1e6);
	struct target t[TARGETS_MAX];

	(void)state;
	assert_true(outcome_missed(&o));
	o.refused = true;
	assert_int_equal(outcome_targets(&o, t), 0);
	assert_false(outcome_missed(&o));
	o.refused = false;
	aimless.goal = GOAL_NONE;
	o.plan = &aimless;
	assert_int_equal(outcome_targets(&o, t), 0);
}

#define WITH_RUN(test) \
	cmocka_unit_test_setup_teardown(test, run_open, run_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_RUN(figures_of_the_kept),
		WITH_RUN(tail_of_single_trips),
		WITH_RUN(unfinished_round),
		cmocka_unit_test(ratios),
		cmocka_unit_test(no_distance),
		WITH_RUN(too_few_kept),
		WITH_RUN(too_few_alike),
		WITH_RUN(no_rounds),
		WITH_RUN(foreign_load),
		cmocka_unit_test(dropped_text),
		cmocka_unit_test(target_of_the_sketch),
		cmocka_unit_test(target_of_the_line),
		cmocka_unit_test(target_of_a_put),
		cmocka_unit_test(no_targets),
	};
	return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
