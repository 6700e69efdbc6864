/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths of a topology against the routes of every pair of nodes, and their
 * routing strings.
 */
#include <errno.h>

#include "routings.h"

static const struct routing_options up_down = { .class = &routing_up_down,
	.groups = 2 };
static const struct routing_options dated = { .class = &routing_dimension_order,
	.grouping = ROUTE_GROUPS_DATED,
	.ties = ROUTE_TIES_PAIR,
	.groups = 2 };

static void check_equal(const struct route *a, const struct route *b)
{
	assert_int_equal(a->count, b->count);
	for (unsigned i = 0; i < a->count; i++) {
		assert_int_equal(a->leg[i].port, b->leg[i].port);
		assert_int_equal(a->leg[i].low, b->leg[i].low);
		assert_int_equal(a->leg[i].high, b->leg[i].high);
	}
}

/* ---- dimension order ---- */

static void check_pair(struct routing *s, const struct topology *t,
	const struct routing_options *o, uint32_t a, uint32_t b)
{
	struct random random = { a * 7919ull + b }, same = random;
	struct routing_path w;
	struct route wanted, r;
	unsigned down = 0;
	if (o->ties == ROUTE_TIES_PAIR)
		down = route_pair_ties(a, b);
	if (o->ties == ROUTE_TIES_RANDOM)
		down = (unsigned)(random_next(&same) >> 61);
	assert_int_equal(routing_find(s, a, b, &random, &w), 0);
	path_to_route(&w, &r);
	assert_int_equal(
		route_dimension_order(t, o->grouping, down, a, b, &wanted), 0);
	check_equal(&r, &wanted);
	assert_int_equal(route_end(t, a, &r), b);
}

static void check_pairs(
	const struct topology *t, const struct routing_options *o)
{
	struct routing *s = routing_of(t, o);
	for (uint32_t a = 0; a < t->nodes; a++)
		for (uint32_t b = 0; b < t->nodes; b++)
			check_pair(s, t, o, a, b);
	routing_close(s);
}

static void check_options(struct topology *t)
{
	struct routing_options o = { .groups = 2 };
	for (int g = ROUTE_GROUPS_PLAIN; g <= ROUTE_GROUPS_FIXED; g++)
		for (int i = ROUTE_TIES_UP; i <= ROUTE_TIES_RANDOM; i++) {
			o.grouping = (enum route_groups)g;
			o.ties = (enum route_ties)i;
			check_pairs(t, &o);
		}
	topology_free(t);
}

static void paths_match_the_routes(void **state)
{
	static const uint32_t sizes[][3] = { { 4, 3, 5 }, { 2, 6, 2 },
		{ 9, 2, 4 } };
	struct topology t;
	(void)state;
	for (unsigned i = 0; i < COUNT(sizes); i++)
		for (unsigned n = 1; n <= 3; n++) {
			assert_int_equal(topology_torus(&t, sizes[i], n), 0);
			check_options(&t);
			assert_int_equal(topology_mesh(&t, sizes[i], n), 0);
			check_options(&t);
		}
	for (unsigned n = 1; n <= 8; n++) {
		assert_int_equal(topology_hypercube(&t, n), 0);
		check_pairs(&t, &dated);
		topology_free(&t);
	}
	assert_int_equal(topology_full(&t, 13), 0);
	check_options(&t);
}

/* Coordinates are exact for all sizes. */
static void paths_match_the_routes_of_large_topologies(void **state)
{
	static const uint32_t sizes[][3] = { { 1023, 1025, 1 }, { 7, 8191, 18 },
		{ 101, 101, 101 }, { 3, 5, 8100 } };
	struct random r = test_random(1);
	struct topology t;
	(void)state;
	for (unsigned i = 0; i < COUNT(sizes); i++) {
		unsigned n = sizes[i][2] > 1 ? 3 : 2;
		assert_int_equal(topology_torus(&t, sizes[i], n), 0);
		struct routing *s = routing_of(&t, &dated);
		check_pair(s, &t, &dated, t.nodes - 1, t.nodes / 2);
		for (int pairs = 0; pairs < 3000; pairs++)
			check_pair(s, &t, &dated, random_below(&r, t.nodes),
				random_below(&r, t.nodes));
		routing_close(s);
		topology_free(&t);
	}
}

static void long_legs_are_split(void **state)
{
	const uint32_t line[1] = { 6 * ROUTING_HOPS_MAX + 1 };
	const uint32_t longer[1] = { 6 * ROUTING_HOPS_MAX + 2 };
	const char *why;
	struct topology t;
	struct route r;
	(void)state;
	assert_int_equal(topology_ring(&t, 20000), 0);
	struct routing *s = routing_of(&t, &dated);
	find_route(s, 15000, 4500, &r);
	assert_int_equal(r.count, 3);
	assert_int_equal(route_hops(&r), 9500);
	assert_int_equal(r.leg[1].low, 5000 - ROUTING_HOPS_MAX);
	assert_int_equal(r.leg[1].high, ROUTING_HOPS_MAX);
	assert_int_equal(route_end(&t, 15000, &r), 4500);
	routing_close(s);
	topology_free(&t);
	assert_int_equal(topology_mesh(&t, line, 1), 0);
	s = routing_of(&t, &dated);
	find_route(s, 0, 6 * ROUTING_HOPS_MAX, &r);
	assert_int_equal(route_end(&t, 0, &r), 6 * ROUTING_HOPS_MAX);
	routing_close(s);
	topology_free(&t);
	assert_int_equal(topology_mesh(&t, longer, 1), 0);
	assert_int_equal(routing_open(&s, &t, &dated, &why), -EINVAL);
	/* Up/down has room for more. */
	s = routing_of(&t, &up_down);
	find_route(s, 0, 6 * ROUTING_HOPS_MAX + 1, &r);
	assert_int_equal(r.count, 7);
	assert_int_equal(route_end(&t, 0, &r), 6 * ROUTING_HOPS_MAX + 1);
	routing_close(s);
	topology_free(&t);
}

/* The share of ties that go up. */
static void count_ties(const struct topology *t, const struct route *r,
	uint32_t up[3], uint32_t all[3])
{
	for (unsigned i = 0; i < r->count; i++) {
		unsigned d = r->leg[i].port / 2;
		if (2 * (r->leg[i].low + r->leg[i].high) != t->size[d])
			continue;
		all[d]++;
		up[d] += !(r->leg[i].port & 1);
	}
}

static void half_of_the_ties_go_up(void **state)
{
	const uint32_t size[3] = { 8, 6, 4 };
	uint32_t up[3] = { 0 }, all[3] = { 0 };
	struct topology t;
	struct route r;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 3), 0);
	struct routing *s = routing_of(&t, &dated);
	for (uint32_t a = 0; a < t.nodes; a++)
		for (uint32_t b = 0; b < t.nodes; b++) {
			find_route(s, a, b, &r);
			count_ties(&t, &r, up, all);
		}
	for (unsigned d = 0; d < 3; d++) {
		assert_int_equal(all[d], t.nodes * t.nodes / size[d]);
		assert_true(up[d] > all[d] * 0.48 && up[d] < all[d] * 0.52);
	}
	routing_close(s);
	topology_free(&t);
}

/* ---- deadlock ---- */

static void groups_break_the_cycles_of_tori(void **state)
{
	const uint32_t size[2] = { 5, 4 };
	struct routing_options o = dated;
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 2), 0);
	for (int g = ROUTE_GROUPS_PLAIN; g <= ROUTE_GROUPS_FIXED; g++)
		for (o.groups = 1; o.groups <= 2; o.groups++) {
			o.grouping = (enum route_groups)g;
			struct routing *s = routing_of(&t, &o);
			/* A single group cannot be told apart. */
			bool plain = g == ROUTE_GROUPS_PLAIN || o.groups == 1;
			assert_int_equal(cycle_of(&t, s) != 0, plain);
			/* Its paths do not change after failures. */
			assert_int_equal(routing_rebuild(s), -EOPNOTSUPP);
			routing_close(s);
		}
	topology_free(&t);
}

/* ---- routing strings ---- */

static uint32_t follow(const struct topology *t, const struct routing_string *p,
	struct string_cursor *c, uint32_t node)
{
	for (int hops = 0; hops < 1000; hops++) {
		enum channel_group group;
		unsigned port = routing_string_step(p, c, &group);
		if (port == STRING_PORT_ANY)
			return node;
		node = topology_next(t, node, port);
		assert_true(node < t->nodes);
	}
	return TOPOLOGY_NOWHERE;
}

static void strings_lead_there_and_back(void **state)
{
	const uint32_t size[3] = { 26, 26, 26 };
	const uint32_t from = 25 + 26 * (12 + 26 * 13);
	struct topology t;
	struct routing_path there, back;
	struct string_cursor c;
	struct routing_string p;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 3), 0);
	struct routing *s = routing_of(&t, &dated);
	for (uint32_t to = 0; to < t.nodes; to++) {
		path_find(s, from, to, &there);
		path_find(s, to, from, &back);
		assert_int_equal(routing_string_of(0x77, &there, NULL, &p), 0);
		assert_true(p.count <= 4);
		assert_int_equal(routing_string_of(0x77, &there, &back, &p), 0);
		assert_true(p.count <= 8);
		assert_int_equal(p.tag, 0x77);
		assert_int_equal(routing_string_check(&p), 0);
		routing_string_start(&p, &c);
		assert_int_equal(follow(&t, &p, &c, from), to);
		assert_true(routing_string_return(&p, &c));
		assert_int_equal(follow(&t, &p, &c, to), from);
	}
	routing_close(s);
	topology_free(&t);
}

static void paths_without_a_string_are_refused(void **state)
{
	const struct routing_path host = { .count = 1,
		.leg = { routing_leg(ROUTING_PORT_HOST, 1, 0) } };
	const struct routing_path far = { .count = 1,
		.leg = { routing_leg(0, ROUTING_HOPS_MAX, 0) } };
	const struct routing_path short_one = { .count = 1,
		.leg = { routing_leg(5, 1, 0) } };
	struct topology t;
	struct routing_path w;
	struct routing_string p;
	(void)state;
	assert_int_equal(routing_string_of(0, &host, NULL, &p), -EINVAL);
	assert_int_equal(routing_string_of(0, &short_one, &host, &p), -EINVAL);
	assert_int_equal(routing_string_of(0, &far, NULL, &p), -E2BIG);
	assert_int_equal(routing_string_of(0, &short_one, &short_one, &p), 0);
	line_of_turns(&t, 100);
	struct routing *s = routing_of(&t, &up_down);
	path_find(s, 0, 99, &w);
	assert_int_equal(routing_string_of(0, &w, NULL, &p), -E2BIG);
	routing_close(s);
	topology_free(&t);
}

static void invalid_options_are_refused(void **state)
{
	struct routing_options o = dated;
	struct topology t;
	struct routing_path w;
	struct routing *s;
	const char *why;
	(void)state;
	line_of_turns(&t, ROUTE_ALL_LEGS_MAX + 2);
	assert_int_equal(routing_open(&s, &t, &o, &why), -EINVAL);
	o.class = &routing_up_down;
	o.groups = 0;
	assert_int_equal(routing_open(&s, &t, &o, &why), -EINVAL);
	o.groups = 3;
	assert_int_equal(routing_open(&s, &t, &o, &why), -EINVAL);
	routing_close(NULL);
	s = routing_of(&t, &up_down);
	path_find(s, 0, ROUTE_ALL_LEGS_MAX, &w);
	assert_int_equal(
		routing_find(s, 0, ROUTE_ALL_LEGS_MAX + 1, NULL, &w), -E2BIG);
	path_find(s, 7, 7, &w);
	assert_int_equal(w.count, 0);
	routing_close(s);
	topology_free(&t);
	/* A single node has no destination. */
	assert_int_equal(topology_graph(&t, 1, NULL, 0), 0);
	s = routing_of(&t, &up_down);
	path_find(s, 0, 0, &w);
	assert_int_equal(w.count, 0);
	routing_close(s);
	topology_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_match_the_routes),
		cmocka_unit_test(paths_match_the_routes_of_large_topologies),
		cmocka_unit_test(long_legs_are_split),
		cmocka_unit_test(half_of_the_ties_go_up),
		cmocka_unit_test(groups_break_the_cycles_of_tori),
		cmocka_unit_test(strings_lead_there_and_back),
		cmocka_unit_test(paths_without_a_string_are_refused),
		cmocka_unit_test(invalid_options_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
