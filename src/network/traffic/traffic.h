/* SPDX-License-Identifier: BSD-2-Clause */
/* Traffic patterns: the destinations of packets. */
#ifndef CAY_NETWORK_TRAFFIC_TRAFFIC_H
#define CAY_NETWORK_TRAFFIC_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "network/topology/topology.h"
#include "network/traffic/random.h"

enum traffic_pattern {
	TRAFFIC_UNIFORM,
	TRAFFIC_NEIGHBOUR, /* the next node in every dimension */
	TRAFFIC_TORNADO,   /* almost half way around every dimension */
	TRAFFIC_TRANSPOSE, /* swaps coordinates, or halves of the node number */
	TRAFFIC_COMPLEMENT, /* inverts all bits of the node number */
	TRAFFIC_REVERSE,    /* reverses the bits of the node number */
	TRAFFIC_HOT_SPOT,   /* uniform, except a share that goes to one node */
};

struct traffic {
	enum traffic_pattern pattern;
	const struct topology *topology;
	bool to_self;  /* uniform includes the sender */
	uint32_t spot; /* of TRAFFIC_HOT_SPOT */
	double share;
};

/* Finds a pattern by its name on the command line. */
bool traffic_pattern_parse(const char *name, enum traffic_pattern *);
const char *traffic_pattern_name(enum traffic_pattern);
/*
 * Checks that a pattern suits the topology. Returns 0, or -EINVAL and the
 * reason in *why, a static string.
 */
int traffic_check(const struct traffic *, const char **why);
/* The destination of the next packet of a node; may be the node itself. */
uint32_t traffic_target(const struct traffic *, uint32_t from, struct random *);

#endif
