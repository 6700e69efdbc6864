/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closed forms of topologies against exhaustive counts: every pair of nodes,
 * every bisection, and every route.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "network/routing/route.h"
#include "network/topology/metric.h"

#include "topologies.h"

#define NODES_MAX 512

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * (fabs(a) + fabs(b) + 1);
}

static struct metric metric(const struct topology *t)
{
	struct metric m;
	assert_int_equal(metric_of(t, &m), 0);
	return m;
}

/* ---- distances ---- */

/* Distances by relaxing all links until nothing changes any more. */
static void distances(const struct topology *t, uint32_t from, uint32_t *far)
{
	bool again = true;
	for (uint32_t i = 0; i < t->nodes; i++)
		far[i] = i == from ? 0 : NODES_MAX;
	while (again) {
		again = false;
		for (uint32_t i = 0; i < t->nodes; i++)
			for (unsigned p = 0; p < t->ports; p++) {
				uint32_t next = topology_next(t, i, p);
				if (next == TOPOLOGY_NOWHERE ||
					far[next] <= far[i] + 1)
					continue;
				far[next] = far[i] + 1;
				again = true;
			}
	}
}

static void check_distances(const struct topology *t)
{
	uint32_t far[NODES_MAX], diameter = 0;
	struct metric m = metric(t);
	double hops = 0, n = t->nodes;
	assert_true(t->nodes <= NODES_MAX);
	for (uint32_t from = 0; from < t->nodes; from++) {
		distances(t, from, far);
		for (uint32_t to = 0; to < t->nodes; to++) {
			hops += far[to];
			diameter = far[to] > diameter ? far[to] : diameter;
		}
	}
	assert_int_equal(m.nodes, t->nodes);
	assert_int_equal(m.diameter, diameter);
	assert_true(near(m.distance, hops / n / n));
	assert_true(near(m.distance_far, n > 1 ? hops / n / (n - 1) : 0));
}

static void check_links_counted(const struct topology *t)
{
	uint64_t ends = 0;
	for (uint32_t node = 0; node < t->nodes; node++)
		for (unsigned p = 0; p < t->ports; p++)
			ends += topology_next(t, node, p) != TOPOLOGY_NOWHERE;
	assert_int_equal(2 * metric(t).links, ends);
}

/* ---- bisections ---- */

static uint64_t channels_between(const struct topology *t, uint32_t half)
{
	uint64_t n = 0;
	for (uint32_t node = 0; node < t->nodes; node++)
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next != TOPOLOGY_NOWHERE)
				n += (half >> node & 1) != (half >> next & 1);
		}
	return n;
}

/* The minimum over all halves of the nodes. */
static void check_bisection(const struct topology *t)
{
	uint64_t least = UINT64_MAX;
	assert_true(t->nodes <= 20);
	for (uint32_t half = 0; half < 1u << t->nodes; half++) {
		if ((uint32_t)__builtin_popcount(half) != t->nodes / 2)
			continue;
		uint64_t n = channels_between(t, half);
		least = n < least ? n : least;
	}
	assert_int_equal(metric(t).bisection, least);
}

/* ---- channel load ---- */

/* Over all pairs, with ties split evenly. */
static void check_load(const struct topology *t)
{
	static double load[NODES_MAX * TOPOLOGY_PORTS_MAX];
	double most = 0;
	struct route r;
	memset(load, 0, sizeof(load));
	for (uint32_t i = 0; i < t->nodes * t->nodes * 8; i++) {
		uint32_t node = i / 8 / t->nodes, to = i / 8 % t->nodes;
		assert_int_equal(route_dimension_order(t, ROUTE_GROUPS_PLAIN,
					 i % 8, node, to, &r),
			0);
		for (unsigned l = 0; l < r.count; l++)
			for (uint32_t h = 0; h < r.leg[l].low; h++) {
				unsigned port = r.leg[l].port;
				load[node * t->ports + port] += 1.0 / 8;
				node = topology_next(t, node, port);
			}
	}
	for (uint32_t i = 0; i < t->nodes * t->ports; i++)
		most = load[i] > most ? load[i] : most;
	assert_true(near(metric(t).channel_load, most / t->nodes));
}

/* ---- tests ---- */

static void check_all(struct topology *t)
{
	check_distances(t);
	check_links_counted(t);
	check_load(t);
	if (t->nodes <= 20)
		check_bisection(t);
	topology_free(t);
}

static void grids_match_a_count(void **state)
{
	static const uint32_t sizes[][3] = { { 2 }, { 3 }, { 4 }, { 9 }, { 20 },
		{ 2, 2 }, { 3, 3 }, { 3, 4 }, { 4, 3 }, { 4, 4 }, { 5, 4 },
		{ 5, 3 }, { 2, 7 }, { 9, 2 }, { 2, 2, 2 }, { 3, 2, 3 },
		{ 2, 2, 3 }, { 4, 2, 2 }, { 2, 5, 2 }, { 5, 5, 5 }, { 4, 3, 6 },
		{ 7, 2, 4 } };
	struct topology t;
	(void)state;
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		const uint32_t *size = sizes[i];
		unsigned n = size[1] == 0 ? 1 : size[2] == 0 ? 2 : 3;
		assert_int_equal(topology_torus(&t, size, n), 0);
		check_all(&t);
		assert_int_equal(topology_mesh(&t, size, n), 0);
		check_all(&t);
	}
}

static void other_topologies_match_a_count(void **state)
{
	struct topology t;
	(void)state;
	for (unsigned n = 1; n <= 6; n++) {
		assert_int_equal(topology_hypercube(&t, n), 0);
		check_all(&t);
	}
	for (uint32_t n = 2; n <= 12; n++) {
		assert_int_equal(topology_full(&t, n), 0);
		check_all(&t);
	}
}

static void graphs_are_searched(void **state)
{
	struct random r = test_random(3);
	struct topology t;
	(void)state;
	for (int i = 0; i < 40; i++) {
		random_graph(&t, &r);
		struct metric m = metric(&t);
		check_distances(&t);
		check_links_counted(&t);
		assert_int_equal(m.bisection, 0);
		assert_true(near(
			m.channel_load * 2 * m.links, m.distance * m.nodes));
		topology_free(&t);
	}
}

/* Well-known values. */
static void known_values_are_right(void **state)
{
	const uint32_t flat[2] = { 16, 16 }, cube[3] = { 8, 8, 8 };
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, flat, 2), 0);
	struct metric m = metric(&t);
	assert_int_equal(m.diameter, 16);
	assert_int_equal(m.bisection, 64);
	assert_true(near(m.distance, 8));
	assert_true(near(m.channel_load, 2));
	topology_free(&t);
	assert_int_equal(topology_mesh(&t, flat, 2), 0);
	m = metric(&t);
	assert_int_equal(m.diameter, 30);
	assert_int_equal(m.bisection, 32);
	assert_true(near(m.channel_load, 4));
	topology_free(&t);
	assert_int_equal(topology_torus(&t, cube, 3), 0);
	m = metric(&t);
	assert_int_equal(m.diameter, 12);
	assert_int_equal(m.bisection, 256);
	assert_true(near(m.distance, 6));
	assert_true(near(m.channel_load, 1));
	topology_free(&t);
}

static void lost_links_are_considered(void **state)
{
	struct topology t;
	struct metric m;
	(void)state;
	assert_int_equal(topology_ring(&t, 8), 0);
	assert_int_equal(topology_cut(&t, 3, 0), 0);
	m = metric(&t);
	assert_int_equal(m.links, 7);
	assert_int_equal(m.diameter, 7);
	assert_int_equal(m.bisection, 0);
	check_distances(&t);
	assert_int_equal(topology_isolate(&t, 6), 0);
	assert_int_equal(metric_of(&t, &m), -EHOSTUNREACH);
	topology_free(&t);
}

static void extreme_sizes_are_handled(void **state)
{
	const uint32_t size[3] = { 32, 32, 64 };
	struct topology t;
	struct metric m;
	(void)state;
	assert_int_equal(topology_graph(&t, 1, NULL, 0), 0);
	m = metric(&t);
	assert_int_equal(m.links, 0);
	assert_int_equal(m.diameter, 0);
	assert_true(near(m.distance, 0) && near(m.distance_far, 0));
	topology_free(&t);
	assert_int_equal(topology_torus(&t, size, 3), 0);
	assert_int_equal(metric(&t).diameter, 64);
	assert_int_equal(metric(&t).bisection, 4 * 32 * 32);
	/* Too many nodes to search from each. */
	assert_int_equal(topology_cut(&t, 0, 0), 0);
	assert_int_equal(metric_of(&t, &m), -E2BIG);
	topology_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(grids_match_a_count),
		cmocka_unit_test(other_topologies_match_a_count),
		cmocka_unit_test(graphs_are_searched),
		cmocka_unit_test(known_values_are_right),
		cmocka_unit_test(lost_links_are_considered),
		cmocka_unit_test(extreme_sizes_are_handled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
