/* SPDX-License-Identifier: BSD-2-Clause */
/* Routing strings of routes: a router consumes their phits, there and back. */
#include <errno.h>

#include "network/routing/route.h"

#include "topologies.h"

static void dated(
	const struct topology *t, uint32_t from, uint32_t to, struct route *r)
{
	assert_int_equal(
		route_dimension_order(t, ROUTE_GROUPS_DATED, 0, from, to, r),
		0);
}

static uint32_t follow(const struct topology *t, const struct routing_string *p,
	struct string_cursor *c, uint32_t node, uint32_t *high)
{
	for (uint32_t hops = 0; hops < 10000; hops++) {
		enum channel_group group;
		unsigned port = routing_string_step(p, c, &group);
		if (port >= STRING_PORT_LINKS)
			return port == STRING_PORT_ANY ? node
						       : TOPOLOGY_NOWHERE;
		*high += group == GROUP_HIGH;
		node = topology_next(t, node, port);
		assert_true(node < t->nodes);
	}
	return TOPOLOGY_NOWHERE;
}

/* Follows a string there and back, as a router does. */
static void check_pair(const struct topology *t, uint32_t a, uint32_t b)
{
	struct route there, back;
	struct routing_string p;
	struct string_cursor c;
	uint32_t high = 0, wanted = 0;
	dated(t, a, b, &there);
	dated(t, b, a, &back);
	assert_int_equal(
		routing_string_build(&p, (uint16_t)b, &there, &back), 0);
	assert_int_equal(routing_string_check(&p), 0);
	for (unsigned i = 0; i < there.count; i++)
		wanted += there.leg[i].high;
	routing_string_start(&p, &c);
	assert_int_equal(follow(t, &p, &c, a, &high), b);
	assert_int_equal(high, wanted);
	assert_true(routing_string_return(&p, &c));
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
	/* Legs with more hops than a phit can hold. */
	assert_int_equal(topology_torus(&t, ring, 1), 0);
	for (uint32_t b = 0; b < t.nodes; b++)
		check_pair(&t, 290, b);
	topology_free(&t);
}

/* All routes from one node; the others are equivalent by symmetry. */
static void a_large_torus_needs_four_phits(void **state)
{
	const uint32_t size[3] = { 26, 26, 26 };
	const uint32_t from[3] = { 0, 12 + 26 * (25 + 26 * 13),
		26 * 26 * 26 - 1 };
	struct topology t;
	struct string_cursor c;
	struct route r;
	struct routing_string p;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 3), 0);
	for (unsigned i = 0; i < COUNT(from); i++)
		for (uint32_t to = 0; to < t.nodes; to++) {
			uint32_t high = 0;
			dated(&t, from[i], to, &r);
			assert_int_equal(
				routing_string_build(&p, 0, &r, NULL), 0);
			assert_true(p.count <= 4);
			routing_string_start(&p, &c);
			assert_int_equal(
				follow(&t, &p, &c, from[i], &high), to);
		}
	topology_free(&t);
}

static void phits_are_as_the_contract_says(void **state)
{
	const struct route there = { .count = 2,
		.leg = { { 1, 2, 3 }, { 4, 1, 0 } } };
	const struct route none = { 0 };
	struct routing_string p;
	(void)state;
	assert_int_equal(routing_string_build(&p, 0xbeef, &there, &none), 0);
	assert_int_equal(p.tag, 0xbeef);
	assert_int_equal(p.count, 4);
	assert_int_equal(p.phit[0], 1 | 2 << 4 | 3 << 10);
	assert_int_equal(p.phit[1], 4 | 1 << 4);
	assert_int_equal(p.phit[2], 15 | 1 << 4);
	assert_int_equal(p.phit[3], 15);
}

static void unrepresentable_routes_are_refused(void **state)
{
	const struct route host = { .count = 1, .leg = { { 6, 1, 0 } } };
	const struct route far = { .count = 1, .leg = { { 0, 100000, 0 } } };
	struct routing_string p;
	(void)state;
	assert_int_equal(routing_string_build(&p, 0, &host, NULL), -EINVAL);
	assert_int_equal(routing_string_build(&p, 0, &far, NULL), -E2BIG);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_lead_there_and_back),
		cmocka_unit_test(a_large_torus_needs_four_phits),
		cmocka_unit_test(phits_are_as_the_contract_says),
		cmocka_unit_test(unrepresentable_routes_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
