/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of races share: a trace whose origins race, once its set-up
 * is done, and the two judges. Without conflicts memory and what each origin is
 * notified of are as if they had come one after the other; with conflicts some
 * order explains what they saw.
 */
#ifndef CAY_TESTS_TRACE_RACES_H
#define CAY_TESTS_TRACE_RACES_H

#include "trace/interleave.h"
#include "traces.h"

struct race {
	struct trace trace;
	struct replay replay;
	struct outcome seen;
	uint32_t setup;
};

static inline void race_open(struct race *r,
	const struct random_options *options, const struct platform *platform)
{
	assert_int_equal(random_trace(options, &r->trace), 0);
	assert_int_equal(
		replay_open(&r->replay, &r->trace, platform, &r->seen), 0);
	r->setup = random_setup(&r->trace);
	for (uint32_t i = 0; i < r->setup; i++)
		replay_step(&r->replay, i);
}

static inline void race_end(struct race *r)
{
	assert_int_equal(replay_end(&r->replay), 0);
	replay_close(&r->replay);
}

static inline void race_free(struct race *r)
{
	outcome_free(&r->seen);
	trace_free(&r->trace);
}

/*
 * One origin's instructions. Completions are its own to take, if that is
 * allowed: with conflicts nobody drains, so that the order of claims matters.
 */
static inline void race_origin(struct race *r, uint32_t port, bool drains)
{
	for (uint32_t i = r->setup; i < r->trace.count; i++) {
		if (r->trace.instruction[i].port != port)
			continue;
		while (replay_issue(&r->replay, i) == -EAGAIN && drains)
			replay_drain(&r->replay, port);
	}
}

/* ---- without conflicts ---- */

static inline struct random_options apart(uint64_t seed, uint32_t ports)
{
	return (struct random_options){
		.seed = seed, .ports = ports, .count = 60, .race = true
	};
}

static inline void same_as_oracle(
	struct race *r, uint64_t seed, const char *where)
{
	struct outcome expected;
	char text[1000];
	assert_int_equal(oracle_run(&r->trace, ORACLE_RIGHT, &expected), 0);
	if (outcome_differs_by_origin(&r->seen, &expected, text, sizeof(text)))
		fail_msg("CAY_SEED=%lu CAY_TRACES=1, %s: %s",
			(unsigned long)seed, where, text);
	outcome_free(&expected);
}

/* ---- with conflicts ---- */

static inline struct random_options together(uint64_t seed, uint32_t ports)
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
	uint64_t states, most, unknown, late;
};

/* False: no order explains it. */
static inline bool race_explained(const struct race *r, enum oracle_fault fault,
	bool late_stores, struct effort *e, char *text, size_t room)
{
	const struct interleave how = {
		.setup = r->setup, .late_stores = late_stores, .fault = fault
	};
	uint64_t states;
	int x = interleave_explain(&how, &r->seen, &states, text, room);
	e->states += states;
	e->most = states > e->most ? states : e->most;
	e->unknown += x == -E2BIG;
	return x == 0 || x == -E2BIG;
}

/*
 * Threads may see what the processor lets them see: a put that was only a store
 * may be seen after a get of the same port that came later, if that has
 * CAY_FREE_ORDER.
 */
static inline void explained(const struct race *r, uint64_t seed,
	const char *where, bool threads, struct effort *e)
{
	char text[1500];
	if (race_explained(r, ORACLE_RIGHT, false, e, text, sizeof(text)))
		return;
	e->late++;
	if (threads &&
		race_explained(r, ORACLE_RIGHT, true, e, text, sizeof(text)))
		return;
	fail_msg("CAY_SEED=%lu CAY_TRACES=1, %s: %s", (unsigned long)seed,
		where, text);
}

static inline void effort_print(const struct effort *e, uint64_t traces)
{
	printf("  %.1f states each, at most %lu; %lu with too many orders, %lu "
	       "with a late store\n",
		(double)e->states / (double)traces, (unsigned long)e->most,
		(unsigned long)e->unknown, (unsigned long)e->late);
}

#endif
