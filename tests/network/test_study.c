/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Studies of networks with known behaviour, with and without a steady state,
 * and their time plans.
 */
#include "network/study/study.h"

#include <errno.h>
#include <math.h>

#include "network/stats/batch.h"
#include "network/stats/trend.h"
#include "network/study/plan.h"

#include "networks.h"

static struct study_result result; /* large */

/* ---- studies ---- */

/* Uniform traffic on a torus of equal sides. */
struct bed {
	struct router router;
	uint32_t side;
	unsigned dimensions, threads;
	uint64_t seed;
	const char *length;
	struct study_options study;
};

static struct bed bed_of(const char *router, double load)
{
	return (struct bed){ .router = router_of(router),
		.side = 4,
		.dimensions = 2,
		.seed = 1,
		.length = "1",
		.study = { .load = load, .traffic = { .to_self = true } } };
}

static struct network *bed_open(struct bed *b, struct topology *t)
{
	torus_of(t, b->side, b->dimensions);
	b->study.traffic.topology = t;
	b->study.length = length_of(b->length);
	return network_of(t, &(struct network_options){ .router = b->router,
				     .seed = b->seed,
				     .threads = b->threads });
}

static int bed_try(struct bed *b)
{
	struct topology t;
	struct network *n = bed_open(b, &t);
	int r = study_run(n, &b->study, &result);
	assert_null(network_check(n));
	network_close(n);
	topology_free(&t);
	return r;
}

static enum study_verdict bed_run(struct bed *b)
{
	assert_int_equal(bed_try(b), 0);
	return result.verdict;
}

static void check_percentiles(void)
{
	assert_true(result.latency_least <= result.latency_p50);
	assert_true(result.latency_p50 <= result.latency_p90);
	assert_true(result.latency_p90 <= result.latency_p99);
	assert_true(result.latency_p99 <= result.latency_p999);
	assert_true(result.latency_p999 <= result.latency_most);
	assert_true((double)result.latency_least <= result.packet_latency);
	assert_true((double)result.latency_most >= result.packet_latency);
	assert_int_equal(result.latency.count, result.packets);
}

static void check_nothing_arrived(void)
{
	assert_int_equal(result.packets, 0);
	assert_true(result.packet_latency == 0 && result.packet_error == 0);
	assert_true(result.network_latency == 0 && result.hops == 0);
	assert_int_equal(result.latency_p999, 0);
}

/* ---- plans ---- */

static struct study_plan plan_of(struct bed *b)
{
	struct topology t;
	struct network *n = bed_open(b, &t);
	struct study_plan p;
	plan_make(&p, n, &b->study);
	network_close(n);
	topology_free(&t);
	assert_int_equal(p.period, p.step * PLAN_STEPS);
	assert_true(p.step >= 1 && p.piece >= 1 && p.limit >= 1);
	return p;
}

/* The limit decreases with the cost of a cycle, down to a minimum. */
static void plans_depend_on_the_size(void **state)
{
	struct bed small = bed_of("iq4", 0.4), large = bed_of("iq4", 0.3);
	(void)state;
	large.side = 16;
	large.dimensions = 3;
	struct study_plan p = plan_of(&small), q = plan_of(&large);
	assert_true(near_to(p.zero_load, 19, 0.15));
	assert_true(near_to(q.zero_load, 7 + 6 * 12, 0.1));
	assert_false(p.many);
	assert_true(q.many);
	assert_true((double)q.period >= 3 * q.zero_load);
	assert_true((double)q.period < 4 * q.zero_load);
	assert_true(q.limit >= 16 * q.period && q.limit < p.limit / 10);
	assert_true(q.piece < 100 && p.piece > 100);
	plan_longer(&q);
	assert_true((double)q.period >= 6 * q.zero_load);
}

static void plans_have_a_limit_at_any_load(void **state)
{
	static const double loads[] = { 1e-6, 1e-9, 1e-15, 1e-300, 1e-320 };
	(void)state;
	for (unsigned i = 0; i < COUNT(loads); i++) {
		struct bed b = bed_of("iq4", loads[i]);
		struct study_plan p = plan_of(&b);
		assert_true(p.limit >= 15 * p.period);
		assert_true(p.limit <= 100000000000);
		assert_true(p.piece <= 1000000);
		b.study.max_cycles = 12345;
		p = plan_of(&b);
		assert_int_equal(p.limit, 12345);
		assert_true(p.period < 12345 / 10);
		b.study.period = UINT64_MAX;
		assert_true(plan_of(&b).period < 12345 / 10);
	}
}

/* ---- below saturation, and above ---- */

static void low_load_is_steady(void **state)
{
	struct bed b = bed_of("iq4", 0.02);
	(void)state;
	b.side = 8;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	/* Four hops in the mean. */
	assert_true(near_to(result.packet_latency, 7 + 6 * 4, 0.02));
	assert_true(result.packet_error > 0);
	assert_true(result.packet_error <= 0.01 * result.packet_latency);
	assert_true(near_to(result.network_latency, 31, 0.02));
	assert_true(near_to(result.hops, 4, 0.02));
	assert_true(result.offered == 0.02);
	assert_true(near_to(result.accepted, 0.02, 0.03));
	assert_true(near_to(result.channel_mean, 0.02, 0.03));
	assert_true(result.channel_most > result.channel_mean);
	assert_true(result.packets >= 20000);
	assert_true(result.warm_up > 0 && result.warm_up < result.cycles);
	assert_true(near_to((double)result.flit_hops,
		result.channel_mean * (double)result.cycles * 64 * 4, 0.02));
	assert_int_equal(result.latency_least, 7);
	assert_true(result.latency_most < 7 + 6 * 8 + 20);
	assert_true(result.backlog < 3);
	assert_true(result.seconds >= 0);
	check_percentiles();
}

/* All packets created in the measurement window have arrived. */
static void all_measured_packets_arrive(void **state)
{
	struct bed b = bed_of("iq4", 0.6);
	(void)state;
	b.length = "1-8";
	b.side = 3;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	check_percentiles();
	assert_true(result.packet_latency > result.network_latency);
	assert_true(near_to(result.accepted, 0.6, 0.03));
	assert_true(result.counters.packets_delivered > result.packets);
	assert_true(near_to(result.accepted * 9 / 4.5 *
				    (double)(result.cycles - result.warm_up),
		(double)result.packets, 0.05));
}

static void overload_is_saturated(void **state)
{
	static const char *const routers[] = { "iq4", "extoll", "atoll" };
	(void)state;
	for (unsigned i = 0; i < COUNT(routers); i++) {
		struct bed b = bed_of(routers[i], 3);
		b.length = "16";
		b.side = 5;
		assert_int_equal(bed_run(&b), STUDY_SATURATED);
		assert_true(result.accepted > 0.002 && result.accepted < 2);
		assert_true(result.backlog > 100);
		assert_true(result.packet_error == 0);
		assert_true(result.channel_mean > 0.002);
		assert_true(result.channel_most <= 1);
		if (result.packets)
			check_percentiles();
		else
			check_nothing_arrived();
	}
}

/* The accepted load of an interval. */
static double bed_accepts(struct bed *b, uint64_t from, uint64_t cycles)
{
	const struct study_options *o = &b->study;
	struct load_sample one, two;
	struct topology t;
	struct network *n = bed_open(b, &t);
	assert_int_equal(load_start(n, &o->traffic, &o->length, o->load), 0);
	assert_int_equal(network_run(n, from), 0);
	load_sample(n, &one);
	assert_int_equal(network_run(n, from + cycles), 0);
	load_sample(n, &two);
	network_close(n);
	topology_free(&t);
	return (double)(two.flits_delivered - one.flits_delivered) /
	       ((double)cycles * pow(b->side, b->dimensions));
}

static void the_accepted_load_of_saturation_is_stable(void **state)
{
	static const double loads[] = { 0.7, 1 };
	(void)state;
	for (unsigned i = 0; i < COUNT(loads); i++) {
		struct bed b = bed_of("iq4", loads[i]);
		b.side = 10;
		assert_int_equal(bed_run(&b), STUDY_SATURATED);
		assert_true(result.cycles < 20000);
		assert_true(near_to(
			result.accepted, bed_accepts(&b, 4000, 4000), 0.03));
		assert_true(result.packet_latency > result.network_latency);
		check_percentiles();
	}
}

/* A hot spot with twice its capacity, while other nodes are idle. */
static void an_overloaded_spot_is_saturated(void **state)
{
	struct bed b = bed_of("iq4", 0.08);
	(void)state;
	b.side = 8;
	b.study.traffic.pattern = TRAFFIC_HOT_SPOT;
	b.study.traffic.spot = 9;
	b.study.traffic.share = 0.4;
	assert_int_equal(bed_run(&b), STUDY_SATURATED);
	assert_true(result.accepted < 0.07);
}

/*
 * A hot spot at its capacity, and slightly below: queues grow, or vary so
 * slowly that the mean is hard to estimate.
 */
static void loads_near_saturation_are_judged(void **state)
{
	struct bed b = bed_of("iq4", 0.0625);
	(void)state;
	b.study.traffic.pattern = TRAFFIC_HOT_SPOT;
	b.study.traffic.spot = 3;
	b.study.traffic.share = 1;
	assert_int_equal(bed_run(&b), STUDY_SATURATED);
	assert_true(near_to(result.accepted, 0.0625, 0.01));
	check_percentiles();
	b.study.load = 0.06;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	assert_true(result.packet_error > 0.01 * result.packet_latency);
	assert_true(result.packet_error <= 0.05 * result.packet_latency);
	assert_true(near_to(result.accepted, 0.06, 0.01));
	check_percentiles();
	/* With an explicit limit the full precision is needed. */
	b.study.max_cycles = result.cycles / 2;
	assert_int_equal(bed_run(&b), STUDY_UNSETTLED);
	check_percentiles();
}

static void seeds_repeat_and_differ(void **state)
{
	static struct study_result first;
	struct bed b = bed_of("iq4", 0.3);
	(void)state;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	first = result;
	first.seconds = 0;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	result.seconds = 0;
	assert_memory_equal(&first, &result, sizeof(first));
	b.threads = 3;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	result.seconds = 0;
	assert_memory_equal(&first, &result, sizeof(first));
	b.threads = 1;
	b.seed = 2;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	assert_true(result.latency.sum != first.latency.sum);
	assert_true(near_to(result.packet_latency, first.packet_latency, 0.03));
}

/* Tornado traffic without channel groups deadlocks. */
static void a_plain_torus_deadlocks(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 3; seed++) {
		struct bed b = bed_of("iq4", seed == 1 ? 0.3 : 0.9);
		b.router = router_narrow("iq4", 8);
		b.side = 8;
		b.seed = seed;
		b.length = "4";
		if (seed == 3)
			b.study.traffic.pattern = TRAFFIC_TORNADO;
		assert_int_equal(bed_run(&b), STUDY_DEADLOCKED);
		assert_true(result.cycles < 20000);
		assert_true(result.backlog > 0);
		if (result.packets)
			check_percentiles();
		else
			check_nothing_arrived();
	}
}

/* ---- options ---- */

static bool stop_at(void *context, uint64_t cycle, double latency)
{
	(void)latency;
	return cycle >= *(uint64_t *)context;
}

static void the_caller_can_stop_a_study(void **state)
{
	struct bed b = bed_of("iq4", 0.1);
	uint64_t at = 5000;
	(void)state;
	b.study.progress = stop_at;
	b.study.context = &at;
	assert_int_equal(bed_run(&b), STUDY_STOPPED);
	assert_true(result.cycles >= at && result.cycles < 2 * at);
	at = 1;
	assert_int_equal(bed_run(&b), STUDY_STOPPED);
	assert_true(result.cycles < 5000);
	check_nothing_arrived();
}

/* Stopped during the measurement: results of the packets that have arrived. */
static void a_stopped_study_has_partial_results(void **state)
{
	struct bed b = bed_of("iq4", 0.1);
	uint64_t at = 12000;
	(void)state;
	b.study.progress = stop_at;
	b.study.context = &at;
	assert_int_equal(bed_run(&b), STUDY_STOPPED);
	assert_true(result.warm_up > 0 && result.warm_up < at);
	assert_true(result.packets > 1000);
	assert_true(near_to(result.packet_latency, 19, 0.1));
	assert_true(near_to(result.hops, 2, 0.1));
	check_percentiles();
}

struct asked {
	uint64_t count, last, gap; /* how often, when, how far apart */
};

static bool ask(void *context, uint64_t cycle, double latency)
{
	struct asked *a = context;
	(void)latency;
	if (cycle - a->last > a->gap)
		a->gap = cycle - a->last;
	a->last = cycle;
	a->count++;
	return false;
}

/* The progress callback is called often, with and without activity. */
static void tiny_loads_work(void **state)
{
	static const double loads[] = { 1e-9, 1e-300, 1e-320 };
	(void)state;
	for (unsigned i = 0; i < COUNT(loads); i++) {
		struct bed b = bed_of("iq4", loads[i]);
		struct asked asked = { 0 };
		b.study.progress = ask;
		b.study.context = &asked;
		b.study.max_cycles = 2000000000;
		assert_int_equal(bed_run(&b), STUDY_UNSETTLED);
		assert_true(result.cycles >= b.study.max_cycles);
		assert_true(asked.count >= 2000 && asked.gap <= 1000000);
		if (i > 0)
			check_nothing_arrived();
	}
}

static void progress_is_called_often(void **state)
{
	struct bed b = bed_of("iq4", 0.9);
	struct asked asked = { 0 };
	(void)state;
	b.side = 16;
	b.study.progress = ask;
	b.study.context = &asked;
	b.study.period = 100000;
	b.study.max_cycles = 16000;
	assert_int_equal(bed_run(&b), STUDY_SATURATED);
	assert_true(asked.gap >= 40 && asked.gap <= 60);
}

static void the_limit_ends_a_study(void **state)
{
	struct bed b = bed_of("iq4", 0.1);
	(void)state;
	b.study.precision = 1e-6;
	b.study.max_cycles = 4000;
	assert_int_equal(bed_run(&b), STUDY_UNSETTLED);
	/* Packets in flight still arrive. */
	assert_true(result.cycles >= 4000 && result.cycles < 5000);
	assert_true(result.packets > 1000);
	assert_true(near_to(result.packet_latency, 19, 0.1));
	b.study.max_cycles = 1;
	assert_int_equal(bed_run(&b), STUDY_UNSETTLED);
	assert_true(result.cycles < 200);
}

/* Every network fills at first, which is no sign of saturation. */
static void filling_is_not_saturation(void **state)
{
	(void)state;
	for (uint64_t cycles = 1; cycles < 400; cycles += 1 + cycles / 3) {
		struct bed b = bed_of("extoll", 0.1);
		b.side = 8;
		b.study.max_cycles = cycles;
		assert_int_equal(bed_run(&b), STUDY_UNSETTLED);
		assert_true(result.packets > 0);
		b = bed_of("iq4", 0.3);
		b.side = 8;
		b.study.precision = 1e-6;
		b.study.max_cycles = cycles;
		assert_int_equal(bed_run(&b), STUDY_UNSETTLED);
	}
}

static void higher_precision_takes_longer(void **state)
{
	struct bed b = bed_of("iq4", 0.5);
	uint64_t packets;
	(void)state;
	b.study.period = 500;
	b.study.precision = 0.02;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	assert_true(result.packet_error <= 0.02 * result.packet_latency);
	packets = result.packets;
	b.study.precision = 0.001;
	assert_int_equal(bed_run(&b), STUDY_STEADY);
	assert_true(result.packet_error <= 0.001 * result.packet_latency);
	assert_true(result.packets > 2 * packets);
}

static void wrong_studies_are_refused(void **state)
{
	static const double loads[] = { 0, -0.1, 1.01, NAN, INFINITY };
	struct bed b;
	(void)state;
	for (unsigned i = 0; i < COUNT(loads); i++) {
		b = bed_of("iq4", loads[i]);
		assert_int_equal(bed_try(&b), -EINVAL);
	}
	b = bed_of("iq4", 0.1);
	b.study.precision = -1;
	assert_int_equal(bed_try(&b), -EINVAL);
	b = bed_of("extoll", 0.1);
	b.length = "1-65"; /* cut-through, and longer than the buffer */
	assert_int_equal(bed_try(&b), -EINVAL);
	b = bed_of("iq4", 0.1);
	b.side = 3;
	b.study.traffic.pattern = TRAFFIC_REVERSE;
	assert_int_equal(bed_try(&b), -EINVAL);
}

static void a_used_network_is_refused(void **state)
{
	struct router r = router_of("iq4");
	struct study_options o = { .load = 0.1, .length = length_of("1") };
	struct topology t;
	(void)state;
	torus_of(&t, 4, 2);
	struct network *n = network_seeded(&t, &r, 1);
	o.traffic.topology = &t;
	assert_int_equal(network_run(n, 1), 0);
	assert_int_equal(study_run(n, &o, &result), -EINVAL);
	network_close(n);
	topology_free(&t);
}

static void verdicts_have_names(void **state)
{
	(void)state;
	for (enum study_verdict v = STUDY_STEADY; v <= STUDY_STOPPED; v++)
		assert_true(strlen(study_verdict_name(v)) > 5);
	assert_string_equal(study_verdict_name(STUDY_SATURATED), "saturated");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_depend_on_the_size),
		cmocka_unit_test(plans_have_a_limit_at_any_load),
		cmocka_unit_test(low_load_is_steady),
		cmocka_unit_test(all_measured_packets_arrive),
		cmocka_unit_test(overload_is_saturated),
		cmocka_unit_test(the_accepted_load_of_saturation_is_stable),
		cmocka_unit_test(an_overloaded_spot_is_saturated),
		cmocka_unit_test(loads_near_saturation_are_judged),
		cmocka_unit_test(seeds_repeat_and_differ),
		cmocka_unit_test(a_plain_torus_deadlocks),
		cmocka_unit_test(the_caller_can_stop_a_study),
		cmocka_unit_test(a_stopped_study_has_partial_results),
		cmocka_unit_test(tiny_loads_work),
		cmocka_unit_test(progress_is_called_often),
		cmocka_unit_test(the_limit_ends_a_study),
		cmocka_unit_test(filling_is_not_saturation),
		cmocka_unit_test(higher_precision_takes_longer),
		cmocka_unit_test(wrong_studies_are_refused),
		cmocka_unit_test(a_used_network_is_refused),
		cmocka_unit_test(verdicts_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
