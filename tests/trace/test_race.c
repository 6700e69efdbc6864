/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Origins that race: as coroutines on the counting platform, which hand over
 * before every access in an order that a seed decides, and as threads on the
 * real one. Without conflicts memory and what each origin is notified of are as
 * if they had come one after the other; with conflicts some order explains what
 * they saw.
 *
 * CAY_TRACES sets how many, CAY_SEED which one is the first.
 */
#include <pthread.h>
#include <sched.h>

#include "coroutine.h"
#include "trace/interleave.h"
#include "traces.h"

#define SWITCHES_MAX 1000000u

struct race {
	struct trace trace;
	struct replay replay;
	struct outcome seen;
	uint32_t setup;
};

static void race_open(struct race *r, const struct random_options *options,
	const struct platform *platform)
{
	assert_int_equal(random_trace(options, &r->trace), 0);
	assert_int_equal(
		replay_open(&r->replay, &r->trace, platform, &r->seen), 0);
	r->setup = random_setup(&r->trace);
	for (uint32_t i = 0; i < r->setup; i++)
		replay_step(&r->replay, i);
}

static void race_end(struct race *r)
{
	assert_int_equal(replay_end(&r->replay), 0);
	replay_close(&r->replay);
}

static void race_free(struct race *r)
{
	outcome_free(&r->seen);
	trace_free(&r->trace);
}

/*
 * One origin's instructions. Completions are its own to take, if that is
 * allowed: with conflicts nobody drains, so that the order of claims matters.
 */
static void race_origin(struct race *r, uint32_t port, bool drains)
{
	for (uint32_t i = r->setup; i < r->trace.count; i++) {
		if (r->trace.instruction[i].port != port)
			continue;
		while (replay_issue(&r->replay, i) == -EAGAIN && drains)
			replay_drain(&r->replay, port);
	}
}

/* ---- coroutines ---- */

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

static void race_coroutines(struct race *r, uint64_t seed, bool drains)
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
		fail_msg("CAY_SEED=%lu: %s", (unsigned long)seed,
			stage.failure);
}

/* ---- threads, which stay for all races ---- */

#define THREADS_MAX 3

struct crew {
	uint32_t threads;
	pthread_t thread[THREADS_MAX];
	struct race *race;
	bool drains;
	_Atomic uint32_t begun; /* races; UINT32_MAX: no more */
	_Atomic uint32_t ready, done;
};

static struct crew crew;

/* Others may need the core. */
static void spin(uint32_t *look)
{
	if (++*look % 4096 == 0)
		sched_yield();
	else
		clock_relax();
}

static void *member_main(void *argument)
{
	uint32_t port = (uint32_t)(uintptr_t)argument, known = 0, look = 0;
	for (;;) {
		while (atomic_load(&crew.begun) == known)
			spin(&look);
		known = atomic_load(&crew.begun);
		if (known == UINT32_MAX)
			return NULL;
		/* Together. */
		atomic_fetch_add(&crew.ready, 1);
		while (atomic_load(&crew.ready) % crew.threads)
			spin(&look);
		if (port < crew.race->trace.ports)
			race_origin(crew.race, port, crew.drains);
		atomic_fetch_add(&crew.done, 1);
	}
}

static void crew_open(uint32_t threads)
{
	crew = (struct crew){ .threads = threads };
	for (uint32_t i = 0; i < threads; i++)
		assert_int_equal(pthread_create(&crew.thread[i], NULL,
					 member_main, (void *)(uintptr_t)i),
			0);
}

static void crew_close(void)
{
	atomic_store(&crew.begun, UINT32_MAX);
	for (uint32_t i = 0; i < crew.threads; i++)
		pthread_join(crew.thread[i], NULL);
}

static void race_threads(struct race *r, bool drains)
{
	uint32_t look = 0;
	crew.race = r;
	crew.drains = drains;
	atomic_store(&crew.done, 0);
	atomic_fetch_add(&crew.begun, 1);
	while (atomic_load(&crew.done) != crew.threads)
		spin(&look);
}

/* ---- without conflicts ---- */

static struct random_options apart(uint64_t seed, uint32_t ports)
{
	return (struct random_options){ .seed = seed,
		.ports = ports,
		.count = 60,
		.race = true };
}

static void same_as_oracle(struct race *r, uint64_t seed, const char *where)
{
	struct outcome expected;
	char text[1000];
	assert_int_equal(oracle_run(&r->trace, ORACLE_RIGHT, &expected), 0);
	if (outcome_differs_by_origin(
		    &r->seen, &expected, text, sizeof(text)))
		fail_msg("CAY_SEED=%lu CAY_TRACES=1, %s: %s",
			(unsigned long)seed, where, text);
	outcome_free(&expected);
}

static void without_conflicts_coroutines(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 1000);
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = apart(i, 2 + i % 3);
		race_open(&r, &o, &platform_counting);
		race_coroutines(&r, i, true);
		race_end(&r);
		same_as_oracle(&r, i, "coroutines");
		race_free(&r);
	}
	speed_print("races apart, coroutines", traces, start);
}

static void without_conflicts_threads(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 1000);
	crew_open(2);
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = apart(i, 2);
		race_open(&r, &o, &platform_real);
		race_threads(&r, true);
		race_end(&r);
		same_as_oracle(&r, i, "threads");
		race_free(&r);
	}
	crew_close();
	speed_print("races apart, threads", traces, start);
}

/* ---- with conflicts ---- */

static struct random_options together(uint64_t seed, uint32_t ports)
{
	uint64_t random = ~seed;
	return (struct random_options){ .seed = seed,
		.ports = ports,
		.count = ports * (2 + (uint32_t)(bytes_random(&random) % 4)),
		.conflicts = true,
		.race = true,
		.full = seed % 8 == 0 };
}

struct effort {
	uint64_t states, most, unknown;
};

/* False: no order explains it. */
static bool race_explained(const struct race *r, enum oracle_fault fault,
	bool late_stores, struct effort *e, char *text, size_t room)
{
	const struct interleave how = { .setup = r->setup,
		.late_stores = late_stores,
		.fault = fault };
	uint64_t states;
	int x = interleave_explain(&how, &r->seen, &states, text, room);
	e->states += states;
	e->most = states > e->most ? states : e->most;
	e->unknown += x == -E2BIG;
	return x == 0 || x == -E2BIG;
}

static void explained(const struct race *r, uint64_t seed, const char *where,
	bool late_stores, struct effort *e)
{
	char text[1500];
	if (race_explained(
		    r, ORACLE_RIGHT, late_stores, e, text, sizeof(text)))
		return;
	trace_dump(&r->trace, "/tmp/cay-trace-failed");
	fail_msg("CAY_SEED=%lu CAY_TRACES=1, %s: %s", (unsigned long)seed,
		where, text);
}

static void effort_print(const struct effort *e, uint64_t traces)
{
	printf("  %.1f states each, at most %lu, %lu with too many orders\n",
		(double)e->states / (double)traces, (unsigned long)e->most,
		(unsigned long)e->unknown);
}

static void with_conflicts_coroutines(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 3000);
	struct effort e = { 0 };
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = together(i, 2 + i % 2);
		race_open(&r, &o, &platform_counting);
		race_coroutines(&r, i, false);
		race_end(&r);
		explained(&r, i, "coroutines", false, &e);
		race_free(&r);
	}
	speed_print("races together, coroutines", traces, start);
	effort_print(&e, traces);
}

static void with_conflicts_threads(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 3000);
	struct effort e = { 0 };
	crew_open(2);
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = together(i, 2);
		race_open(&r, &o, &platform_real);
		race_threads(&r, false);
		race_end(&r);
		explained(&r, i, "threads", false, &e);
		race_free(&r);
	}
	crew_close();
	speed_print("races together, threads", traces, start);
	effort_print(&e, traces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_conflicts_coroutines),
		cmocka_unit_test(without_conflicts_threads),
		cmocka_unit_test(with_conflicts_coroutines),
		cmocka_unit_test(with_conflicts_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
