/* SPDX-License-Identifier: BSD-2-Clause */
/* Topologies for tests of the network, and a check of their links. */
#ifndef CAY_TESTS_NETWORK_TOPOLOGIES_H
#define CAY_TESTS_NETWORK_TOPOLOGIES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "network/topology/class.h"
#include "network/traffic/random.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Property tests can be repeated with another seed. */
static inline struct random test_random(uint64_t seed)
{
	const char *given = getenv("CAY_SEED");
	if (given)
		seed = strtoull(given, NULL, 0);
	print_message("seed %llu\n", (unsigned long long)seed);
	return (struct random){ seed };
}

/* Both ends of every link agree. */
static inline void check_links(const struct topology *t)
{
	for (uint32_t node = 0; node < t->nodes; node++)
		for (unsigned p = 0; p < t->ports; p++) {
			uint32_t next = topology_next(t, node, p);
			if (next == TOPOLOGY_NOWHERE)
				continue;
			unsigned back = t->peer_port[node * t->ports + p];
			assert_true(next < t->nodes);
			assert_int_equal(topology_next(t, next, back), node);
			assert_int_equal(
				t->peer_port[next * t->ports + back], p);
		}
}

/* A random tree, for connectivity, and some more links. */
static inline void random_graph(struct topology *t, struct random *r)
{
	struct topology_link links[120];
	uint32_t nodes = 2 + random_below(r, 40), n = 0;
	for (uint32_t i = 1; i < nodes; i++) {
		uint32_t before = i - 1 - random_below(r, i < 4 ? i : 4);
		links[n++] = (struct topology_link){ { i, before } };
	}
	for (uint32_t more = random_below(r, 40); more; more--) {
		uint32_t a = random_below(r, nodes);
		uint32_t b = random_below(r, nodes);
		if (a != b)
			links[n++] = (struct topology_link){ { a, b } };
	}
	assert_int_equal(topology_graph(t, nodes, links, n), 0);
	check_links(t);
}

/*
 * A line whose nodes alternate in the order of their two ports, so that no two
 * consecutive hops are through the same port.
 */
static inline void line_of_turns(struct topology *t, uint32_t nodes)
{
	struct topology_link *links = calloc(nodes, sizeof(*links));
	uint32_t n = 0;
	assert_non_null(links);
	for (uint32_t i = 0; i + 1 < nodes; i += 2)
		links[n++] = (struct topology_link){ { i, i + 1 } };
	for (uint32_t i = 1; i + 1 < nodes; i += 2)
		links[n++] = (struct topology_link){ { i, i + 1 } };
	assert_int_equal(topology_graph(t, nodes, links, n), 0);
	free(links);
}

#endif
