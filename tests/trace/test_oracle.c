/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the comparisons: each fault of the oracle and each corruption of an
 * outcome is detected. One trace has its outcome written by hand, which detects
 * errors that device and oracle have in common.
 */
#include "linearize.h"
#include "traces.h"

#define TRACES 400

static void trace_make(uint64_t seed, bool race, struct trace *t)
{
	const struct random_options options = { .seed = seed,
		.ports = 2 + (uint32_t)(seed % 2),
		.count = race ? 8 : 80,
		.conflicts = true,
		.race = race };
	assert_int_equal(random_trace(&options, t), 0);
}

/* ---- faults of the oracle ---- */

static uint32_t traces_that_differ(enum oracle_fault fault)
{
	uint32_t found = 0;
	char text[1000];
	for (uint64_t seed = 1; seed <= TRACES; seed++) {
		struct trace t;
		struct outcome seen, expected;
		trace_make(seed, false, &t);
		replay_all(&t, &platform_real, &seen);
		assert_int_equal(oracle_run(&t, fault, &expected), 0);
		found += outcome_differs(&seen, &expected, text, sizeof(text));
		outcome_free(&seen);
		outcome_free(&expected);
		trace_free(&t);
	}
	return found;
}

static void every_fault_is_detected(void **state)
{
	(void)state;
	assert_int_equal(traces_that_differ(ORACLE_CORRECT), 0);
	for (int f = ORACLE_CORRECT + 1; f < ORACLE_FAULTS; f++) {
		uint32_t found = traces_that_differ((enum oracle_fault)f);
		printf("fault %d: detected by %u of %d traces\n", f, found,
			TRACES);
		assert_true(found > 0);
	}
}

/* ---- races ---- */

static int race_linearize(const struct trace *t, const struct outcome *seen,
	enum oracle_fault fault)
{
	const struct linearize_options options = { .setup = setup_length(t),
		.fault = fault };
	uint64_t states;
	char text[1000];
	return linearize(&options, seen, &states, text, sizeof(text));
}

/* One thread executes the trace in order; no port drains before the end. */
static void race_sequentially(const struct trace *t, struct outcome *seen)
{
	struct replay r;
	assert_int_equal(replay_open(&r, t, &platform_real, seen), 0);
	for (uint32_t i = 0; i < t->count; i++)
		replay_issue(&r, i);
	assert_int_equal(replay_end(&r), 0);
	replay_close(&r);
}

static void faults_are_detected_in_races(void **state)
{
	(void)state;
	static const enum oracle_fault faults[] = { ORACLE_SWAP_RESULT,
		ORACLE_SWAP_ALWAYS, ORACLE_ADD_PREVIOUS, ORACLE_MASK,
		ORACLE_ERROR_ORDER };
	uint32_t found[ORACLE_FAULTS] = { 0 };
	for (uint64_t seed = 1; seed <= TRACES; seed++) {
		struct trace t;
		struct outcome seen;
		trace_make(seed, true, &t);
		race_sequentially(&t, &seen);
		assert_int_equal(race_linearize(&t, &seen, ORACLE_CORRECT), 0);
		for (size_t f = 0; f < ARRAY_COUNT(faults); f++)
			found[faults[f]] +=
				race_linearize(&t, &seen, faults[f]) == -ENOENT;
		outcome_free(&seen);
		trace_free(&t);
	}
	for (size_t f = 0; f < ARRAY_COUNT(faults); f++) {
		printf("fault %d: detected by %u of %d races\n", faults[f],
			found[faults[f]], TRACES);
		assert_true(found[faults[f]] > 0);
	}
}

/* Corrupts the outcome. Returns false if there was nothing to corrupt. */
static bool outcome_corrupt(struct outcome *o, uint64_t *random)
{
	const struct trace *t = o->trace;
	uint32_t port = (uint32_t)(bytes_random(random) % t->ports);
	struct outcome_port *p = &o->port[port];
	uint64_t n = p->count ? bytes_random(random) % p->count : 0;
	switch (bytes_random(random) % 5) {
	case 0:
		o->memory[0][bytes_random(random) % t->region[0].bytes] ^= 4;
		return true;
	case 1:
		if (p->count)
			p->nqe[n].tag ^= 1ull << 40;
		return p->count;
	case 2:
		if (p->count)
			p->count--;
		return p->nqe;
	case 3:
		if (p->count)
			p->nqe[n].command ^= 1u << CAY_COMMAND_ERROR_SHIFT;
		return p->count;
	default:
		o->result[t->count - 1].result ^= 1;
		return true;
	}
}

static void corruption_is_detected(void **state)
{
	(void)state;
	uint64_t random = 1;
	uint32_t corrupted = 0;
	for (uint64_t seed = 1; seed <= TRACES; seed++) {
		struct trace t;
		struct outcome seen, same;
		char text[1000];
		trace_make(seed, true, &t);
		race_sequentially(&t, &seen);
		race_sequentially(&t, &same);
		assert_false(outcome_differs(&seen, &same, text, 1000));
		if (outcome_corrupt(&seen, &random)) {
			assert_true(outcome_differs(&seen, &same, text, 1000));
			assert_int_equal(
				race_linearize(&t, &seen, ORACLE_CORRECT),
				-ENOENT);
			corrupted++;
		}
		outcome_free(&seen);
		outcome_free(&same);
		trace_free(&t);
	}
	assert_true(corrupted > TRACES / 2);
}

/*
 * Store buffering: two ports put a word each and get the other's. That neither
 * sees the other's word requires that gets overtake puts, which a put with a
 * completion forbids.
 */
static void store_buffering(void **state)
{
	(void)state;
	static const struct {
		const char *put, *get;
		int result;
	} between[] = { { "", "", -ENOENT }, { "", "flags=free_order", 0 },
		{ "flags=notify", "flags=free_order", -ENOENT },
		{ "flags=free_order", "flags=free_order", 0 },
		{ "flags=ack,free_order", "flags=free_order", -ENOENT } };
	for (size_t n = 0; n < ARRAY_COUNT(between); n++) {
		char text[800], why[1000];
		uint64_t zero = 0, states;
		struct trace t;
		struct trace_error e;
		struct outcome seen;
		snprintf(text, sizeof(text),
			"cay-trace 1\nport 0\nport 1\n"
			"window 0 window=0 bytes=16 rights=read,write\n"
			"put 0 0 window=0 offset=0 data=0100000000000000 %s\n"
			"put 1 0 window=0 offset=8 data=0100000000000000 %s\n"
			"get 0 0 window=0 offset=8 bytes=8 %s\n"
			"get 1 0 window=0 offset=0 bytes=8 %s\n",
			between[n].put, between[n].put, between[n].get,
			between[n].get);
		assert_int_equal(trace_parse(text, strlen(text), &t, &e), 0);
		race_sequentially(&t, &seen);
		struct linearize_options options = { .setup = 1 };
		assert_int_equal(
			linearize(&options, &seen, &states, why, 1000), 0);
		seen.result[3].data_digest = bytes_digest(&zero, 8);
		assert_int_equal(
			linearize(&options, &seen, &states, why, 1000), 0);
		seen.result[4].data_digest = bytes_digest(&zero, 8);
		assert_int_equal(linearize(&options, &seen, &states, why, 1000),
			-ENOENT);
		options.store_buffer = true;
		assert_int_equal(linearize(&options, &seen, &states, why, 1000),
			between[n].result);
		outcome_free(&seen);
		trace_free(&t);
	}
}

/* ---- expected outcome written by hand ---- */

static const char by_hand[] =
	"cay-trace 1\n"
	"port 0\n"
	"port 1\n"
	"window 1 window=3 key=0x77 bytes=32 rights=read,write,atomic\n"
	"put 0 1 window=3 key=0x77 offset=8 data=0a00000000000000\n"
	"fetch_add 0 1 window=3 key=0x77 offset=8 addend=5 tag=1\n"
	"compare_swap 0 1 window=3 key=0x77 offset=8 compare=15 swap=99 tag=2\n"
	"compare_swap 0 1 window=3 key=0x77 offset=8 compare=15 swap=7 tag=3\n"
	"put_masked 0 1 window=3 key=0x77 offset=0 word=0x8877665544332211 "
	"enables=0x81\n"
	"get 0 1 window=3 key=0x77 bytes=16 to=event tag=4\n"
	"put 0 1 window=3 key=0x78 data=01 tag=5\n"
	"put 0 1 window=3 key=0x77 offset=31 data=0102 tag=6 flags=ack\n"
	"send 0 1 tag=7 api_tag=8 data=616263 flags=notify\n"
	"send 1 0 tag=9\n";

static void assert_nqe(const struct outcome *o, uint32_t port, uint32_t n,
	struct outcome_nqe expected)
{
	char text[300];
	assert_true(n < o->port[port].count);
	outcome_describe(&o->port[port].nqe[n], text, sizeof(text));
	if (!outcome_nqe_equal(&o->port[port].nqe[n], &expected))
		fail_msg("port %u, notification %u: %s", port, n, text);
}

#define ERROR(e) (e << CAY_COMMAND_ERROR_SHIFT)

static void by_hand_check(const struct outcome *o)
{
	static const unsigned char memory[32] = { 0x11, 0, 0, 0, 0, 0, 0, 0x88,
		99 };
	const uint64_t first = 0x8800000000000011;
	assert_memory_equal(o->memory[0], memory, sizeof(memory));
	assert_int_equal(o->port[0].count, 8);
	assert_nqe(o, 0, 0,
		(struct outcome_nqe){ .command = 0xf0,
			.peer = 1,
			.completed = 0x62,
			.tag = 1,
			.word = { 8, 15, 10 } });
	assert_nqe(o, 0, 1,
		(struct outcome_nqe){ .command = 0xf0,
			.peer = 1,
			.completed = 0x73,
			.tag = 2,
			.word = { 8, 99, 15 } });
	assert_nqe(o, 0, 2,
		(struct outcome_nqe){ .command = 0xf0,
			.peer = 1,
			.completed = 0x73,
			.tag = 3,
			.word = { 8, 99, 99 } });
	assert_nqe(o, 0, 3,
		(struct outcome_nqe){ .command = 0xf0,
			.peer = 1,
			.bytes = 16,
			.completed = 0x32,
			.tag = 4,
			.word = { first, 99, 0 } });
	assert_nqe(o, 0, 4,
		(struct outcome_nqe){
			.command = 0xf0 | ERROR(CAY_ERROR_CAPABILITY),
			.peer = 1,
			.completed = 0x21,
			.tag = 5,
			.word = { 1, 0, 3 } });
	assert_nqe(o, 0, 5,
		(struct outcome_nqe){
			.command = 0xf0 | ERROR(CAY_ERROR_TARGET_BOUNDS),
			.peer = 1,
			.completed = 0x29,
			.tag = 6,
			.word = { 2, 31, 3 } });
	assert_nqe(o, 0, 6,
		(struct outcome_nqe){ .command = 0xf0,
			.peer = 1,
			.completed = 0x11,
			.tag = 7,
			.api_tag = 8,
			.word = { 3 } });
	assert_nqe(o, 0, 7,
		(struct outcome_nqe){ .command = 0xf2, .peer = 1, .tag = 9 });
	assert_int_equal(o->port[1].count, 1);
	assert_nqe(o, 1, 0,
		(struct outcome_nqe){ .command = 0xf2,
			.peer = 0,
			.bytes = 3,
			.tag = 7,
			.api_tag = 8,
			.payload = bytes_digest("abc", 3) });
}

static void outcome_by_hand_on_all_platforms(void **state)
{
	(void)state;
	struct trace t;
	struct trace_error e;
	struct outcome o;
	assert_int_equal(trace_parse(by_hand, sizeof(by_hand) - 1, &t, &e), 0);
	replay_all(&t, &platform_real, &o);
	by_hand_check(&o);
	outcome_free(&o);
	replay_all(&t, &platform_counting, &o);
	by_hand_check(&o);
	outcome_free(&o);
	assert_int_equal(oracle_run(&t, ORACLE_CORRECT, &o), 0);
	by_hand_check(&o);
	outcome_free(&o);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outcome_by_hand_on_all_platforms),
		cmocka_unit_test(every_fault_is_detected),
		cmocka_unit_test(faults_are_detected_in_races),
		cmocka_unit_test(corruption_is_detected),
		cmocka_unit_test(store_buffering),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
