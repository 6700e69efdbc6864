/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Origins that race as threads on the real platform.
 *
 * CAY_TRACES sets how many, CAY_SEED which one is the first.
 */
#include <pthread.h>
#include <sched.h>

#include "races.h"

/* ---- port 0 in this thread, port 1 in another that stays ---- */

struct other {
	pthread_t thread;
	struct race *race; /* NULL: no more */
	bool drains;
	_Atomic uint32_t begun, ready, done; /* races */
};

static struct other other;

/* Somebody else may need the core. */
static void spin_until(const _Atomic uint32_t *counter, uint32_t value)
{
	for (uint32_t look = 1; atomic_load(counter) != value; look++)
		if (look % 1024 == 0)
			sched_yield();
		else
			clock_relax();
}

static void *other_main(void *unused)
{
	for (uint32_t race = 1;; race++) {
		spin_until(&other.begun, race);
		if (!other.race)
			return unused;
		atomic_store(&other.ready, race);
		race_origin(other.race, 1, other.drains);
		atomic_store(&other.done, race);
	}
}

static void other_open(void)
{
	other = (struct other){ 0 };
	assert_int_equal(
		pthread_create(&other.thread, NULL, other_main, NULL), 0);
}

static void other_close(void)
{
	other.race = NULL;
	atomic_fetch_add(&other.begun, 1);
	pthread_join(other.thread, NULL);
}

static void race_run(struct race *r, bool drains)
{
	uint32_t race = atomic_load(&other.begun) + 1;
	other.race = r;
	other.drains = drains;
	atomic_store(&other.begun, race);
	spin_until(&other.ready, race);
	race_origin(r, 0, drains);
	spin_until(&other.done, race);
}

static void without_conflicts(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 1000);
	other_open();
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = apart(i, 2);
		race_open(&r, &o, &platform_real);
		race_run(&r, true);
		race_end(&r);
		same_as_oracle(&r, i, "threads");
		race_free(&r);
	}
	other_close();
	speed_print("races apart, threads", traces, start);
}

static void with_conflicts(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 3000);
	struct effort e = { 0 };
	other_open();
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = together(i, 2);
		race_open(&r, &o, &platform_real);
		race_run(&r, false);
		race_end(&r);
		explained(&r, i, "threads", true, &e);
		race_free(&r);
	}
	other_close();
	speed_print("races together, threads", traces, start);
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
