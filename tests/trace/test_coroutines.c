/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Origins race as coroutines on the counting platform, which switches before
 * every access in an order determined by a seed.
 *
 * CAY_TRACES is the number of traces, CAY_SEED the first seed.
 */
#include "coroutine.h"
#include "races.h"

#define SWITCHES_MAX 1000000u

struct racing_origin {
	struct coroutine coroutine;
	struct race *race;
	uint32_t port;
	bool drains;
};

static void origin_run(void *argument)
{
	struct racing_origin *p = argument;
	race_origin(p->race, p->port, p->drains);
}

static void origin_yield(void *argument)
{
	scheduler_yield(argument);
}

static void race_run(struct race *r, uint64_t seed, bool drains)
{
	static struct counting counting;
	struct racing_origin origin[COROUTINES_MAX];
	struct scheduler scheduler;
	scheduler_open(&scheduler, seed);
	for (uint32_t i = 0; i < r->trace.ports; i++) {
		origin[i].race = r;
		origin[i].port = i;
		origin[i].drains = drains;
		scheduler_add(&scheduler, &origin[i].coroutine, origin_run,
			&origin[i]);
	}
	counting = (struct counting){ .yield = origin_yield,
		.yield_argument = &scheduler };
	counting_begin(&counting);
	scheduler_run(&scheduler, SWITCHES_MAX);
	counting_end();
	scheduler_close(&scheduler);
	if (scheduler.failure)
		fail_msg("CAY_SEED=%lu: %s", (unsigned long)seed,
			scheduler.failure);
}

static void without_conflicts(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment_number("CAY_TRACES", 1000);
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = options_apart(i, 2 + i % 3);
		race_open(&r, &o, &platform_counting);
		race_run(&r, i, true);
		race_end(&r);
		assert_equals_oracle(&r, i, "coroutines");
		race_free(&r);
	}
	speed_print("races without conflicts, coroutines", traces, start);
}

static void with_conflicts(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment_number("CAY_TRACES", 3000);
	struct search_statistics n = { 0 };
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = options_conflicts(i, 2 + i % 2);
		race_open(&r, &o, &platform_counting);
		race_run(&r, i, false);
		race_end(&r);
		assert_linearizes(&r, i, "coroutines", false, &n);
		race_free(&r);
	}
	speed_print("races with conflicts, coroutines", traces, start);
	statistics_print(&n, traces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_conflicts),
		cmocka_unit_test(with_conflicts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
