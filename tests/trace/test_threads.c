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

/* ---- a get does not overtake a put ---- */

#define WORDS  7000u /* enough that both are under way at a time */
#define ROUNDS 100u

struct litmus {
	struct workbench bench;
	uint64_t capability;
	pthread_barrier_t together;
	uint64_t seen[2][WORDS];
};

struct litmus_side {
	struct litmus *l;
	uint32_t port;
};

/* Puts a word of its own, then gets that of the other. */
static void litmus_round(const struct litmus_side *s, uint64_t round)
{
	struct litmus *l = s->l;
	struct workbench_port *p = &l->bench.port[s->port];
	_Atomic(struct context *) *to = workbench_route(&l->bench, s->port, 2);
	struct target own = { .capability = l->capability }, other = own;
	for (uint64_t i = 0; i < WORDS; i++) {
		own.offset = (2 * i + s->port) * CAY_LINE;
		other.offset = (2 * i + 1 - s->port) * CAY_LINE;
		platform_real.put(&p->origin, p->op, to, &own, &round, 8, 0);
		platform_real.get(&p->origin, p->op, to, &other,
			&l->seen[s->port][i], 8, 0);
	}
}

static void *litmus_main(void *argument)
{
	const struct litmus_side *s = argument;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		pthread_barrier_wait(&s->l->together);
		litmus_round(s, round);
		pthread_barrier_wait(&s->l->together);
	}
	return NULL;
}

static uint64_t litmus_missed(const struct litmus *l, uint64_t round)
{
	uint64_t missed = 0;
	for (uint32_t i = 0; i < WORDS; i++)
		missed += l->seen[0][i] != round && l->seen[1][i] != round;
	return missed;
}

/* Whoever comes second sees what the first one has put. */
static void gets_behind_puts(void **state)
{
	(void)state;
	static struct litmus l;
	const uint64_t bytes = 2ull * WORDS * CAY_LINE;
	struct litmus_side side[2] = { { &l, 0 }, { &l, 1 } };
	pthread_t thread;
	uint64_t missed = 0;
	assert_int_equal(
		workbench_open(&l.bench, 3, &(struct queue_wish){ 0 }), 0);
	assert_int_equal(
		workbench_window(&l.bench, 2, 0,
			workbench_memory(&l.bench, bytes), bytes,
			CAY_RIGHT_READ | CAY_RIGHT_WRITE, &l.capability),
		0);
	pthread_barrier_init(&l.together, NULL, 2);
	assert_int_equal(
		pthread_create(&thread, NULL, litmus_main, &side[1]), 0);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		pthread_barrier_wait(&l.together);
		litmus_round(&side[0], round);
		pthread_barrier_wait(&l.together);
		missed += litmus_missed(&l, round);
	}
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&l.together);
	workbench_close(&l.bench);
	assert_int_equal(missed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_conflicts),
		cmocka_unit_test(with_conflicts),
		cmocka_unit_test(gets_behind_puts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
