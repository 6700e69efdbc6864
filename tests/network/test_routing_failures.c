/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Up/down routing after failures: connected nodes have paths, and these are
 * free of deadlock.
 */
#include <errno.h>
#include <pthread.h>

#include "routings.h"

static const struct routing_options up_down = { .class = &routing_up_down,
	.groups = 2 };
static const struct routing_options dated = { .class = &routing_dimension_order,
	.grouping = ROUTE_GROUPS_DATED,
	.ties = ROUTE_TIES_PAIR,
	.groups = 2 };

static void up_down_uses_both_groups(void **state)
{
	const uint32_t size[2] = { 6, 6 };
	struct routing_options one = up_down;
	uint32_t high = 0, all = 0;
	struct topology t;
	struct route r;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 2), 0);
	struct routing *s = routing_of(&t, &up_down);
	one.groups = 1;
	struct routing *low = routing_of(&t, &one);
	for (uint32_t a = 0; a < t.nodes; a++)
		for (uint32_t b = 0; b < t.nodes; b++) {
			find_route(s, a, b, &r);
			for (unsigned i = 1; i < r.count; i++)
				assert_int_equal(
					r.leg[i].high != 0, r.leg[0].high != 0);
			all += r.count != 0;
			high += r.count && r.leg[0].high;
			find_route(low, a, b, &r);
			for (unsigned i = 0; i < r.count; i++)
				assert_int_equal(r.leg[i].high, 0);
		}
	assert_true(high > all * 0.45 && high < all * 0.55);
	routing_close(low);
	routing_close(s);
	topology_free(&t);
}

/* ---- random failures ---- */

static void random_losses(struct topology *t, struct random *r)
{
	for (uint32_t n = random_below(r, t->nodes / 2 + 1); n; n--)
		topology_cut(t, random_below(r, t->nodes),
			random_below(r, t->ports));
	for (uint32_t n = random_below(r, 4); n; n--)
		topology_isolate(t, random_below(r, t->nodes));
	check_links(t);
}

/* For every node, the lowest node that it can reach. */
static void parts_of(const struct topology *t, uint32_t *part)
{
	bool again = true;
	for (uint32_t i = 0; i < t->nodes; i++)
		part[i] = i;
	while (again) {
		again = false;
		for (uint32_t i = 0; i < t->nodes; i++)
			for (unsigned p = 0; p < t->ports; p++) {
				uint32_t next = topology_next(t, i, p);
				if (next == TOPOLOGY_NOWHERE ||
					part[next] <= part[i])
					continue;
				part[next] = part[i];
				again = true;
			}
	}
}

/* Never up after down, and within the topology. */
static void check_up_down(const struct topology *t,
	const struct route_tree *tree, uint32_t node, const struct route *r)
{
	bool down = false;
	for (unsigned i = 0; i < r->count; i++)
		for (uint32_t h = r->leg[i].low + r->leg[i].high; h; h--) {
			uint32_t next = topology_next(t, node, r->leg[i].port);
			assert_true(next < t->nodes);
			uint32_t a = tree->level[node], b = tree->level[next];
			bool up = b < a || (b == a && next < node);
			assert_false(up && down);
			down = !up;
			node = next;
		}
}

static void check_left(const struct topology *t, struct routing *s)
{
	uint32_t part[64];
	struct route_tree tree;
	struct routing_path w;
	struct route r, shortest;
	assert_true(t->nodes <= COUNT(part));
	parts_of(t, part);
	assert_int_equal(route_forest_open(&tree, t), 0);
	for (uint32_t a = 0; a < t->nodes; a++)
		for (uint32_t b = 0; b < t->nodes; b++) {
			if (part[a] != part[b]) {
				assert_int_equal(
					routing_find(s, a, b, NULL, &w),
					-EHOSTUNREACH);
				continue;
			}
			find_route(s, a, b, &r);
			assert_int_equal(route_end(t, a, &r), b);
			check_up_down(t, &tree, a, &r);
			assert_int_equal(
				route_up_down(t, &tree, a, b, &shortest), 0);
			assert_int_equal(route_hops(&r), route_hops(&shortest));
		}
	route_tree_free(&tree);
	assert_int_equal(cycle_of(t, s), 0);
}

static void connected_nodes_have_a_path(void **state)
{
	static const uint32_t sizes[][3] = { { 4, 4, 3 }, { 7, 5, 1 },
		{ 2, 2, 2 }, { 2, 9, 2 } };
	struct random r = test_random(5);
	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		const uint32_t *size = sizes[i % COUNT(sizes)];
		struct topology t;
		struct routing *s;
		if (i < 30) {
			assert_int_equal(
				topology_torus(&t, size, size[2] > 1 ? 3 : 2),
				0);
			s = routing_of(&t, &up_down);
		} else {
			random_graph(&t, &r);
			s = routing_of(&t, &up_down);
			check_left(&t, s);
		}
		for (int renewals = 0; renewals < 2; renewals++) {
			random_losses(&t, &r);
			assert_int_equal(routing_rebuild(s), 0);
			check_left(&t, s);
		}
		routing_close(s);
		topology_free(&t);
	}
}

static void earlier_paths_stay_readable(void **state)
{
	struct topology t;
	struct routing_path w, cut;
	uint32_t copy[50];
	(void)state;
	line_of_turns(&t, 60);
	struct routing *s = routing_of(&t, &up_down);
	path_find(s, 5, 55, &w);
	assert_int_equal(w.count, 50);
	memcpy(copy, routing_path_legs(&w), sizeof(copy));
	topology_isolate(&t, 30);
	assert_int_equal(routing_rebuild(s), 0);
	assert_int_equal(routing_find(s, 5, 55, NULL, &cut), -EHOSTUNREACH);
	assert_int_equal(cut.count, 0);
	for (unsigned i = 0; i < w.count; i++)
		assert_int_equal(copy[i], routing_path_legs(&w)[i]);
	routing_close(s);
	topology_free(&t);
	/* Paths of dimension order stay readable, too. */
	assert_int_equal(topology_hypercube(&t, 10), 0);
	s = routing_of(&t, &dated);
	path_find(s, 0, 1023, &w);
	assert_int_equal(w.count, 10);
	topology_isolate(&t, 1);
	assert_int_equal(routing_rebuild(s), -EOPNOTSUPP);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(
			routing_path_legs(&w)[i], routing_leg(i, 1, 0));
	routing_close(s);
	topology_free(&t);
}

/* ---- two threads ---- */

struct vc_request {
	struct routing *space;
	uint32_t nodes, first; /* every other source from the first */
	uint64_t sum;
};

static void *ask(void *context)
{
	struct vc_request *a = context;
	struct routing_path w;
	for (uint32_t from = a->first; from < a->nodes; from += 2)
		for (uint32_t to = 0; to < a->nodes; to++) {
			if (routing_find(a->space, from, to, NULL, &w))
				continue;
			for (unsigned i = 0; i < w.count; i++)
				a->sum = a->sum * 31 + routing_path_legs(&w)[i];
		}
	return NULL;
}

static void two_threads_may_find_paths(void **state)
{
	struct topology t;
	struct random r = test_random(9);
	(void)state;
	random_graph(&t, &r);
	struct routing *s = routing_of(&t, &up_down),
		       *other = routing_of(&t, &up_down);
	struct vc_request asker[2] = { { s, t.nodes, 0, 0 },
		{ s, t.nodes, 1, 0 } };
	pthread_t thread[2];
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, ask, &asker[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < 2; i++) {
		struct vc_request alone = { other, t.nodes, i, 0 };
		ask(&alone);
		assert_true(alone.sum == asker[i].sum);
	}
	routing_close(s);
	routing_close(other);
	topology_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_down_uses_both_groups),
		cmocka_unit_test(connected_nodes_have_a_path),
		cmocka_unit_test(earlier_paths_stay_readable),
		cmocka_unit_test(two_threads_may_find_paths),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
