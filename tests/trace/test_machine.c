/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random traces on machines: with every preset, on one machine and on several
 * that a wire connects, with delays by seed and up to 16 instructions in
 * flight, the memory, the results, and per origin and target the notifications
 * are those of the oracle and of the real and the counting platform.
 *
 * CAY_TRACES is the number of traces, CAY_SEED the first seed. A failure names
 * the seed that reproduces it.
 */
#include "traces.h"

struct tally {
	uint64_t traces, instructions, notifications;
	uint64_t several; /* traces on several machines */
	uint64_t words;	  /* traces with a port in word mode */
	uint64_t locks;	  /* locks that ports of other machines got */
	struct replay_machine_totals totals;
};

static struct random_options trace_options(uint64_t seed)
{
	uint64_t random = ~seed;
	struct random_options o = { .seed = seed,
		.ports = 1 + (uint32_t)(bytes_random(&random) % 5),
		.count = 10 + (uint32_t)(bytes_random(&random) % 140),
		.conflicts = bytes_random(&random) % 2 };
	/* Some with many ports, and some of those that threads execute. */
	if (bytes_random(&random) % 8 == 0)
		o.ports += 5 + (uint32_t)(bytes_random(&random) % 20);
	o.race = bytes_random(&random) % 8 == 0;
	o.full = o.race && bytes_random(&random) % 2;
	return o;
}

/*
 * Queues and tables of few entries: what is full must not stop the machine.
 * With fewer assemblies than long messages in flight it would refuse some of
 * them.
 */
static void config_small(struct machine_config *c, uint64_t *random)
{
	uint32_t *const sizes[] = { &c->csb_entries, &c->csb_port_entries,
		&c->issue_entries, &c->requesters, &c->completers,
		&c->responders, &c->requests, &c->port_requests,
		&c->notify_entries, &c->ack_entries };
	for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++)
		*sizes[i] = 1 + (uint32_t)(bytes_random(random) % 3);
	c->packets = 4 + (uint32_t)(bytes_random(random) % 8);
}

/* Everything that may differ between machines, by the seed. */
static struct replay_machine_options machine_options(uint64_t seed)
{
	static const uint32_t delays[] = { 0, 1, 4, 30 };
	static const uint32_t flights[] = { 1, 2, 5, 16 };
	uint64_t random = seed * 3;
	struct replay_machine_options o = {
		.config = machine_presets[seed % machine_preset_count].config,
		.machines = 1 + (uint32_t)(bytes_random(&random) % 4),
		.in_flight = flights[bytes_random(&random) % 4],
		.delay = delays[bytes_random(&random) % 4],
		.seed = seed
	};
	if (seed % 4 == 0)
		config_small(&o.config, &random);
	o.config.encode_local = bytes_random(&random) % 2;
	o.config.mtu = bytes_random(&random) % 2 ? 4096 : 128;
	return o;
}

static void replay_machines(const struct trace *t,
	const struct replay_machine_options *o, struct outcome *out,
	struct tally *n)
{
	struct replay r;
	assert_int_equal(replay_open_machine(&r, t, o, out), 0);
	int e = replay_run(&r);
	if (e)
		fail_msg("CAY_SEED=%lu CAY_TRACES=1: replay: %s",
			(unsigned long)o->seed, strerror(-e));
	struct replay_machine_totals all = replay_machine_totals(&r);
	n->totals.cycles += all.cycles;
	n->totals.packets += all.packets;
	n->totals.parked += all.parked;
	n->totals.stalls += all.stalls;
	n->several += o->machines > 1;
	replay_close(&r);
}

static void tally_kinds(struct tally *n, const struct trace *t,
	const struct outcome *seen, uint32_t machines)
{
	bool words = false;
	for (uint32_t p = 0; p < t->ports; p++)
		words |= t->port[p].words;
	n->words += words;
	for (uint32_t k = 0; k < t->count; k++) {
		const struct trace_instruction *i = &t->instruction[k];
		n->locks += i->kind == TRACE_WINDOW_LOCK &&
			    seen->result[k].result == 0 &&
			    i->port % machines != i->peer % machines;
	}
}

static void assert_agree(uint64_t seed, struct tally *n)
{
	const struct random_options options = trace_options(seed);
	const struct replay_machine_options machines = machine_options(seed);
	static const char *const names[] = { "oracle", "real platform",
		"counting platform" };
	struct trace t;
	struct outcome seen, other[3];
	char text[1000];
	assert_int_equal(random_trace(&options, &t), 0);
	replay_machines(&t, &machines, &seen, n);
	assert_int_equal(oracle_run(&t, ORACLE_CORRECT, &other[0]), 0);
	replay_all(&t, &platform_real, &other[1]);
	replay_all(&t, &platform_counting, &other[2]);
	for (int k = 0; k < 3; k++) {
		if (outcome_pairs_differ(&seen, &other[k], text, sizeof(text)))
			fail_msg("CAY_SEED=%lu CAY_TRACES=1, %u machines, %u "
				 "in flight, delay %u: machine and %s: %s",
				(unsigned long)seed, machines.machines,
				machines.in_flight, machines.delay, names[k],
				text);
		outcome_free(&other[k]);
	}
	n->traces++;
	n->instructions += t.count;
	tally_kinds(n, &t, &seen, machines.machines);
	for (uint32_t p = 0; p < t.ports; p++)
		n->notifications += seen.port[p].count;
	outcome_free(&seen);
	trace_free(&t);
}

static void machines_agree_with_all_platforms(void **state)
{
	(void)state;
	struct tally n = { 0 };
	uint64_t seed = first_seed(), start = clock_now_ns();
	uint64_t traces = environment("CAY_TRACES", 1200);
	for (uint64_t i = 0; i < traces; i++)
		assert_agree(seed + i, &n);
	speed_print("traces", n.traces, start);
	printf("seeds from %lu; %lu traces on several machines; %lu with "
	       "words, %lu with locks; "
	       "%lu instructions, %lu notifications, %lu cycles, %lu packets "
	       "on wires, %lu parked, %lu stalls\n",
		(unsigned long)seed, (unsigned long)n.several,
		(unsigned long)n.words, (unsigned long)n.locks,
		(unsigned long)n.instructions, (unsigned long)n.notifications,
		(unsigned long)n.totals.cycles, (unsigned long)n.totals.packets,
		(unsigned long)n.totals.parked, (unsigned long)n.totals.stalls);
	if (traces < 1000)
		return;
	/* The seeds reach what the test is about. */
	assert_true(n.several > traces / 2);
	assert_true(n.words > traces / 10 && n.locks > traces / 40);
	assert_true(n.totals.parked && n.totals.stalls);
}

/* ---- errors are detected ---- */

/* Number of traces whose outcome on machines differs from the oracle's. */
static uint32_t traces_that_differ(
	enum oracle_fault fault, uint32_t key_type, uint32_t traces)
{
	uint32_t found = 0;
	char text[1000];
	struct tally n = { 0 };
	for (uint64_t seed = 1; seed <= traces; seed++) {
		const struct random_options options = { .seed = seed,
			.ports = 3,
			.count = 80,
			.conflicts = seed % 2 };
		struct replay_machine_options machines = {
			.config = machine_presets[seed % machine_preset_count]
					  .config,
			.machines = 1 + seed % 3,
			.in_flight = 16,
			.delay = 4,
			.seed = seed
		};
		struct trace t;
		struct outcome seen, expected;
		machines.config.key_type = key_type;
		assert_int_equal(random_trace(&options, &t), 0);
		replay_machines(&t, &machines, &seen, &n);
		assert_int_equal(oracle_run(&t, fault, &expected), 0);
		found += outcome_pairs_differ(
			&seen, &expected, text, sizeof(text));
		outcome_free(&expected);
		outcome_free(&seen);
		trace_free(&t);
	}
	return found;
}

/* One entry more only changes which instructions are retried. */
static void every_fault_is_detected(void **state)
{
	(void)state;
	for (int f = ORACLE_CORRECT; f < ORACLE_FAULTS; f++) {
		uint32_t found =
			traces_that_differ((enum oracle_fault)f, 0, 120);
		printf("fault %d: detected by %u traces\n", f, found);
		if (f == ORACLE_CORRECT || f == ORACLE_NQ_ENTRIES)
			assert_int_equal(found, 0);
		else
			assert_true(found > 0);
	}
}

/* The scoreboard then orders only equal commands of an origin. */
static void weaker_order_is_detected(void **state)
{
	(void)state;
	uint32_t found = traces_that_differ(ORACLE_CORRECT, 1, 120);
	printf("ordered by command: detected by %u traces\n", found);
	assert_true(found > 0);
}

static void invalid_options_are_refused(void **state)
{
	(void)state;
	const struct replay_machine_options valid = { .config = *machine_preset(
							      "multi-wait"),
		.machines = 1,
		.in_flight = 1 };
	const struct random_options options = { .seed = 1, .ports = 1 };
	struct replay_machine_options wrong[] = { valid, valid, valid, valid,
		valid };
	struct trace t;
	struct outcome out;
	struct replay r;
	wrong[0].machines = 0;
	wrong[1].machines = REPLAY_MACHINES_MAX + 1;
	wrong[2].in_flight = 0;
	wrong[3].in_flight = REPLAY_IN_FLIGHT_MAX + 1;
	wrong[4].config.mtu = 63;
	assert_int_equal(random_trace(&options, &t), 0);
	for (unsigned i = 0; i < ARRAY_COUNT(wrong); i++)
		assert_int_equal(
			replay_open_machine(&r, &t, &wrong[i], &out), -EINVAL);
	trace_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines_agree_with_all_platforms),
		cmocka_unit_test(every_fault_is_detected),
		cmocka_unit_test(weaker_order_is_detected),
		cmocka_unit_test(invalid_options_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
