/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random traces executed by one thread: the outcomes of the real platform, the
 * counting platform and the oracle are equal.
 *
 * CAY_TRACES is the number of traces, CAY_SEED the first seed. A failure names
 * the seed that reproduces it.
 */
#include "traces.h"

struct tally {
	uint64_t traces, instructions, retried, refused, notifications;
	uint64_t errors[CAY_ERROR_COUNT];
	uint64_t kinds[TRACE_KINDS];
};

static struct random_options options_of(uint64_t seed)
{
	uint64_t random = ~seed;
	return (struct random_options){ .seed = seed,
		.ports = 1 + (uint32_t)(bytes_random(&random) % 5),
		.count = 10 + (uint32_t)(bytes_random(&random) % 140),
		.conflicts = bytes_random(&random) % 2 };
}

static void tally_add(struct tally *n, const struct outcome *o)
{
	const struct trace *t = o->trace;
	n->traces++;
	n->instructions += t->count;
	for (uint32_t i = 0; i < t->count; i++) {
		n->kinds[t->instruction[i].kind]++;
		n->retried += o->result[i].retried;
		n->refused += o->result[i].result == 1;
	}
	for (uint32_t p = 0; p < t->ports; p++) {
		n->notifications += o->port[p].count;
		for (uint32_t i = 0; i < o->port[p].count; i++)
			n->errors[outcome_error(&o->port[p].nqe[i])]++;
	}
}

static void assert_all_agree(uint64_t seed, struct tally *n)
{
	const struct random_options options = options_of(seed);
	struct trace t;
	struct outcome real, counting, expected;
	char text[1000];
	assert_int_equal(random_trace(&options, &t), 0);
	replay_all(&t, &platform_real, &real);
	replay_all(&t, &platform_counting, &counting);
	assert_int_equal(oracle_run(&t, ORACLE_CORRECT, &expected), 0);
	bool one = outcome_differs(&real, &counting, text, sizeof(text));
	bool other = !one &&
		     outcome_differs(&real, &expected, text, sizeof(text));
	tally_add(n, &real);
	if (one || other) {
		fail_msg("CAY_SEED=%lu CAY_TRACES=1, real platform and %s: %s",
			(unsigned long)seed,
			one ? "counting platform" : "oracle", text);
	}
	outcome_free(&real);
	outcome_free(&counting);
	outcome_free(&expected);
	trace_free(&t);
}

static void platforms_and_oracle_agree(void **state)
{
	(void)state;
	struct tally n = { 0 };
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 6000);
	for (uint64_t i = 0; i < traces; i++)
		assert_all_agree(seed + i, &n);
	speed_print("traces", n.traces, start);
	printf("seeds from %lu; %lu instructions, %lu retried, %lu refused, "
	       "%lu "
	       "notifications\n",
		(unsigned long)seed, (unsigned long)n.instructions,
		(unsigned long)n.retried, (unsigned long)n.refused,
		(unsigned long)n.notifications);
	for (int e = 1; e < CAY_ERROR_COUNT; e++)
		if (n.errors[e])
			printf("error %d: %lu\n", e,
				(unsigned long)n.errors[e]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(platforms_and_oracle_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
