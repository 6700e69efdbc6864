/* SPDX-License-Identifier: BSD-2-Clause */
/* Networks for tests. */
#ifndef CAY_TESTS_NETWORK_NETWORKS_H
#define CAY_TESTS_NETWORK_NETWORKS_H

#include <string.h>

#include "network/engine/network.h"
#include "network/traffic/load.h"

#include "topologies.h"

static inline struct router router_of(const char *preset)
{
	struct router r;
	assert_int_equal(router_preset(preset, &r), 0);
	return r;
}

/* Without groups, and with a single virtual channel. */
static inline struct router router_narrow(const char *preset, unsigned buffer)
{
	struct router r = router_of(preset);
	r.channels = r.groups = 1;
	r.grouping = ROUTE_GROUPS_PLAIN;
	r.buffer = buffer;
	return r;
}

static inline struct network *network_of(
	struct topology *t, const struct network_options *options)
{
	struct network *n;
	const char *why;
	assert_int_equal(network_open(&n, t, options, &why), 0);
	return n;
}

static inline struct network *network_seeded(
	struct topology *t, const struct router *r, uint64_t seed)
{
	return network_of(
		t, &(struct network_options){ .router = *r, .seed = seed });
}

static inline struct length length_of(const char *text)
{
	struct length l;
	assert_int_equal(length_parse(text, &l), 0);
	return l;
}

/* A torus of equal sides. */
static inline void torus_of(struct topology *t, uint32_t side, unsigned n)
{
	const uint32_t size[3] = { side, side, side };
	assert_int_equal(topology_torus(t, size, n), 0);
}

static inline void load_uniform(struct network *n, const struct topology *t,
	const char *length, double load)
{
	struct traffic traffic = {
		.pattern = TRAFFIC_UNIFORM, .topology = t, .to_self = true
	};
	struct length l = length_of(length);
	assert_int_equal(load_start(n, &traffic, &l, load), 0);
}

static inline bool near_to(double value, double wanted, double within)
{
	bool near = value > wanted * (1 - within) &&
		    value < wanted * (1 + within);
	if (!near)
		print_message("%g instead of %g\n", value, wanted);
	return near;
}

#endif
