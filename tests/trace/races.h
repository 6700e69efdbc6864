/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common parts of the race tests: a trace whose origins race after its set-up,
 * and two checks. Without conflicts, memory and the notifications of each
 * origin equal those of the oracle; with conflicts, the outcome is
 * linearizable.
 */
#ifndef CAY_TESTS_TRACE_RACES_H
#define CAY_TESTS_TRACE_RACES_H

#include "linearize.h"
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
	r->setup = setup_length(&r->trace);
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
 * Issues the instructions of one origin. With conflicts origins do not drain,
 * so that the outcome depends on the order of claims.
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

static inline struct random_options options_apart(uint64_t seed, uint32_t ports)
{
	return (struct random_options){
		.seed = seed, .ports = ports, .count = 60, .race = true
	};
}

static inline void assert_equals_oracle(
	const struct race *r, uint64_t seed, const char *where)
{
	struct outcome expected;
	char text[1000];
	assert_int_equal(oracle_run(&r->trace, ORACLE_CORRECT, &expected), 0);
	if (outcome_pairs_differ(&r->seen, &expected, text, sizeof(text)))
		fail_msg("CAY_SEED=%lu CAY_TRACES=1, %s: %s",
			(unsigned long)seed, where, text);
	outcome_free(&expected);
}

/* ---- with conflicts ---- */

static inline struct random_options options_conflicts(
	uint64_t seed, uint32_t ports)
{
	uint64_t random = ~seed;
	return (struct random_options){ .seed = seed,
		.ports = ports,
		.count = ports * (2 + (uint32_t)(bytes_random(&random) % 4)),
		.conflicts = true,
		.race = true,
		.full = seed % 8 == 0 };
}

struct search_statistics {
	uint64_t states, most, given_up, store_buffer;
};

static inline bool race_linearizes(const struct race *r, bool store_buffer,
	struct search_statistics *n, char *text, size_t size)
{
	const struct linearize_options options = { .setup = r->setup,
		.store_buffer = store_buffer };
	uint64_t states;
	int x = linearize(&options, &r->seen, &states, text, size);
	n->states += states;
	n->most = states > n->most ? states : n->most;
	n->given_up += x == -E2BIG;
	return x == 0 || x == -E2BIG;
}

/*
 * Threads run on processors with store buffers: a put that is a plain store may
 * become visible after a later get of the same port with CAY_FREE_ORDER.
 */
static inline void assert_linearizes(const struct race *r, uint64_t seed,
	const char *where, bool threads, struct search_statistics *n)
{
	char text[1500];
	if (race_linearizes(r, false, n, text, sizeof(text)))
		return;
	n->store_buffer++;
	if (threads && race_linearizes(r, true, n, text, sizeof(text)))
		return;
	fail_msg("CAY_SEED=%lu CAY_TRACES=1, %s: %s", (unsigned long)seed,
		where, text);
}

static inline void statistics_print(
	const struct search_statistics *n, uint64_t traces)
{
	printf("  %.1f states per trace, at most %lu; %lu searches given up, "
	       "%lu with a store buffer\n",
		(double)n->states / (double)traces, (unsigned long)n->most,
		(unsigned long)n->given_up, (unsigned long)n->store_buffer);
}

#endif
