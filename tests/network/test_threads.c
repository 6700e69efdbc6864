/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several threads give the same results as one, to the last bit: counters,
 * links, latencies, and packets with the path that they took.
 */
#include "networks.h"

#define CYCLES	1000
#define PACKETS 200
#define WAY_MAX 64

/* All observable results of a run. */
struct outcome {
	struct network_counters counters;
	struct load_sample sample;
	struct histogram latency;
	uint64_t links, deliveries;
	struct network_link link[512];
	struct network_delivery delivery[PACKETS];
	struct network_hop path[PACKETS][WAY_MAX];
};

struct scene {
	const char *router;
	unsigned dimensions;
	double load, error_rate;
	const char *length;
	enum router_arbiter arbiter;
	bool cuts; /* a link */
};

static void packets_send(struct network *n, const struct topology *t)
{
	struct random r = { 77 };
	for (unsigned i = 0; i < PACKETS; i++) {
		struct network_packet p = { .cookie = i,
			.from = random_below(&r, t->nodes),
			.to = random_below(&r, t->nodes),
			.length = 1 + random_below(&r, 8) };
		assert_int_equal(
			network_send(n, random_below(&r, CYCLES), &p), 0);
	}
}

static void packets_take(struct network *n, struct outcome *o)
{
	struct network_delivery d;
	while (network_poll(n, &d)) {
		assert_true(o->deliveries < PACKETS);
		assert_true(d.path_count <= WAY_MAX);
		memcpy(o->path[o->deliveries], d.path,
			d.path_count * sizeof(*d.path));
		d.path = NULL;
		o->delivery[o->deliveries++] = d;
	}
}

static struct network *scene_open(
	const struct scene *s, struct topology *t, unsigned threads)
{
	struct network_options o = { .router = router_of(s->router),
		.seed = 9,
		.threads = threads,
		.record = true,
		.error_rate = s->error_rate };
	o.router.arbiter = s->arbiter;
	if (o.router.deadlock_countdown)
		o.router.deadlock_countdown = 50; /* for many of them */
	torus_of(t, 4, s->dimensions);
	struct network *n = network_of(t, &o);
	if (s->cuts)
		assert_int_equal(
			network_fail(n, CYCLES / 3, NETWORK_LINK_FAILS, 3, 0),
			0);
	return n;
}

static void scene_run(
	const struct scene *s, unsigned threads, struct outcome *o)
{
	struct topology t;
	memset(o, 0, sizeof(*o));
	struct network *n = scene_open(s, &t, threads);
	packets_send(n, &t);
	load_uniform(n, &t, s->length, s->load);
	load_measure(n, true);
	assert_int_equal(network_run(n, CYCLES / 2), 0);
	packets_take(n, o);
	assert_int_equal(network_run(n, CYCLES), 0);
	assert_null(network_check(n));
	load_sample(n, &o->sample);
	load_uniform(n, &t, s->length, 0);
	for (unsigned i = 2; i < 2000 && network_busy(n); i++)
		assert_int_equal(network_run(n, i * CYCLES), 0);
	packets_take(n, o);
	assert_int_equal(o->deliveries, PACKETS);
	assert_null(network_check(n));
	network_count(n, &o->counters);
	load_latency(n, &o->latency);
	o->links = network_links(n, o->link, COUNT(o->link));
	network_close(n);
	topology_free(&t);
}

static bool hops_same(const struct network_hop *a, const struct network_hop *b)
{
	return a->time == b->time && a->node == b->node && a->port == b->port &&
	       a->channel == b->channel;
}

static void check_delivery(
	const struct outcome *a, const struct outcome *b, uint64_t i)
{
	const struct network_delivery *x = &a->delivery[i];
	const struct network_delivery *y = &b->delivery[i];
	assert_int_equal(x->packet.cookie, y->packet.cookie);
	assert_int_equal(x->fate, y->fate);
	assert_int_equal(x->node, y->node);
	assert_int_equal(x->sent, y->sent);
	assert_int_equal(x->entered, y->entered);
	assert_int_equal(x->arrived, y->arrived);
	assert_int_equal(x->hops, y->hops);
	assert_int_equal(x->path_count, y->path_count);
	for (uint32_t k = 0; k < x->path_count; k++)
		assert_true(hops_same(&a->path[i][k], &b->path[i][k]));
}

static void check_link(
	const struct network_link *a, const struct network_link *b)
{
	assert_int_equal(a->from, b->from);
	assert_int_equal(a->to, b->to);
	assert_int_equal(a->port, b->port);
	assert_int_equal(a->dead, b->dead);
	assert_int_equal(a->flits, b->flits);
	assert_int_equal(a->repeated, b->repeated);
	assert_int_equal(a->blocked, b->blocked);
}

static void check_same(const struct outcome *a, const struct outcome *b)
{
	assert_memory_equal(&a->counters, &b->counters, sizeof(a->counters));
	assert_memory_equal(&a->sample, &b->sample, sizeof(a->sample));
	assert_memory_equal(&a->latency, &b->latency, sizeof(a->latency));
	assert_int_equal(a->links, b->links);
	for (uint64_t i = 0; i < a->links; i++)
		check_link(&a->link[i], &b->link[i]);
	assert_int_equal(a->deliveries, b->deliveries);
	for (uint64_t i = 0; i < a->deliveries; i++)
		check_delivery(a, b, i);
}

/* A run that delivers packets, with valid paths. */
static void check_sound(const struct outcome *o)
{
	assert_true(o->sample.done > 300);
	assert_true(o->sample.queued > 0);
	for (uint64_t i = 0; i < o->deliveries; i++) {
		const struct network_delivery *d = &o->delivery[i];
		if (d->fate != NETWORK_DELIVERED)
			continue;
		assert_true(d->path_count > d->hops);
		assert_int_equal(o->path[i][0].node, d->packet.from);
		assert_int_equal(
			o->path[i][d->path_count - 1].node, d->packet.to);
	}
}

static const struct outcome *check_scene(const struct scene *s)
{
	static const unsigned threads[] = { 2, 3, 5 };
	static struct outcome one, many; /* large */
	scene_run(s, 1, &one);
	check_sound(&one);
	for (unsigned i = 0; i < COUNT(threads); i++) {
		scene_run(s, threads[i], &many);
		check_same(&one, &many);
	}
	return &one;
}

static void iq4_is_the_same(void **state)
{
	(void)state;
	check_scene(&(struct scene){ .router = "iq4",
		.dimensions = 3,
		.load = 0.9,
		.length = "1-4" });
}

static void extoll_is_the_same(void **state)
{
	static const enum router_arbiter arbiters[] = { ROUTER_FIRST_COME,
		ROUTER_SMART, ROUTER_SMART_SIMPLE };
	(void)state;
	for (unsigned i = 0; i < COUNT(arbiters); i++)
		check_scene(&(struct scene){ .router = "extoll",
			.dimensions = 2,
			.load = 3,
			.length = "4,64",
			.arbiter = arbiters[i] });
}

/* Under this load it deadlocks, and recovers. */
static void atoll_is_the_same(void **state)
{
	(void)state;
	const struct outcome *o =
		check_scene(&(struct scene){ .router = "atoll",
			.dimensions = 2,
			.load = 1,
			.length = "8",
			.arbiter = ROUTER_FIRST_COME });
	assert_true(o->counters.deadlock_alarms > 0);
}

static void faults_are_the_same(void **state)
{
	(void)state;
	check_scene(&(struct scene){ .router = "iq4",
		.dimensions = 2,
		.load = 0.8,
		.error_rate = 0.01,
		.length = "1-8",
		.cuts = true });
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(iq4_is_the_same),
		cmocka_unit_test(extoll_is_the_same),
		cmocka_unit_test(atoll_is_the_same),
		cmocka_unit_test(faults_are_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
