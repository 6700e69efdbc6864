/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of a topology, for tests. */
#ifndef CAY_TESTS_NETWORK_ROUTINGS_H
#define CAY_TESTS_NETWORK_ROUTINGS_H

#include <string.h>

#include "network/routing/dependency.h"
#include "network/routing/routing.h"

#include "topologies.h"

static inline struct routing *routing_of(
	const struct topology *t, const struct routing_options *options)
{
	struct routing *s;
	const char *why;
	assert_int_equal(routing_open(&s, t, options, &why), 0);
	return s;
}

static inline void path_find(
	struct routing *s, uint32_t from, uint32_t to, struct routing_path *w)
{
	assert_int_equal(routing_find(s, from, to, NULL, w), 0);
	assert_int_equal(w->more != NULL, w->count > ROUTING_LEGS_INLINE);
}

static inline void path_to_route(const struct routing_path *w, struct route *r)
{
	const uint32_t *leg = routing_path_legs(w);
	assert_true(w->count <= ROUTE_LEGS_MAX);
	r->count = w->count;
	for (unsigned i = 0; i < w->count; i++) {
		r->leg[i].port = (uint8_t)routing_leg_port(leg[i]);
		r->leg[i].low = routing_leg_low(leg[i]);
		r->leg[i].high = routing_leg_high(leg[i]);
		assert_true(r->leg[i].low + r->leg[i].high > 0);
	}
}

static inline void find_route(
	struct routing *s, uint32_t from, uint32_t to, struct route *r)
{
	struct routing_path w;
	path_find(s, from, to, &w);
	path_to_route(&w, r);
}

/* The length of a cycle in the dependency graph of all paths; 0: none. */
static inline uint32_t cycle_of(const struct topology *t, struct routing *s)
{
	struct dependency d;
	struct channel *cycle;
	struct routing_path w;
	struct route r;
	uint32_t length;
	assert_int_equal(dependency_open(&d, t, 2), 0);
	for (uint32_t a = 0; a < t->nodes; a++)
		for (uint32_t b = 0; b < t->nodes; b++) {
			if (routing_find(s, a, b, NULL, &w))
				continue;
			path_to_route(&w, &r);
			assert_int_equal(dependency_add_route(&d, a, &r), 0);
		}
	assert_int_equal(dependency_cycle(&d, &cycle, &length), 0);
	free(cycle);
	dependency_free(&d);
	return length;
}

#endif
