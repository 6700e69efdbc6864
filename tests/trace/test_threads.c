/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Origins race as threads on the real platform.
 *
 * CAY_TRACES is the number of traces, CAY_SEED the first seed.
 */
#include <pthread.h>
#include <sched.h>

#include "races.h"

/* ---- port 0 races in this thread, port 1 in a second one ---- */

struct second {
	pthread_t thread;
	struct race *race; /* NULL: exit */
	bool drains;
	_Atomic uint32_t begun, ready, done; /* number of the race */
};

static struct second second;

/* Yields at times: the other thread may need this core. */
static void spin_until(const _Atomic uint32_t *counter, uint32_t value)
{
	for (uint32_t look = 1; atomic_load(counter) != value; look++)
		if (look % 1024 == 0)
			sched_yield();
		else
			clock_relax();
}

static void *second_main(void *unused)
{
	for (uint32_t race = 1;; race++) {
		spin_until(&second.begun, race);
		if (!second.race)
			return unused;
		atomic_store(&second.ready, race);
		race_origin(second.race, 1, second.drains);
		atomic_store(&second.done, race);
	}
}

static void second_open(void)
{
	second = (struct second){ 0 };
	assert_int_equal(
		pthread_create(&second.thread, NULL, second_main, NULL), 0);
}

static void second_close(void)
{
	second.race = NULL;
	atomic_fetch_add(&second.begun, 1);
	pthread_join(second.thread, NULL);
}

static void race_run(struct race *r, bool drains)
{
	uint32_t race = atomic_load(&second.begun) + 1;
	second.race = r;
	second.drains = drains;
	atomic_store(&second.begun, race);
	spin_until(&second.ready, race);
	race_origin(r, 0, drains);
	spin_until(&second.done, race);
}

static void without_conflicts(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 1000);
	second_open();
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = options_apart(i, 2);
		race_open(&r, &o, &platform_real);
		race_run(&r, true);
		race_end(&r);
		assert_equals_oracle(&r, i, "threads");
		race_free(&r);
	}
	second_close();
	speed_print("races without conflicts, threads", traces, start);
}

static void with_conflicts(void **state)
{
	(void)state;
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 3000);
	struct search_statistics n = { 0 };
	second_open();
	for (uint64_t i = seed; i < seed + traces; i++) {
		struct race r;
		const struct random_options o = options_conflicts(i, 2);
		race_open(&r, &o, &platform_real);
		race_run(&r, false);
		race_end(&r);
		assert_linearizes(&r, i, "threads", true, &n);
		race_free(&r);
	}
	second_close();
	speed_print("races with conflicts, threads", traces, start);
	statistics_print(&n, traces);
}

/* ---- store buffering litmus test ---- */

#define WORDS  7000u /* enough that both threads run at the same time */
#define ROUNDS 100u

struct litmus {
	struct fixture bench;
	uint64_t capability;
	pthread_barrier_t together;
	uint64_t seen[2][WORDS];
};

struct litmus_side {
	struct litmus *l;
	uint32_t port;
};

/* Puts its own word, then gets the word of the other thread. */
static void litmus_round(const struct litmus_side *s, uint64_t round)
{
	struct litmus *l = s->l;
	struct fixture_port *p = &l->bench.port[s->port];
	_Atomic(struct context *) *to = fixture_route(&l->bench, s->port, 2);
	struct target own = { .capability = l->capability }, other = own;
	for (uint64_t i = 0; i < WORDS; i++) {
		own.offset = (2 * i + s->port) * CAY_LINE;
		other.offset = (2 * i + 1 - s->port) * CAY_LINE;
		platform_real.put(&p->origin, to, target_key(&own), own.offset,
			&round, 8, 0, p->op);
		platform_real.get(&p->origin, to, target_key(&other),
			other.offset, &l->seen[s->port][i], 8, 0, p->op);
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

/* A get does not overtake a put: at least one thread sees the other's word. */
static void gets_do_not_overtake_puts(void **state)
{
	(void)state;
	static struct litmus l;
	const uint64_t bytes = 2ull * WORDS * CAY_LINE;
	struct litmus_side side[2] = { { &l, 0 }, { &l, 1 } };
	pthread_t thread;
	uint64_t missed = 0;
	assert_int_equal(
		fixture_open(&l.bench, 3, &(struct queue_options){ 0 }), 0);
	assert_int_equal(
		fixture_window(&l.bench, 2, 0, fixture_memory(&l.bench, bytes),
			bytes, CAY_RIGHT_READ | CAY_RIGHT_WRITE, &l.capability),
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
	fixture_close(&l.bench);
	assert_int_equal(missed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_conflicts),
		cmocka_unit_test(with_conflicts),
		cmocka_unit_test(gets_do_not_overtake_puts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
