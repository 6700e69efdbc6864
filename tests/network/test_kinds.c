/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All topologies with all routing functions that support them: packets arrive,
 * the check for deadlocks finds no cycle, and neither failures nor threads
 * change that. Hosts and links that differ from the usual ones.
 */
#include <errno.h>
#include <string.h>

#include "network/routing/class.h"
#include "network/routing/dependency.h"
#include "network/topology/graph.h"

#include "networks.h"

/* ---- topologies ---- */

static void open_of(struct topology *t, const char *name, uint32_t x,
	uint32_t y, uint32_t z)
{
	const struct topology_class *c = topology_class_find(name);
	const uint32_t size[3] = { x, y, z };
	assert_non_null(c);
	assert_int_equal(c->open(t, size, z ? 3 : y ? 2 : 1), 0);
	check_links(t);
}

static void names_are_those_of_the_classes(void **state)
{
	(void)state;
	for (unsigned i = 0; topology_names[i]; i++) {
		const struct topology_class *c =
			topology_class_find(topology_names[i]);
		assert_non_null(c);
		assert_non_null(routing_class_find(c->routing));
	}
	for (unsigned i = 0; routing_names[i]; i++)
		assert_non_null(routing_class_find(routing_names[i]));
	assert_null(topology_class_find("moebius"));
	assert_null(routing_class_find("moebius"));
}

static void check_metric(
	const struct topology *t, uint64_t links, uint32_t diameter)
{
	struct metric m;
	assert_int_equal(t->links, links);
	assert_int_equal(metric_of(t, &m), 0);
	assert_int_equal(m.links, links);
	assert_int_equal(m.diameter, diameter);
}

static void fat_trees(void **state)
{
	struct topology t;
	const uint32_t wrong[2] = { 1, 3 }, large[2] = { 16, 2 };
	(void)state;
	open_of(&t, "fat-tree", 4, 3, 0);
	assert_int_equal(t.nodes, 48);
	assert_int_equal(t.hosts, 64);
	/* A leaf reaches the other leaves by four hops, the roots by two. */
	check_metric(&t, 2 * 16 * 4, 4);
	for (uint32_t h = 0; h < t.hosts; h++)
		assert_int_equal(topology_host_node(&t, h), h / 4);
	assert_int_equal(topology_host_count(&t, 15), 4);
	assert_int_equal(topology_host_count(&t, 16), 0);
	/* Of 64 hosts, 4 are at no, 12 at two and 48 at four hops. */
	struct metric m;
	assert_int_equal(metric_of(&t, &m), 0);
	assert_true(near_to(m.distance, (12 * 2 + 48 * 4) / 64.0, 1e-9));
	assert_true(near_to(m.channel_load, 64 * m.distance / 256, 1e-9));
	topology_free(&t);
	assert_int_equal(topology_class_fat_tree.open(&t, wrong, 2), -EINVAL);
	assert_int_equal(topology_class_fat_tree.open(&t, large, 2), -E2BIG);
}

static void dragonflies(void **state)
{
	struct topology t;
	(void)state;
	open_of(&t, "dragonfly", 2, 4, 2);
	/* Nine groups of four routers; any two groups share one link. */
	assert_int_equal(t.nodes, 36);
	assert_int_equal(t.hosts, 72);
	check_metric(&t, 9 * 6 + 36, 3);
	uint32_t between[9][9] = { 0 };
	for (uint32_t node = 0; node < t.nodes; node++)
		for (unsigned p = 3; p < t.ports; p++)
			between[node / 4][topology_next(&t, node, p) / 4]++;
	for (unsigned a = 0; a < 9; a++)
		for (unsigned b = 0; b < 9; b++)
			assert_int_equal(between[a][b], a != b);
	topology_free(&t);
}

static void hyperx_has_rows_of_links(void **state)
{
	struct topology t;
	(void)state;
	open_of(&t, "hyperx", 4, 3, 2);
	assert_int_equal(t.nodes, 24);
	assert_int_equal(t.ports, 3 + 2 + 1);
	check_metric(&t, 24 * 6 / 2, 3);
	topology_free(&t);
}

static void grids_have_up_to_six_dimensions(void **state)
{
	const uint32_t size[7] = { 3, 2, 4, 2, 3, 2, 2 };
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, size, 6), 0);
	check_links(&t);
	check_metric(&t, 6 * 288, 1 + 1 + 2 + 1 + 1 + 1);
	topology_free(&t);
	assert_int_equal(topology_mesh(&t, size, 6), 0);
	check_links(&t);
	topology_free(&t);
	assert_int_equal(topology_torus(&t, size, 7), -EINVAL);
}

/* ---- routing functions ---- */

struct kind {
	const char *topology;
	uint32_t x, y, z;
	const char *routing; /* NULL: the usual one */
};

static const struct kind kinds[] = {
	{ "torus", 4, 4, 0, "o1turn" },
	{ "torus", 4, 4, 0, "valiant" },
	{ "torus", 5, 4, 0, "minimal" },
	{ "torus", 3, 3, 3, "valiant" },
	{ "mesh", 4, 5, 0, "o1turn" },
	{ "mesh", 4, 4, 0, "valiant" },
	{ "mesh", 4, 4, 0, "minimal" },
	{ "ring", 9, 0, 0, "valiant" },
	{ "full", 7, 0, 0, "valiant" },
	{ "hypercube", 4, 0, 0, "minimal" },
	{ "hyperx", 4, 4, 0, NULL },
	{ "hyperx", 3, 4, 0, "o1turn" },
	{ "hyperx", 3, 3, 2, "valiant" },
	{ "fat-tree", 3, 3, 0, NULL },
	{ "fat-tree", 4, 2, 0, "up-down" },
	{ "dragonfly", 2, 4, 2, NULL },
	{ "dragonfly", 1, 3, 1, "up-down" },
};

static struct network_options options_of(const struct kind *k)
{
	return (struct network_options){ .router = router_of("iq4"),
		.routing = k->routing ? routing_class_find(k->routing) : NULL,
		.seed = 5,
		.host_delay = 20 };
}

static void kind_open(struct topology *t, const struct kind *k)
{
	open_of(t, k->topology, k->x, k->y, k->z);
}

static void no_routes_can_deadlock(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(kinds); i++) {
		struct network_options o = options_of(&kinds[i]);
		struct topology t;
		struct routing *s;
		struct dependency d;
		struct channel *cycle;
		uint64_t unreachable;
		uint32_t count;
		const char *why;
		kind_open(&t, &kinds[i]);
		const struct routing_options r = { .class = o.routing,
			.grouping = o.router.grouping,
			.ties = o.router.ties,
			.groups = o.router.groups,
			.channels = o.router.channels };
		assert_int_equal(routing_open(&s, &t, &r, &why), 0);
		assert_true(routing_classes(s) <= o.router.channels);
		assert_int_equal(
			dependency_open(&d, &t, routing_classes(s)), 0);
		assert_int_equal(
			routing_depend(s, &d, NULL, NULL, &unreachable), 0);
		assert_int_equal(unreachable, 0);
		assert_int_equal(dependency_cycle(&d, &cycle, &count), 0);
		assert_int_equal(count, 0);
		free(cycle);
		dependency_free(&d);
		routing_close(s);
		topology_free(&t);
	}
}

struct outcome {
	struct network_counters counters;
	uint64_t latency, packets;
};

/* The first link of a node fails. */
static void link_fail_at(
	struct network *n, const struct topology *t, uint32_t node)
{
	unsigned port = 0;
	while (topology_next(t, node, port) == TOPOLOGY_NOWHERE)
		port++;
	assert_int_equal(
		network_fail(n, 300, NETWORK_LINK_FAILS, node, port), 0);
}

static struct outcome kind_run(
	const struct kind *k, unsigned threads, bool fails)
{
	struct network_options o = options_of(k);
	static struct histogram latency;
	struct outcome result;
	struct topology t;
	o.threads = threads;
	kind_open(&t, k);
	struct network *n = network_of(&t, &o);
	load_measure(n, true);
	load_uniform(n, &t, "1-4", 0.15);
	if (fails) {
		link_fail_at(n, &t, 0);
		link_fail_at(n, &t, 2);
	}
	assert_int_equal(network_run(n, 1000), 0);
	assert_null(network_check(n));
	load_uniform(n, &t, "1", 0);
	assert_int_equal(network_run(n, 20000), 0);
	assert_int_equal(network_busy(n), 0);
	assert_null(network_check(n));
	network_count(n, &result.counters);
	load_latency(n, &latency);
	result.latency = latency.sum;
	result.packets = latency.count;
	network_close(n);
	topology_free(&t);
	return result;
}

static void every_packet_arrives(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(kinds); i++) {
		struct outcome o = kind_run(&kinds[i], 1, false);
		assert_true(o.packets > 200);
		assert_int_equal(o.counters.packets_reported, 0);
		assert_int_equal(o.packets, o.counters.packets_sent);
	}
}

/* Two links disconnect none of these topologies. */
static void failures_are_routed_around(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(kinds); i++) {
		if (strcmp(kinds[i].topology, "ring") == 0)
			continue; /* two links cut it in two */
		struct outcome o = kind_run(&kinds[i], 1, true);
		/* Only packets on the links, or at nodes without hosts. */
		assert_true(o.counters.packets_reported <
			    o.counters.packets_sent / 20);
		assert_int_equal(o.packets + o.counters.packets_reported,
			o.counters.packets_sent);
	}
}

static void threads_change_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(kinds); i += 2) {
		struct outcome a = kind_run(&kinds[i], 1, true);
		struct outcome b = kind_run(&kinds[i], 3, true);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void unsupported_topologies_are_refused(void **state)
{
	static const struct kind wrong[] = {
		{ "fat-tree", 2, 2, 0, "dimension-order" },
		{ "dragonfly", 1, 3, 1, "valiant" },
		{ "torus", 3, 3, 3, "o1turn" },
		{ "hypercube", 4, 0, 0, "valiant" },
	};
	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		struct network_options o = options_of(&wrong[i]);
		struct topology t;
		struct network *n;
		const char *why = NULL;
		kind_open(&t, &wrong[i]);
		assert_int_equal(network_open(&n, &t, &o, &why), -EINVAL);
		assert_non_null(why);
		topology_free(&t);
	}
	/* Two orders with datelines need four channels. */
	struct network_options o = options_of(&kinds[0]);
	struct topology t;
	struct network *n;
	const char *why = NULL;
	o.router.channels = 3;
	kind_open(&t, &kinds[0]);
	assert_int_equal(network_open(&n, &t, &o, &why), -EINVAL);
	assert_non_null(strstr(why, "four"));
	topology_free(&t);
}

/* Shortest paths, over all links of a torus that is given as a graph. */
static void minimal_paths_are_balanced(void **state)
{
	static struct topology_link links[128];
	static uint32_t used[64 * 4];
	const struct routing_options o = {
		.class = &routing_minimal, .groups = 2, .channels = 4
	};
	struct random random = test_random(3);
	struct topology t;
	struct routing_path path;
	uint32_t least = UINT32_MAX, most = 0;
	const char *why;
	struct routing *s;
	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		links[2 * i] = (struct topology_link){ { i,
			i / 8 * 8 + (i + 1) % 8 } };
		links[2 * i + 1] =
			(struct topology_link){ { i, (i + 8) % 64 } };
	}
	assert_int_equal(topology_graph(&t, 64, links, 128), 0);
	assert_int_equal(routing_open(&s, &t, &o, &why), 0);
	for (uint32_t i = 0; i < 64 * 64 * 16; i++) {
		uint32_t a = i % 64, b = i / 64 % 64;
		uint32_t dx = (b - a) % 8, dy = (b / 8 - a / 8) % 8;
		struct routing_walk w;
		assert_int_equal(routing_find(s, a, b, &random, &path), 0);
		assert_int_equal(routing_path_hops(&path),
			(dx < 4 ? dx : 8 - dx) + (dy < 4 ? dy : 8 - dy));
		routing_walk_begin(&w, &t, a, &path);
		while (routing_walk_next(&w))
			used[w.from * 4 + w.port]++;
		assert_int_equal(w.to, b);
	}
	for (unsigned i = 0; i < COUNT(used); i++) {
		least = used[i] < least ? used[i] : least;
		most = used[i] > most ? used[i] : most;
	}
	print_message("links carry %u to %u paths\n", least, most);
	assert_true(most < 1.1 * 16 * 64 * 64 * 4 / 256);
	routing_close(s);
	topology_free(&t);
}

/* ---- hosts and links ---- */

static struct network *graph_network(struct topology *t, const char *text)
{
	struct graph_error e;
	assert_int_equal(graph_parse(text, strlen(text), t, &e), 0);
	return network_of(
		t, &(struct network_options){ .router = router_of("iq4") });
}

static uint64_t latency_of(
	struct network *n, uint32_t from, uint32_t to, uint32_t length)
{
	struct network_delivery d;
	uint64_t now = network_now(n);
	const struct network_packet p = {
		.from = from, .to = to, .length = length
	};
	assert_int_equal(network_send(n, now, &p), 0);
	assert_int_equal(network_run(n, now + 3000), 0);
	assert_true(network_poll(n, &d));
	assert_int_equal(d.fate, NETWORK_DELIVERED);
	assert_int_equal(d.node, to);
	assert_false(network_poll(n, &d));
	assert_null(network_check(n));
	return d.arrived - d.sent;
}

static void nodes_have_any_number_of_hosts(void **state)
{
	struct topology t;
	(void)state;
	struct network *n = graph_network(
		&t, "nodes 3\nhosts 0 2\nhosts 1 0\nhosts 2 3\n0 1\n1 2\n");
	assert_int_equal(t.hosts, 5);
	/* Hosts 0 and 1 are at node 0, hosts 2 to 4 at node 2. */
	uint64_t far = latency_of(n, 0, 4, 1);
	assert_int_equal(latency_of(n, 1, 2, 1), far);
	assert_int_equal(latency_of(n, 3, 0, 1), far);
	/* Two hops, of six cycles each. */
	assert_int_equal(latency_of(n, 0, 1, 1), far - 12);
	const struct network_packet wrong = { .from = 0, .to = 5, .length = 1 };
	const struct network_packet all = {
		.from = 0, .to = NETWORK_MULTICAST, .length = 1
	};
	assert_int_equal(network_send(n, 100000, &wrong), -EINVAL);
	assert_int_equal(network_send(n, 100000, &all), -EINVAL);
	const bool participates[5] = { true };
	assert_int_equal(network_barrier_set(n, 0, participates), -EOPNOTSUPP);
	network_close(n);
	topology_free(&t);
}

static void links_have_delay_and_width(void **state)
{
	struct topology t;
	(void)state;
	struct network *n = graph_network(&t, "nodes 2\n0 1\n");
	uint64_t usual = latency_of(n, 0, 1, 5);
	network_close(n);
	topology_free(&t);
	/* The delay of iq4 is 4. */
	n = graph_network(&t, "nodes 2\n0 1 delay 104\n");
	assert_int_equal(latency_of(n, 0, 1, 5), usual + 100);
	assert_int_equal(latency_of(n, 1, 0, 5), usual + 100);
	network_close(n);
	topology_free(&t);
	n = graph_network(&t, "nodes 2\n0 1 delay 1\n");
	assert_int_equal(latency_of(n, 0, 1, 5), usual - 3);
	network_close(n);
	topology_free(&t);
	n = graph_network(&t, "nodes 2\n0 1 cycles 3\n");
	/*
	 * Four more flits wait for two cycles each; the head flit needs two
	 * cycles more than the others in the second router.
	 */
	assert_int_equal(latency_of(n, 0, 1, 1), usual - 4);
	assert_int_equal(latency_of(n, 0, 1, 5), usual + 4 * 2 - 2);
	network_close(n);
	topology_free(&t);
}

/* A long link needs a longer credit loop: eight flits per 110 cycles. */
static void credits_take_as_long(void **state)
{
	struct topology t;
	(void)state;
	struct network *n = graph_network(&t, "nodes 2\n0 1 delay 104\n");
	uint64_t latency = latency_of(n, 0, 1, 80);
	assert_true(latency > 9 * 200 && latency < 12 * 220);
	network_close(n);
	topology_free(&t);
}

static void wrong_graphs_are_refused(void **state)
{
	static const char *const wrong[] = { "nodes 2\nhosts 0\n0 1\n",
		"nodes 2\nhosts 16\n0 1\n", "nodes 2\nhosts 2 1\n0 1\n",
		"nodes 2\nhosts\n0 1\n", "nodes 2\nhosts 0 1 2\n0 1\n",
		"nodes 2\n0 1 delay\n", "nodes 2\n0 1 delay 0\n",
		"nodes 2\n0 1 cycles 1001\n", "nodes 2\n0 1 width 2\n" };
	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		struct graph_error e = { 0 };
		struct topology t;
		assert_int_equal(
			graph_parse(wrong[i], strlen(wrong[i]), &t, &e),
			-EINVAL);
		assert_true(e.line >= 2);
		assert_non_null(e.why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_the_classes),
		cmocka_unit_test(fat_trees),
		cmocka_unit_test(dragonflies),
		cmocka_unit_test(hyperx_has_rows_of_links),
		cmocka_unit_test(grids_have_up_to_six_dimensions),
		cmocka_unit_test(no_routes_can_deadlock),
		cmocka_unit_test(every_packet_arrives),
		cmocka_unit_test(failures_are_routed_around),
		cmocka_unit_test(threads_change_nothing),
		cmocka_unit_test(unsupported_topologies_are_refused),
		cmocka_unit_test(minimal_paths_are_balanced),
		cmocka_unit_test(nodes_have_any_number_of_hosts),
		cmocka_unit_test(links_have_delay_and_width),
		cmocka_unit_test(credits_take_as_long),
		cmocka_unit_test(wrong_graphs_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
