/* SPDX-License-Identifier: BSD-2-Clause */
/* Topologies: their links, and the removal of links. */
#include <errno.h>

#include "topologies.h"

static uint64_t link_ends(const struct topology *t)
{
	uint64_t n = 0;
	for (uint64_t i = 0; i < (uint64_t)t->nodes * t->ports; i++)
		n += t->neighbour[i] != TOPOLOGY_NOWHERE;
	return n;
}

static void topologies_have_the_expected_links(void **state)
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

static void a_cut_link_is_removed_at_both_ends(void **state)
{
	const uint32_t size[2] = { 2, 3 };
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 2), 0);
	assert_int_equal(topology_cut(&t, 0, 0), 0);
	assert_int_equal(topology_next(&t, 0, 0), TOPOLOGY_NOWHERE);
	assert_int_equal(topology_next(&t, 1, 1), TOPOLOGY_NOWHERE);
	/* The other link of the same two nodes is still there. */
	assert_int_equal(topology_next(&t, 0, 1), 1);
	assert_int_equal(link_ends(&t), 6 * 4 - 2);
	check_links(&t);
	assert_int_equal(topology_cut(&t, 1, 1), 0);
	assert_int_equal(link_ends(&t), 6 * 4 - 2);
	assert_int_equal(topology_cut(&t, 6, 0), -EINVAL);
	assert_int_equal(topology_cut(&t, 0, 4), -EINVAL);
	topology_free(&t);
}

static void an_isolated_node_has_no_links(void **state)
{
	struct topology t;
	(void)state;
	assert_int_equal(topology_ring(&t, 5), 0);
	assert_int_equal(link_ends(&t), 10);
	assert_int_equal(topology_isolate(&t, 2), 0);
	assert_int_equal(link_ends(&t), 6);
	assert_int_equal(topology_next(&t, 1, 0), TOPOLOGY_NOWHERE);
	assert_int_equal(topology_next(&t, 3, 1), TOPOLOGY_NOWHERE);
	check_links(&t);
	assert_int_equal(topology_isolate(&t, 5), -EINVAL);
	topology_free(&t);
	assert_int_equal(topology_ring(&t, 1), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(topologies_have_the_expected_links),
		cmocka_unit_test(wrong_topologies_are_refused),
		cmocka_unit_test(a_cut_link_is_removed_at_both_ends),
		cmocka_unit_test(an_isolated_node_has_no_links),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
