/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes, and whether they are free of deadlock: closed forms, and every pair
 * of nodes.
 */
#include <errno.h>

#include "network/routing/dependency.h"

#include "topologies.h"

typedef int router(const struct topology *, const struct route_tree *,
	uint32_t from, uint32_t to, struct route *);

static int plain(const struct topology *t, const struct route_tree *tree,
	uint32_t from, uint32_t to, struct route *r)
{
	(void)tree;
	return route_dimension_order(t, ROUTE_GROUPS_PLAIN, 0, from, to, r);
}

static int dated(const struct topology *t, const struct route_tree *tree,
	uint32_t from, uint32_t to, struct route *r)
{
	(void)tree;
	return route_dimension_order(t, ROUTE_GROUPS_DATED, 0, from, to, r);
}

static int fixed(const struct topology *t, const struct route_tree *tree,
	uint32_t from, uint32_t to, struct route *r)
{
	(void)tree;
	return route_dimension_order(
		t, ROUTE_GROUPS_FIXED, route_pair_ties(from, to), from, to, r);
}

/* Checks the end of the route of each pair; returns the sum of their hops. */
static uint64_t all_pairs(
	const struct topology *t, router *route, struct dependency *d)
{
	struct route_tree tree;
	struct route r;
	uint64_t hops = 0;
	assert_int_equal(route_tree_open(&tree, t), 0);
	for (uint32_t a = 0; a < t->nodes; a++)
		for (uint32_t b = 0; b < t->nodes; b++) {
			assert_int_equal(route(t, &tree, a, b, &r), 0);
			assert_int_equal(route_end(t, a, &r), b);
			assert_int_equal(dependency_add_route(d, a, &r), 0);
			hops += route_hops(&r);
		}
	route_tree_free(&tree);
	return hops;
}

/* The length of a cycle in the dependency graph of all routes; 0: none. */
static uint32_t cycle_of(
	const struct topology *t, router *route, uint64_t *hops)
{
	struct dependency d;
	struct channel *cycle;
	uint32_t length;
	assert_int_equal(dependency_open(&d, t, 2), 0);
	*hops = all_pairs(t, route, &d);
	assert_int_equal(dependency_cycle(&d, &cycle, &length), 0);
	/* Each channel leads to the node where the next one begins. */
	for (uint32_t i = 0; i < length; i++) {
		const struct channel *next = &cycle[(i + 1) % length];
		assert_int_equal(topology_next(t, cycle[i].node, cycle[i].port),
			next->node);
	}
	free(cycle);
	dependency_free(&d);
	return length;
}

/* The mean distance in a ring of k, over all pairs: k / 4, or less if odd. */
static uint64_t ring_hops(uint64_t k)
{
	return k * (k / 2) * ((k + 1) / 2);
}

static void tori_need_groups(void **state)
{
	static const uint32_t sizes[][3] = { { 4, 0, 0 }, { 7, 0, 0 },
		{ 4, 5, 0 }, { 3, 4, 5 }, { 2, 2, 2 }, { 6, 2, 3 } };
	(void)state;
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		const uint32_t *size = sizes[i];
		unsigned n = size[1] == 0 ? 1 : size[2] == 0 ? 2 : 3;
		uint64_t hops, wanted = 0, nodes = 1;
		bool turns = false;
		struct topology t;
		for (unsigned d = 0; d < n; d++) {
			nodes *= size[d];
			turns |= size[d] > 3;
		}
		for (unsigned d = 0; d < n; d++) {
			uint64_t others = nodes / size[d];
			wanted += ring_hops(size[d]) * others * others;
		}
		assert_int_equal(topology_torus(&t, size, n), 0);
		/* In rings of up to three nodes no route takes two hops. */
		assert_int_equal(cycle_of(&t, plain, &hops) != 0, turns);
		assert_int_equal(hops, wanted);
		assert_int_equal(cycle_of(&t, dated, &hops), 0);
		assert_int_equal(hops, wanted);
		assert_int_equal(cycle_of(&t, fixed, &hops), 0);
		assert_int_equal(hops, wanted);
		assert_int_equal(cycle_of(&t, route_up_down, &hops), 0);
		assert_true(hops >= wanted);
		topology_free(&t);
	}
}

/* The hops on each group in a ring of eight. */
static void the_dateline_decides_the_group(void **state)
{
	static const struct {
		enum route_groups groups;
		uint32_t from, to, low, high;
	} wanted[] = {
		{ ROUTE_GROUPS_PLAIN, 6, 1, 3, 0 },
		{ ROUTE_GROUPS_DATED, 6, 7, 1, 0 },
		{ ROUTE_GROUPS_DATED, 6, 0, 2, 0 },
		{ ROUTE_GROUPS_DATED, 6, 1, 2, 1 },
		{ ROUTE_GROUPS_DATED, 1, 6, 2, 1 },
		{ ROUTE_GROUPS_FIXED, 6, 7, 1, 0 },
		{ ROUTE_GROUPS_FIXED, 6, 0, 0, 2 },
		{ ROUTE_GROUPS_FIXED, 1, 0, 1, 0 },
		{ ROUTE_GROUPS_FIXED, 1, 7, 0, 2 },
	};
	struct topology t;
	struct route r;
	(void)state;
	assert_int_equal(topology_ring(&t, 8), 0);
	for (unsigned i = 0; i < COUNT(wanted); i++) {
		assert_int_equal(route_dimension_order(&t, wanted[i].groups, 0,
					 wanted[i].from, wanted[i].to, &r),
			0);
		assert_int_equal(r.count, 1);
		assert_int_equal(r.leg[0].low, wanted[i].low);
		assert_int_equal(r.leg[0].high, wanted[i].high);
	}
	topology_free(&t);
}

static void other_topologies_need_no_groups(void **state)
{
	const uint32_t size[3] = { 4, 5, 3 };
	struct topology t;
	uint64_t hops;
	(void)state;
	assert_int_equal(topology_mesh(&t, size, 3), 0);
	assert_int_equal(cycle_of(&t, plain, &hops), 0);
	/* The mean distance in a line of k is (k * k - 1) / 3k. */
	assert_int_equal(hops, 15 * 15 * 20 + 12 * 12 * 40 + 20 * 20 * 8);
	assert_int_equal(cycle_of(&t, route_up_down, &hops), 0);
	topology_free(&t);
	assert_int_equal(topology_hypercube(&t, 6), 0);
	assert_int_equal(cycle_of(&t, plain, &hops), 0);
	assert_int_equal(hops, 64 * 64 * 3);
	topology_free(&t);
	assert_int_equal(topology_full(&t, 12), 0);
	assert_int_equal(cycle_of(&t, plain, &hops), 0);
	assert_int_equal(hops, 12 * 11);
	topology_free(&t);
}

static void up_down_works_on_every_graph(void **state)
{
	struct random r = test_random(20);
	(void)state;
	for (int i = 0; i < 300; i++) {
		struct topology t;
		uint64_t hops;
		random_graph(&t, &r);
		assert_int_equal(cycle_of(&t, route_up_down, &hops), 0);
		topology_free(&t);
	}
}

/* ---- all routes of a source ---- */

struct expected {
	const struct topology *topology;
	const struct route_tree *tree;
	uint32_t from, next;
};

static int take_expected(
	void *context, uint32_t to, const struct route_leg *leg, int count)
{
	struct expected *x = context;
	struct route r;
	int e = route_up_down(x->topology, x->tree, x->from, to, &r);
	assert_int_equal(to, x->next++);
	assert_int_equal(count, e ? e : (int)r.count);
	for (int i = 0; i < count; i++) {
		assert_int_equal(leg[i].port, r.leg[i].port);
		assert_int_equal(leg[i].low, r.leg[i].low);
		assert_int_equal(leg[i].high, 0);
	}
	return 0;
}

static void check_sources(const struct topology *t)
{
	struct route_tree tree;
	assert_int_equal(route_forest_open(&tree, t), 0);
	for (uint32_t from = 0; from < t->nodes; from++) {
		struct expected x = { t, &tree, from, 0 };
		assert_int_equal(
			route_up_down_all(t, &tree, from, take_expected, &x),
			0);
		assert_int_equal(x.next, t->nodes);
	}
	route_tree_free(&tree);
}

static void one_search_finds_the_same_routes(void **state)
{
	const uint32_t size[2] = { 5, 4 };
	struct random r = test_random(21);
	struct topology t;
	(void)state;
	for (int i = 0; i < 30; i++) {
		random_graph(&t, &r);
		check_sources(&t);
		/* Some nodes are cut off. */
		topology_isolate(&t, random_below(&r, t.nodes));
		topology_isolate(&t, random_below(&r, t.nodes));
		check_sources(&t);
		topology_free(&t);
	}
	assert_int_equal(topology_torus(&t, size, 2), 0);
	check_sources(&t);
	topology_free(&t);
}

static int take_counts(
	void *context, uint32_t to, const struct route_leg *leg, int count)
{
	(void)context;
	(void)leg;
	assert_int_equal(count, to <= ROUTE_ALL_LEGS_MAX ? (int)to : -E2BIG);
	return to == ROUTE_ALL_LEGS_MAX + 1 ? -ECANCELED : 0;
}

static void routes_with_too_many_legs_are_refused(void **state)
{
	struct topology t;
	struct route_tree tree;
	struct route r;
	(void)state;
	line_of_turns(&t, ROUTE_ALL_LEGS_MAX + 3);
	assert_int_equal(route_tree_open(&tree, &t), 0);
	assert_int_equal(
		route_up_down_all(&t, &tree, 0, take_counts, NULL), -ECANCELED);
	assert_int_equal(
		route_up_down_all(&t, &tree, t.nodes, take_counts, NULL),
		-EINVAL);
	assert_int_equal(route_up_down(&t, &tree, 0, ROUTE_LEGS_MAX, &r), 0);
	assert_int_equal(route_end(&t, 0, &r), ROUTE_LEGS_MAX);
	assert_int_equal(
		route_up_down(&t, &tree, 0, ROUTE_LEGS_MAX + 1, &r), -E2BIG);
	route_tree_free(&tree);
	topology_free(&t);
}

/* Many hops are not many legs. */
static void long_routes_with_few_legs_are_found(void **state)
{
	struct topology t;
	struct route_tree tree;
	struct route r;
	(void)state;
	assert_int_equal(topology_ring(&t, 5000), 0);
	assert_int_equal(route_tree_open(&tree, &t), 0);
	assert_int_equal(route_up_down(&t, &tree, 1, 2500, &r), 0);
	assert_int_equal(r.count, 1);
	assert_int_equal(route_hops(&r), 2499);
	route_tree_free(&tree);
	topology_free(&t);
}

static void every_connected_part_has_a_root(void **state)
{
	const struct topology_link links[3] = { { { 1, 3 } }, { { 3, 4 } },
		{ { 0, 2 } } };
	static const uint32_t wanted[6] = { 0, 0, 1, 1, 2, 0 };
	struct topology t;
	struct route_tree tree;
	struct route r;
	(void)state;
	assert_int_equal(topology_graph(&t, 6, links, 3), 0);
	assert_int_equal(route_tree_open(&tree, &t), -EHOSTUNREACH);
	assert_int_equal(route_forest_open(&tree, &t), 0);
	assert_memory_equal(tree.level, wanted, sizeof(wanted));
	assert_int_equal(route_up_down(&t, &tree, 4, 1, &r), 0);
	assert_int_equal(route_end(&t, 4, &r), 1);
	assert_int_equal(route_up_down(&t, &tree, 4, 0, &r), -EHOSTUNREACH);
	route_tree_free(&tree);
	topology_free(&t);
}

static void wrong_routes_are_refused(void **state)
{
	const struct topology_link island = { { 0, 1 } };
	const uint32_t size[1] = { 4 };
	struct topology t;
	struct route_tree tree;
	struct route r;
	struct dependency d;
	(void)state;
	assert_int_equal(topology_graph(&t, 3, &island, 1), 0);
	assert_int_equal(route_tree_open(&tree, &t), -EHOSTUNREACH);
	assert_int_equal(plain(&t, NULL, 0, 1, &r), -EOPNOTSUPP);
	topology_free(&t);
	assert_int_equal(topology_mesh(&t, size, 1), 0);
	assert_int_equal(plain(&t, NULL, 0, 4, &r), -EINVAL);
	assert_int_equal(dependency_open(&d, &t, 2), 0);
	r = (struct route){ .count = 1, .leg = { { 0, 4, 0 } } };
	assert_int_equal(dependency_add_route(&d, 0, &r), -EINVAL);
	assert_int_equal(route_end(&t, 0, &r), TOPOLOGY_NOWHERE);
	dependency_free(&d);
	topology_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(tori_need_groups),
		cmocka_unit_test(the_dateline_decides_the_group),
		cmocka_unit_test(other_topologies_need_no_groups),
		cmocka_unit_test(up_down_works_on_every_graph),
		cmocka_unit_test(one_search_finds_the_same_routes),
		cmocka_unit_test(routes_with_too_many_legs_are_refused),
		cmocka_unit_test(long_routes_with_few_legs_are_found),
		cmocka_unit_test(every_connected_part_has_a_root),
		cmocka_unit_test(wrong_routes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
