/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spanning trees: every reachable node once, over existing links, at its least
 * distance from the root.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "network/topology/tree.h"
#include "network/traffic/random.h"

#define FAR UINT32_MAX

/* ---- properties of a tree ---- */

/* Distances from the root, by relaxation. */
static uint32_t *distances(const struct topology *t, uint32_t root)
{
	uint32_t *d = malloc(t->nodes * sizeof(*d));
	bool changed = true;
	assert_non_null(d);
	memset(d, 0xff, t->nodes * sizeof(*d));
	d[root] = 0;
	while (changed) {
		changed = false;
		for (uint64_t i = 0; i < (uint64_t)t->nodes * t->ports; i++) {
			uint32_t from = d[i / t->ports], to = t->neighbour[i];
			if (from == FAR || to == TOPOLOGY_NOWHERE ||
				d[to] <= from + 1)
				continue;
			d[to] = from + 1;
			changed = true;
		}
	}
	return d;
}

/* The parent of a node lists it as a child, and is one hop closer. */
static uint32_t check_parent(
	const struct tree *t, const uint32_t *d, uint32_t node)
{
	const struct topology *net = t->topology;
	assert_true(t->up[node] < net->ports);
	uint32_t parent = topology_next(net, node, t->up[node]);
	assert_int_not_equal(parent, TOPOLOGY_NOWHERE);
	unsigned port = net->peer_port[node * net->ports + t->up[node]];
	assert_true(t->down[parent] >> port & 1);
	assert_int_equal(d[parent] + 1, d[node]);
	assert_true(tree_ports(t, node) >> t->up[node] & 1);
	return parent;
}

static void check_order(const struct tree *t, const uint32_t *d)
{
	bool *seen = calloc(t->topology->nodes, sizeof(*seen));
	assert_non_null(seen);
	assert_int_equal(t->order[0], t->root);
	for (uint32_t i = 0; i < t->reached; i++) {
		uint32_t node = t->order[i];
		assert_false(seen[node]);
		seen[node] = true;
		if (i)
			assert_true(seen[check_parent(t, d, node)]);
	}
	free(seen);
}

/* There are as many children as nodes with a parent; returns the depth. */
static uint32_t check_tree(const struct topology *net, uint32_t root)
{
	uint32_t *d = distances(net, root);
	uint32_t reached = 0, children = 0, depth = 0;
	struct tree t;
	assert_int_equal(tree_open(&t, net, root), 0);
	for (uint32_t node = 0; node < net->nodes; node++) {
		children += (uint32_t)__builtin_popcount(t.down[node]);
		if (d[node] == FAR || node == root)
			assert_int_equal(t.up[node], TREE_NO_PORT);
		if (d[node] == FAR)
			assert_int_equal(tree_ports(&t, node), 0);
		else if (++reached && d[node] > depth)
			depth = d[node];
	}
	assert_int_equal(t.reached, reached);
	assert_int_equal(children, reached - 1);
	assert_int_equal(tree_depth(&t), depth);
	check_order(&t, d);
	tree_free(&t);
	free(d);
	return depth;
}

/* ---- topologies ---- */

static void depths_are_those_of_the_topology(void **state)
{
	const uint32_t size[3] = { 8, 6, 4 }, ring = 7, pair[2] = { 2, 2 };
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 3), 0);
	assert_int_equal(check_tree(&t, 0), 4 + 3 + 2);
	assert_int_equal(check_tree(&t, 101), 4 + 3 + 2);
	topology_free(&t);
	assert_int_equal(topology_mesh(&t, size, 3), 0);
	assert_int_equal(check_tree(&t, 0), 7 + 5 + 3);
	topology_free(&t);
	assert_int_equal(topology_torus(&t, &ring, 1), 0);
	assert_int_equal(check_tree(&t, 5), 3);
	topology_free(&t);
	assert_int_equal(topology_torus(&t, pair, 2), 0);
	assert_int_equal(check_tree(&t, 3), 2);
	topology_free(&t);
	assert_int_equal(topology_hypercube(&t, 7), 0);
	assert_int_equal(check_tree(&t, 77), 7);
	topology_free(&t);
	/* All 32 ports of a node at once. */
	assert_int_equal(topology_full(&t, 33), 0);
	assert_int_equal(check_tree(&t, 32), 1);
	topology_free(&t);
}

static void one_node_is_a_tree(void **state)
{
	struct topology net;
	struct tree t;
	(void)state;
	assert_int_equal(topology_graph(&net, 1, NULL, 0), 0);
	assert_int_equal(check_tree(&net, 0), 0);
	assert_int_equal(tree_open(&t, &net, 0), 0);
	assert_int_equal(t.reached, 1);
	assert_int_equal(tree_ports(&t, 0), 0);
	tree_free(&t);
	topology_free(&net);
}

static void an_invalid_root_is_refused(void **state)
{
	const uint32_t size = 4;
	struct topology net;
	struct tree t;
	(void)state;
	assert_int_equal(topology_torus(&net, &size, 1), 0);
	assert_int_equal(tree_open(&t, &net, 4), -EINVAL);
	tree_free(&t);
	assert_int_equal(tree_open(&t, &net, TOPOLOGY_NOWHERE), -EINVAL);
	tree_free(&t);
	topology_free(&net);
}

/* ---- lost links ---- */

static void cut(struct topology *t, uint32_t node, unsigned port)
{
	uint64_t at = (uint64_t)node * t->ports + port;
	uint32_t next = t->neighbour[at];
	if (next == TOPOLOGY_NOWHERE)
		return;
	t->neighbour[(uint64_t)next * t->ports + t->peer_port[at]] =
		TOPOLOGY_NOWHERE;
	t->neighbour[at] = TOPOLOGY_NOWHERE;
}

static void disconnected_parts_are_left_out(void **state)
{
	const struct topology_link two[3] = { { { 0, 1 } }, { { 2, 3 } },
		{ { 3, 4 } } };
	struct topology net;
	struct tree t;
	(void)state;
	assert_int_equal(topology_graph(&net, 6, two, 3), 0);
	assert_int_equal(check_tree(&net, 0), 1);
	assert_int_equal(check_tree(&net, 4), 2);
	assert_int_equal(check_tree(&net, 5), 0);
	assert_int_equal(tree_open(&t, &net, 4), 0);
	assert_int_equal(t.reached, 3);
	tree_free(&t);
	topology_free(&net);
}

static void trees_grow_around_dead_links(void **state)
{
	const uint32_t ring = 8, size[2] = { 6, 6 };
	struct random r = random_stream(1, 0);
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, &ring, 1), 0);
	cut(&t, 0, 0);
	assert_int_equal(check_tree(&t, 0), 7);
	topology_free(&t);
	assert_int_equal(topology_torus(&t, size, 2), 0);
	for (unsigned i = 0; i < 60; i++) {
		cut(&t, random_below(&r, t.nodes), random_below(&r, t.ports));
		check_tree(&t, random_below(&r, t.nodes));
	}
	topology_free(&t);
}

/* The depth does not depend on links that are lost later. */
static void depth_outlives_links(void **state)
{
	const uint32_t size[2] = { 5, 3 };
	struct topology net;
	struct tree t;
	(void)state;
	assert_int_equal(topology_mesh(&net, size, 2), 0);
	assert_int_equal(tree_open(&t, &net, 0), 0);
	for (unsigned p = 0; p < net.ports; p++)
		cut(&net, 0, p);
	assert_int_equal(tree_depth(&t), 4 + 2);
	tree_free(&t);
	topology_free(&net);
}

static void random_graphs_have_trees(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct random r = random_stream(seed, 2);
		struct topology_link link[40];
		struct topology t;
		uint32_t nodes = 2 + random_below(&r, 24);
		uint32_t count = random_below(&r, 32);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t a = random_below(&r, nodes);
			uint32_t b = random_below(&r, nodes - 1);
			link[i].node[0] = a;
			link[i].node[1] = b + (b >= a);
		}
		assert_int_equal(topology_graph(&t, nodes, link, count), 0);
		check_tree(&t, random_below(&r, nodes));
		topology_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depths_are_those_of_the_topology),
		cmocka_unit_test(one_node_is_a_tree),
		cmocka_unit_test(an_invalid_root_is_refused),
		cmocka_unit_test(disconnected_parts_are_left_out),
		cmocka_unit_test(trees_grow_around_dead_links),
		cmocka_unit_test(depth_outlives_links),
		cmocka_unit_test(random_graphs_have_trees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
