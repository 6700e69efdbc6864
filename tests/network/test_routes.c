/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies, routes, routing strings, and whether routes are free of deadlock:
 * closed forms, and every pair of nodes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/dependency.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- topologies ---- */

/* Every link leads back to where it came from. */
static void check_links(const struct topology *t)
{
	for (uint32_t node = 0; node < t->nodes; node++)
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next == TOPOLOGY_NOWHERE)
				continue;
			unsigned back = t->entrance[node * t->ports + p];
			assert_true(next < t->nodes);
			assert_int_equal(topology_next(t, next, back), node);
			assert_int_equal(
				t->entrance[next * t->ports + back], p);
		}
}

static uint64_t link_ends(const struct topology *t)
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < (uint64_t)t->nodes * t->ports; i++)
		n += t->neighbour[i] != TOPOLOGY_NOWHERE;
	return n;
}

static void links_are_as_many_as_they_should_be(void **state)
{
	const uint32_t size[3] = { 4, 3, 5 };
	const struct topology_link star[3] = { { { 0, 1 } }, { { 0, 2 } },
		{ { 3, 0 } } };
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 3), 0);
	assert_int_equal(link_ends(&t), 60 * 6);
	check_links(&t);
	topology_free(&t);
	assert_int_equal(topology_mesh(&t, size, 3), 0);
	assert_int_equal(
		link_ends(&t), 2 * (3 * 3 * 5 + 4 * 2 * 5 + 4 * 3 * 4));
	check_links(&t);
	topology_free(&t);
	assert_int_equal(topology_hypercube(&t, 6), 0);
	assert_int_equal(link_ends(&t), 64 * 6);
	check_links(&t);
	topology_free(&t);
	assert_int_equal(topology_full(&t, 9), 0);
	assert_int_equal(link_ends(&t), 9 * 8);
	check_links(&t);
	topology_free(&t);
	assert_int_equal(topology_graph(&t, 4, star, 3), 0);
	assert_int_equal(t.ports, 3);
	assert_int_equal(link_ends(&t), 6);
	check_links(&t);
	topology_free(&t);
}

static void wrong_topologies_are_refused(void **state)
{
	const uint32_t flat[2] = { 4, 1 }, huge[3] = { 4096, 4096, 4096 };
	const struct topology_link self = { { 2, 2 } }, far = { { 0, 4 } };
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, flat, 2), -EINVAL);
	assert_int_equal(topology_torus(&t, flat, 0), -EINVAL);
	assert_int_equal(topology_torus(&t, flat, 4), -EINVAL);
	assert_int_equal(topology_mesh(&t, huge, 3), -E2BIG);
	assert_int_equal(topology_hypercube(&t, 0), -EINVAL);
	assert_int_equal(topology_hypercube(&t, 21), -E2BIG);
	assert_int_equal(topology_full(&t, 1), -EINVAL);
	assert_int_equal(topology_full(&t, 34), -E2BIG);
	assert_int_equal(topology_graph(&t, 0, NULL, 0), -EINVAL);
	assert_int_equal(topology_graph(&t, 4, &self, 1), -EINVAL);
	assert_int_equal(topology_graph(&t, 4, &far, 1), -EINVAL);
}

/* ---- routes ---- */

typedef int router(const struct topology *, const struct route_tree *,
	uint32_t from, uint32_t to, struct route *);

static int plain(const struct topology *t, const struct route_tree *tree,
	uint32_t from, uint32_t to, struct route *r)
{
	(void)tree;
	return route_dimension_order(t, ROUTE_GROUPS_PLAIN, from, to, r);
}

static int dated(const struct topology *t, const struct route_tree *tree,
	uint32_t from, uint32_t to, struct route *r)
{
	(void)tree;
	return route_dimension_order(t, ROUTE_GROUPS_DATED, from, to, r);
}

/* Over all pairs: each ends where it should; the hops of all of them. */
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
			assert_int_equal(dependency_add(d, a, &r), 0);
			hops += route_hops(&r);
		}
	route_tree_free(&tree);
	return hops;
}

/* How long a cycle of dependencies of all routes is; 0: none. */
static uint32_t cycle_of(
	const struct topology *t, router *route, uint64_t *hops)
{
	struct dependency d;
	struct channel *cycle;
	uint32_t length;
	assert_int_equal(dependency_open(&d, t), 0);
	*hops = all_pairs(t, route, &d);
	assert_int_equal(dependency_cycle(&d, &cycle, &length), 0);
	/* Each of them leads to the node that the next leaves from. */
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
		/* Whose rings are so short that no route takes two hops. */
		assert_int_equal(cycle_of(&t, plain, &hops) != 0, turns);
		assert_int_equal(hops, wanted);
		assert_int_equal(cycle_of(&t, dated, &hops), 0);
		assert_int_equal(hops, wanted);
		assert_int_equal(cycle_of(&t, route_up_down, &hops), 0);
		assert_true(hops >= wanted);
		topology_free(&t);
	}
}

static void others_need_none(void **state)
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

static uint64_t random_next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	uint64_t x = *state;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* A random tree, so that it is connected, and some links more. */
static void random_graph(struct topology *t, uint64_t *seed)
{
	struct topology_link links[120];
	uint32_t nodes = 2 + (uint32_t)(random_next(seed) % 40), n = 0;
	for (uint32_t i = 1; i < nodes; i++)
		links[n++] = (struct topology_link){ { i,
			i - 1 -
				(uint32_t)(random_next(seed) %
					   (i < 4 ? i : 4)) } };
	for (unsigned more = random_next(seed) % 40; more; more--) {
		uint32_t a = (uint32_t)(random_next(seed) % nodes);
		uint32_t b = (uint32_t)(random_next(seed) % nodes);
		if (a != b)
			links[n++] = (struct topology_link){ { a, b } };
	}
	assert_int_equal(topology_graph(t, nodes, links, n), 0);
	check_links(t);
}

static void up_and_down_suits_every_graph(void **state)
{
	uint64_t seed =
		getenv("CAY_SEED") ? strtoull(getenv("CAY_SEED"), NULL, 0) : 20;
	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	for (int i = 0; i < 300; i++) {
		struct topology t;
		uint64_t hops;
		random_graph(&t, &seed);
		assert_int_equal(cycle_of(&t, route_up_down, &hops), 0);
		topology_free(&t);
	}
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
	assert_int_equal(dependency_open(&d, &t), 0);
	r = (struct route){ .count = 1, .leg = { { 0, 4, 0 } } };
	assert_int_equal(dependency_add(&d, 0, &r), -EINVAL);
	assert_int_equal(route_end(&t, 0, &r), TOPOLOGY_NOWHERE);
	dependency_free(&d);
	topology_free(&t);
}

/* ---- routing strings ---- */

static uint32_t follow(const struct topology *t, const struct path *p,
	struct path_cursor *c, uint32_t node, uint32_t *high)
{
	for (uint32_t hops = 0; hops < 10000; hops++) {
		enum path_group group;
		unsigned port = path_step(p, c, &group);
		if (port >= PATH_PORT_LINKS)
			return port == PATH_PORT_ANY ? node : TOPOLOGY_NOWHERE;
		*high += group == PATH_HIGH;
		node = topology_next(t, node, port);
		assert_true(node < t->nodes);
	}
	return TOPOLOGY_NOWHERE;
}

/* There and back, by what a switch would do with the phits. */
static void check_pair(const struct topology *t, uint32_t a, uint32_t b)
{
	struct route there, back;
	struct path p;
	struct path_cursor c;
	uint32_t high = 0, wanted = 0;
	dated(t, NULL, a, b, &there);
	dated(t, NULL, b, a, &back);
	assert_int_equal(path_build(&p, (uint16_t)b, &there, &back), 0);
	assert_int_equal(path_check(&p), 0);
	for (unsigned i = 0; i < there.count; i++)
		wanted += there.leg[i].high;
	path_start(&p, &c);
	assert_int_equal(follow(t, &p, &c, a, &high), b);
	assert_int_equal(high, wanted);
	assert_true(path_turn(&p, &c));
	assert_int_equal(follow(t, &p, &c, b, &high), a);
}

static void strings_lead_there_and_back(void **state)
{
	const uint32_t size[3] = { 5, 4, 3 }, ring[1] = { 301 };
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 3), 0);
	for (uint32_t a = 0; a < t.nodes; a++)
		for (uint32_t b = 0; b < t.nodes; b++)
			check_pair(&t, a, b);
	topology_free(&t);
	/* Ways of more hops than a phit counts. */
	assert_int_equal(topology_torus(&t, ring, 1), 0);
	for (uint32_t b = 0; b < t.nodes; b++)
		check_pair(&t, 290, b);
	topology_free(&t);
}

static void a_large_torus_needs_four_phits(void **state)
{
	const uint32_t size[3] = { 26, 26, 26 };
	uint64_t seed = 7;
	struct topology t;
	struct route r;
	struct path p;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 3), 0);
	for (int i = 0; i < 20000; i++) {
		uint32_t a = (uint32_t)(random_next(&seed) % t.nodes);
		uint32_t b = (uint32_t)(random_next(&seed) % t.nodes);
		assert_int_equal(dated(&t, NULL, a, b, &r), 0);
		assert_int_equal(path_build(&p, (uint16_t)b, &r, NULL), 0);
		assert_true(p.count <= 4);
		assert_int_equal(route_end(&t, a, &r), b);
	}
	topology_free(&t);
}

static void phits_are_as_the_contract_says(void **state)
{
	const struct route there = { .count = 2,
		.leg = { { 1, 2, 3 }, { 4, 1, 0 } } };
	const struct route none = { 0 };
	struct path p;
	(void)state;
	assert_int_equal(path_build(&p, 0xbeef, &there, &none), 0);
	assert_int_equal(p.tag, 0xbeef);
	assert_int_equal(p.count, 4);
	assert_int_equal(p.phit[0], 1 | 2 << 4 | 3 << 10);
	assert_int_equal(p.phit[1], 4 | 1 << 4);
	assert_int_equal(p.phit[2], 15 | 1 << 4);
	assert_int_equal(p.phit[3], 15);
}

static void wrong_strings_are_refused(void **state)
{
	static const struct path wrong[] = {
		{ .count = 0 },
		{ .count = 1, .phit = { 1 | 1 << 4 } },
		{ .count = 2, .phit = { 0, 15 } },
		{ .count = 1, .phit = { PATH_PORT_DEBUG } },
		{ .count = 1, .phit = { 12 } },
		{ .count = 2, .phit = { 15, 15 } },
		{ .count = 1, .phit = { 15 | PATH_BACK } },
		{ .count = 2, .phit = { 15 | PATH_BACK, 15 | PATH_BACK } },
		{ .count = PATH_PHITS_MAX + 1 },
	};
	const struct route host = { .count = 1, .leg = { { 6, 1, 0 } } };
	const struct route far = { .count = 1, .leg = { { 0, 100000, 0 } } };
	struct path p;
	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++)
		assert_int_equal(path_check(&wrong[i]), -EINVAL);
	assert_int_equal(path_build(&p, 0, &host, NULL), -EINVAL);
	assert_int_equal(path_build(&p, 0, &far, NULL), -E2BIG);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_as_many_as_they_should_be),
		cmocka_unit_test(wrong_topologies_are_refused),
		cmocka_unit_test(tori_need_groups),
		cmocka_unit_test(others_need_none),
		cmocka_unit_test(up_and_down_suits_every_graph),
		cmocka_unit_test(wrong_routes_are_refused),
		cmocka_unit_test(strings_lead_there_and_back),
		cmocka_unit_test(a_large_torus_needs_four_phits),
		cmocka_unit_test(phits_are_as_the_contract_says),
		cmocka_unit_test(wrong_strings_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
