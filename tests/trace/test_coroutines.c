/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Origins that race as coroutines on the counting platform, which hand over
 * before every access, in an order that a seed decides.
 *
 * CAY_TRACES sets how many, CAY_SEED which one is the first.
 */
#include "coroutine.h"
#include "races.h"

#define SWITCHES_MAX 1000000u

struct player {
	struct party party;
	struct race *race;
	uint32_t port;
	bool drains;
};

static void player_run(void *argument)
{
	struct player *p = argument;
	race_origin(p->race, p->port, p->drains);
}

static void player_yield(void *argument)
{
	stage_yield(argument);
}

static void race_play(struct race *r, uint64_t seed, bool drains)
{
	static struct counting counting;
	struct player player[STAGE_PARTIES_MAX];
	struct stage stage;
	stage_open(&stage, seed);
	for (uint32_t i = 0; i < r->trace.ports; i++) {
		player[i].race = r;
		player[i].port = i;
		player[i].drains = drains;
		stage_add(&stage, &player[i].party, player_run, &player[i]);
	}
	counting = (struct counting){ .yield = player_yield,
		.yield_argument = &stage };
	counting_begin(&counting);
	stage_play(&stage, SWITCHES_MAX);
	counting_end();
	stage_close(&stage);
	if (stage.failure)
		fail_msg(
			"CAY_SEED=%lu: %s", (unsigned long)seed, stage.failure);
}

static void without_conflicts(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 1000);
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = apart(i, 2 + i % 3);
		race_open(&r, &o, &platform_counting);
		race_play(&r, i, true);
		race_end(&r);
		same_as_oracle(&r, i, "coroutines");
		race_free(&r);
	}
	speed_print("races apart, coroutines", traces, start);
}

static void with_conflicts(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 3000);
	struct effort e = { 0 };
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = together(i, 2 + i % 2);
		race_open(&r, &o, &platform_counting);
		race_play(&r, i, false);
		race_end(&r);
		explained(&r, i, "coroutines", false, &e);
		race_free(&r);
	}
	speed_print("races together, coroutines", traces, start);
	effort_print(&e, traces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_conflicts),
		cmocka_unit_test(with_conflicts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
