/* SPDX-License-Identifier: BSD-2-Clause */
/* pace.c: when a thread that reads in vain yields or sleeps; simulated time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/clock.h"
#include "provider/completion/pace.h"

#define SLICE_NS (3 * CLOCK_NS_PER_MS) /* of a process that computes */

static uint64_t now, cpu;

static uint64_t cpu_ns(void)
{
	return cpu;
}

/* A read that takes so long, of which the thread ran so long. */
static enum pace_step miss(struct pace *p, uint64_t took_ns, uint64_t used_ns)
{
	now += took_ns;
	cpu += used_ns;
	return pace_missed(p) ? pace_expired(p, now, cpu_ns) : PACE_RETURN;
}

/* Reads until the thread has something to do. Returns their number. */
static unsigned misses(struct pace *p, uint64_t took_ns, uint64_t used_ns,
	enum pace_step *step)
{
	for (unsigned n = 1; n <= 10000; n++)
		if ((*step = miss(p, took_ns, used_ns)) != PACE_RETURN)
			return n;
	return 0;
}

static void yield(struct pace *p, uint64_t lost_ns)
{
	now += lost_ns;
	pace_yielded(p, now, lost_ns);
}

static int setup(void **state)
{
	static struct pace p;
	now = cpu = CLOCK_NS_PER_S;
	pace_init(&p);
	/* The first period has no known begin. */
	while (miss(&p, 50, 50) == PACE_RETURN && p.left != PACE_READS)
		;
	*state = &p;
	return 0;
}

/* ---- the caller does not yield ---- */

static void test_spins_first(void **state)
{
	enum pace_step step;
	unsigned n = misses(*state, 50, 50, &step);
	assert_int_equal(step, PACE_YIELD);
	assert_in_range(n, PACE_IDLE_MAX / 2, 2 * PACE_IDLE_MAX);
}

/* A message in between postpones the yield. */
static void test_found_in_time(void **state)
{
	struct pace *p = *state;
	for (unsigned i = 0; i < 100 * PACE_IDLE_MAX; i++) {
		assert_int_equal(miss(p, 50, 50), PACE_RETURN);
		if (i % (PACE_IDLE_MAX / 2) == 0)
			pace_found(p);
	}
}

/* Where yielding lets others run for microseconds, it yields early. */
static void test_yields_early_among_waiting(void **state)
{
	enum pace_step step;
	misses(*state, 50, 50, &step);
	yield(*state, 20 * CLOCK_NS_PER_US);
	for (int i = 0; i < 10; i++) {
		assert_in_range(
			misses(*state, 50, 50, &step), 1, 2 * PACE_IDLE_MIN);
		assert_int_equal(step, PACE_YIELD);
		yield(*state, 20 * CLOCK_NS_PER_US);
	}
	/* And late again once they are gone. */
	for (int i = 0; i < 20; i++) {
		misses(*state, 50, 50, &step);
		yield(*state, 500);
	}
	assert_true(misses(*state, 50, 50, &step) >= PACE_IDLE_MAX);
}

/* After a yield that cost a time slice, the next ones would as well. */
static void test_sleeps_after_long_yield(void **state)
{
	struct pace *p = *state;
	enum pace_step step;
	misses(p, 50, 50, &step);
	yield(p, SLICE_NS);
	uint64_t begin = now;
	unsigned sleeps = 0;
	for (;;) {
		assert_true(misses(p, 50, 50, &step) > 1);
		if (step != PACE_SLEEP)
			break;
		assert_in_range(p->sleep_ns, 1, SLICE_NS);
		now += p->sleep_ns;
		sleeps++;
	}
	assert_int_equal(step, PACE_YIELD);
	assert_true(sleeps > 3);
	/* It yields again only after many times what the yield has cost. */
	assert_true(now - begin >= 10 * SLICE_NS);
}

/* ---- the caller yields ---- */

static void test_leaves_yielding_caller_alone(void **state)
{
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal(
			miss(*state, 20 * CLOCK_NS_PER_US, 2 * CLOCK_NS_PER_US),
			PACE_RETURN);
}

/* Each yield costs a slice, and messages come after a few of them. */
static void test_sleeps_for_yielding_caller(void **state)
{
	struct pace *p = *state;
	unsigned reads = 0;
	for (unsigned i = 0; i < 2 * PACE_READS; i++)
		miss(p, 20 * CLOCK_NS_PER_US, 2 * CLOCK_NS_PER_US);
	while (miss(p, SLICE_NS, 2 * CLOCK_NS_PER_US) != PACE_SLEEP) {
		if (++reads % 3 == 0)
			pace_found(p);
		assert_true(reads < 8 * PACE_READS_APART);
	}
	/* From then on at once, so that it does not return to yield. */
	for (int i = 0; i < 5; i++) {
		pace_found(p);
		assert_int_equal(
			miss(p, 5 * CLOCK_NS_PER_US, 5 * CLOCK_NS_PER_US),
			PACE_SLEEP);
		assert_true(p->sleep_ns > 0);
	}
}

/* A caller that computes between its reads is not delayed. */
static void test_works_between_reads(void **state)
{
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal(
			miss(*state, SLICE_NS, SLICE_NS / 2), PACE_RETURN);
}

/* One that begins to compute, in small steps, is soon left alone. */
static void test_works_after_waiting(void **state)
{
	struct pace *p = *state;
	enum pace_step step;
	unsigned delayed = 0;
	misses(p, SLICE_NS, 2 * CLOCK_NS_PER_US, &step);
	assert_int_equal(step, PACE_SLEEP);
	for (unsigned i = 0; i < 1000; i++) {
		if (delayed == 0)
			pace_found(p);
		if (miss(p, 10 * CLOCK_NS_PER_US, 10 * CLOCK_NS_PER_US) ==
			PACE_RETURN)
			continue;
		now += p->sleep_ns;
		pace_slept(p, now, cpu);
		delayed++;
	}
	assert_in_range(delayed, 1, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_spins_first, setup),
		cmocka_unit_test_setup(test_found_in_time, setup),
		cmocka_unit_test_setup(test_yields_early_among_waiting, setup),
		cmocka_unit_test_setup(test_sleeps_after_long_yield, setup),
		cmocka_unit_test_setup(
			test_leaves_yielding_caller_alone, setup),
		cmocka_unit_test_setup(test_sleeps_for_yielding_caller, setup),
		cmocka_unit_test_setup(test_works_between_reads, setup),
		cmocka_unit_test_setup(test_works_after_waiting, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
