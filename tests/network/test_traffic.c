/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traffic patterns against their definitions and distributions. The seeds are
 * fixed, and the bounds are five standard deviations wide.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"
#include "network/topology/class.h"
#include "network/traffic/traffic.h"

#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define NODES_MAX 4096

static uint32_t target(
	const struct topology *t, enum traffic_pattern pattern, uint32_t from)
{
	const struct traffic traffic = { .pattern = pattern, .topology = t };
	struct random r = random_stream(1, from), before = r;
	uint32_t to = traffic_target(&traffic, from, &r);
	/* These patterns use no random numbers. */
	assert_true(r.state == before.state);
	return to;
}

static int check(const struct topology *t, enum traffic_pattern pattern)
{
	const struct traffic traffic = { .pattern = pattern, .topology = t };
	const char *why = NULL;
	int e = traffic_check(&traffic, &why);
	assert_true(e == 0 || e == -EINVAL);
	assert_int_equal(e == 0, why == NULL);
	assert_true(!why || strlen(why) > 10);
	return e;
}

/* ---- names ---- */

static void patterns_have_names(void **state)
{
	static const struct {
		const char *name;
		enum traffic_pattern pattern;
	} also[] = { { "neighbor", TRAFFIC_NEIGHBOUR },
		{ "bit-complement", TRAFFIC_COMPLEMENT },
		{ "bit-reverse", TRAFFIC_REVERSE },
		{ "hotspot", TRAFFIC_HOT_SPOT } };
	static const char *const wrong[] = { "", "Uniform", "uniform ", "uni",
		"hot_spot", "unknown" };
	enum traffic_pattern p;
	(void)state;
	for (unsigned i = 0; i <= TRAFFIC_HOT_SPOT; i++) {
		const char *name = traffic_pattern_name(i);
		assert_true(traffic_pattern_parse(name, &p));
		assert_int_equal(p, i);
	}
	assert_string_equal(
		traffic_pattern_name(TRAFFIC_NEIGHBOUR), "neighbour");
	assert_string_equal(traffic_pattern_name(TRAFFIC_HOT_SPOT), "hot-spot");
	assert_string_equal(traffic_pattern_name(99), "unknown");
	for (unsigned i = 0; i < COUNT(also); i++) {
		assert_true(traffic_pattern_parse(also[i].name, &p));
		assert_int_equal(p, also[i].pattern);
	}
	for (unsigned i = 0; i < COUNT(wrong); i++)
		assert_false(traffic_pattern_parse(wrong[i], &p));
}

/* ---- permutations ---- */

static void check_shift(const struct topology *t)
{
	for (uint32_t a = 0; a < t->nodes; a++) {
		uint32_t next = target(t, TRAFFIC_NEIGHBOUR, a);
		uint32_t far = target(t, TRAFFIC_TORNADO, a);
		for (unsigned d = 0; d < t->dimensions; d++) {
			uint32_t size = t->size[d];
			uint32_t at = topology_coordinate(t, a, d);
			uint32_t half = (size % 2 ? size + 1 : size) / 2;
			assert_int_equal(topology_coordinate(t, next, d),
				(at + 1) % size);
			assert_int_equal(topology_coordinate(t, far, d),
				(at + half - 1) % size);
		}
	}
}

static void grids_shift_in_every_dimension(void **state)
{
	const uint32_t size[3] = { 4, 7, 2 };
	struct topology t;
	(void)state;
	for (unsigned n = 1; n <= 3; n++) {
		assert_int_equal(topology_torus(&t, size, n), 0);
		check_shift(&t);
		topology_free(&t);
		assert_int_equal(topology_mesh(&t, size, n), 0);
		check_shift(&t);
		topology_free(&t);
	}
}

static void others_shift_as_a_ring(void **state)
{
	struct topology t;
	(void)state;
	assert_int_equal(topology_full(&t, 9), 0);
	for (uint32_t a = 0; a < 9; a++) {
		assert_int_equal(target(&t, TRAFFIC_NEIGHBOUR, a), (a + 1) % 9);
		assert_int_equal(target(&t, TRAFFIC_TORNADO, a), (a + 4) % 9);
	}
	topology_free(&t);
	assert_int_equal(topology_hypercube(&t, 3), 0);
	for (uint32_t a = 0; a < 8; a++) {
		assert_int_equal(target(&t, TRAFFIC_NEIGHBOUR, a), (a + 1) % 8);
		assert_int_equal(target(&t, TRAFFIC_TORNADO, a), (a + 3) % 8);
	}
	topology_free(&t);
}

static void transpose_swaps(void **state)
{
	const uint32_t square[2] = { 5, 5 }, cube[3] = { 3, 3, 3 };
	const uint32_t oblong[2] = { 2, 8 };
	struct topology t;
	(void)state;
	assert_int_equal(topology_torus(&t, square, 2), 0);
	assert_int_equal(target(&t, TRAFFIC_TRANSPOSE, 2 + 5 * 4), 4 + 5 * 2);
	assert_int_equal(target(&t, TRAFFIC_TRANSPOSE, 3 + 5 * 3), 3 + 5 * 3);
	topology_free(&t);
	assert_int_equal(topology_mesh(&t, cube, 3), 0);
	assert_int_equal(
		target(&t, TRAFFIC_TRANSPOSE, 1 + 3 * 0 + 9 * 2), 2 + 9 * 1);
	assert_int_equal(target(&t, TRAFFIC_TRANSPOSE, 3 * 2), 3 * 2);
	topology_free(&t);
	/* The halves of the number, where coordinates cannot be swapped. */
	assert_int_equal(topology_torus(&t, oblong, 2), 0);
	assert_int_equal(target(&t, TRAFFIC_TRANSPOSE, 0x7), 0xd);
	topology_free(&t);
	assert_int_equal(topology_hypercube(&t, 8), 0);
	assert_int_equal(target(&t, TRAFFIC_TRANSPOSE, 0x3a), 0xa3);
	topology_free(&t);
}

static void bits_are_inverted_and_reversed(void **state)
{
	const uint32_t size[2] = { 3, 5 };
	struct topology t;
	(void)state;
	assert_int_equal(topology_hypercube(&t, 7), 0);
	assert_int_equal(target(&t, TRAFFIC_COMPLEMENT, 0x13), 0x6c);
	assert_int_equal(target(&t, TRAFFIC_REVERSE, 0x13), 0x64);
	assert_int_equal(target(&t, TRAFFIC_REVERSE, 0x01), 0x40);
	topology_free(&t);
	/* Where there are no bits, a grid is mirrored. */
	assert_int_equal(topology_mesh(&t, size, 2), 0);
	for (uint32_t a = 0; a < 15; a++) {
		uint32_t x = 2 - topology_coordinate(&t, a, 0);
		uint32_t y = 4 - topology_coordinate(&t, a, 1);
		assert_int_equal(target(&t, TRAFFIC_COMPLEMENT, a), x + 3 * y);
	}
	topology_free(&t);
}

/* Every node receives from one node; some patterns are their own inverse. */
static void check_permutation(const struct topology *t, enum traffic_pattern p)
{
	bool undoes = p == TRAFFIC_TRANSPOSE || p == TRAFFIC_COMPLEMENT ||
		      p == TRAFFIC_REVERSE;
	bool seen[NODES_MAX] = { false };
	assert_true(t->nodes <= NODES_MAX);
	for (uint32_t a = 0; a < t->nodes; a++) {
		uint32_t b = target(t, p, a);
		assert_true(b < t->nodes);
		assert_false(seen[b]);
		seen[b] = true;
		assert_true(!undoes || target(t, p, b) == a);
	}
}

/* Checks the patterns that suit a topology; returns their number. */
static unsigned check_patterns(struct topology *t)
{
	unsigned suit = 0;
	for (unsigned p = TRAFFIC_NEIGHBOUR; p <= TRAFFIC_REVERSE; p++)
		if (check(t, p) == 0) {
			check_permutation(t, p);
			suit++;
		}
	topology_free(t);
	return suit;
}

static void permutations_are_permutations(void **state)
{
	static const struct {
		uint32_t size[3];
		unsigned dimensions, suit;
	} grids[] = { { { 2 }, 1, 4 }, { { 3 }, 1, 3 }, { { 16 }, 1, 5 },
		{ { 8, 8 }, 2, 5 }, { { 2, 4 }, 2, 4 }, { { 2, 2 }, 2, 5 },
		{ { 6, 6 }, 2, 4 }, { { 6, 5 }, 2, 3 },
		{ { 16, 16, 16 }, 3, 5 }, { { 2, 2, 2 }, 3, 5 },
		{ { 3, 3, 3 }, 3, 4 }, { { 4, 4, 2 }, 3, 4 },
		{ { 4, 4, 4 }, 3, 5 }, { { 4, 2, 2 }, 3, 5 },
		{ { 9, 4, 2 }, 3, 3 } };
	struct topology t;
	(void)state;
	for (unsigned i = 0; i < COUNT(grids); i++) {
		unsigned n = grids[i].dimensions;
		assert_int_equal(topology_torus(&t, grids[i].size, n), 0);
		assert_int_equal(check_patterns(&t), grids[i].suit);
		assert_int_equal(topology_mesh(&t, grids[i].size, n), 0);
		assert_int_equal(check_patterns(&t), grids[i].suit);
	}
	for (unsigned n = 1; n <= 12; n++) {
		assert_int_equal(topology_hypercube(&t, n), 0);
		assert_int_equal(check_patterns(&t), n % 2 ? 4 : 5);
	}
	assert_int_equal(topology_full(&t, 7), 0);
	assert_int_equal(check_patterns(&t), 2);
	assert_int_equal(topology_full(&t, 16), 0);
	assert_int_equal(check_patterns(&t), 5);
	/* A single node, whose number has no bits. */
	assert_int_equal(topology_graph(&t, 1, NULL, 0), 0);
	assert_int_equal(check_patterns(&t), 5);
}

static void wrong_traffic_is_refused(void **state)
{
	const struct topology alone = {
		.class = &topology_class_graph, .nodes = 1, .hosts = 1
	};
	const struct topology pair = {
		.class = &topology_class_graph, .nodes = 2, .hosts = 2
	};
	struct traffic t = { .topology = &alone };
	const char *why = NULL;
	(void)state;
	assert_int_equal(check(&alone, TRAFFIC_UNIFORM), -EINVAL);
	assert_int_equal(check(&pair, TRAFFIC_UNIFORM), 0);
	assert_int_equal(check(&pair, TRAFFIC_HOT_SPOT), 0);
	assert_int_equal(check(&pair, TRAFFIC_TRANSPOSE), -EINVAL);
	assert_int_equal(check(&pair, 99), -EINVAL);
	t.to_self = true;
	assert_int_equal(traffic_check(&t, &why), 0);
	t.pattern = TRAFFIC_HOT_SPOT;
	t.share = 1;
	assert_int_equal(traffic_check(&t, &why), 0);
	t.to_self = false;
	assert_int_equal(traffic_check(&t, &why), -EINVAL);
}

static void wrong_hot_spots_are_refused(void **state)
{
	static const double wrong[] = { -0.1, 1.1, NAN, INFINITY };
	const struct topology pair = {
		.class = &topology_class_graph, .nodes = 2, .hosts = 2
	};
	struct traffic t = { .topology = &pair, .pattern = TRAFFIC_HOT_SPOT };
	const char *why = NULL;
	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		t.share = wrong[i];
		assert_int_equal(traffic_check(&t, &why), -EINVAL);
		assert_non_null(strstr(why, "share"));
	}
	t.share = 0.5;
	t.spot = 2;
	assert_int_equal(traffic_check(&t, &why), -EINVAL);
	assert_non_null(strstr(why, "spot"));
	t.spot = 1;
	assert_int_equal(traffic_check(&t, &why), 0);
}

/* ---- chance ---- */

#define DRAWN_NODES 60
#define DRAWS	    60000

static void draw_targets(
	const struct traffic *t, uint32_t from, uint32_t *count)
{
	struct random r = random_stream(3, from);
	memset(count, 0, DRAWN_NODES * sizeof(*count));
	for (unsigned i = 0; i < DRAWS; i++) {
		uint32_t to = traffic_target(t, from, &r);
		assert_true(to < DRAWN_NODES);
		count[to]++;
	}
}

static void uniform_reaches_all_nodes_equally(void **state)
{
	const uint32_t size[3] = { 4, 3, 5 };
	static const uint32_t from[] = { 0, 1, 31, 58, 59 };
	uint32_t count[DRAWN_NODES];
	struct topology topology;
	struct traffic t = { .topology = &topology };
	(void)state;
	assert_int_equal(topology_torus(&topology, size, 3), 0);
	for (unsigned i = 0; i < COUNT(from); i++) {
		t.to_self = true;
		draw_targets(&t, from[i], count);
		assert_alike(count, DRAWN_NODES);
		t.to_self = false;
		draw_targets(&t, from[i], count);
		assert_int_equal(count[from[i]], 0);
		/* Without the sender: the last takes its place. */
		count[from[i]] = count[DRAWN_NODES - 1];
		assert_alike(count, DRAWN_NODES - 1);
	}
	topology_free(&topology);
}

static void a_hot_spot_gets_its_share(void **state)
{
	const uint32_t size[3] = { 4, 3, 5 }, spot = 17;
	static const double shares[] = { 0, 0.03, 0.2, 0.9, 1 };
	uint32_t count[DRAWN_NODES];
	struct topology topology;
	struct traffic t = {
		.topology = &topology, .pattern = TRAFFIC_HOT_SPOT, .spot = spot
	};
	(void)state;
	assert_int_equal(topology_mesh(&topology, size, 3), 0);
	for (unsigned i = 0; i < COUNT(shares); i++) {
		double rest = (1 - shares[i]) / (DRAWN_NODES - 1);
		t.share = shares[i];
		draw_targets(&t, 5, count);
		assert_int_equal(count[5], 0);
		assert_share(count[spot], DRAWS, shares[i] + rest);
		assert_share(count[0], DRAWS, rest);
		/* The spot sends its share to itself, no more. */
		draw_targets(&t, spot, count);
		assert_share(count[spot], DRAWS, shares[i]);
	}
	topology_free(&topology);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_have_names),
		cmocka_unit_test(grids_shift_in_every_dimension),
		cmocka_unit_test(others_shift_as_a_ring),
		cmocka_unit_test(transpose_swaps),
		cmocka_unit_test(bits_are_inverted_and_reversed),
		cmocka_unit_test(permutations_are_permutations),
		cmocka_unit_test(wrong_traffic_is_refused),
		cmocka_unit_test(wrong_hot_spots_are_refused),
		cmocka_unit_test(uniform_reaches_all_nodes_equally),
		cmocka_unit_test(a_hot_spot_gets_its_share),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
