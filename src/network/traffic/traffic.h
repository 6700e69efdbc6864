/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who sends to whom, and how much: patterns, lengths of packets, and the time
 * between two of them. A network draws from these for each node by itself.
 */
#ifndef CAY_NETWORK_TRAFFIC_TRAFFIC_H
#define CAY_NETWORK_TRAFFIC_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "network/topology/topology.h"
#include "network/traffic/random.h"

enum traffic_pattern {
	TRAFFIC_UNIFORM,
	TRAFFIC_NEIGHBOUR, /* one up in every dimension */
	TRAFFIC_TORNADO,   /* almost half way round in every dimension */
	TRAFFIC_TRANSPOSE, /* coordinates, or the halves of a number, swapped */
	TRAFFIC_COMPLEMENT, /* every bit of the number the other way */
	TRAFFIC_REVERSE,    /* the bits of the number from behind */
	TRAFFIC_HOT_SPOT,   /* uniform, but for a share that goes to one node */
};

struct traffic {
	enum traffic_pattern pattern;
	const struct topology *topology;
	bool to_self;  /* uniform includes the sender */
	uint32_t spot; /* of TRAFFIC_HOT_SPOT */
	double share;
};

/* By its name on the command line; false: there is none. */
bool traffic_pattern_parse(const char *name, enum traffic_pattern *);
const char *traffic_pattern_name(enum traffic_pattern);
/*
 * 0; or -EINVAL and why in a sentence that lives for ever: a pattern of bits
 * where the number of nodes is no power of two, of coordinates where there are
 * none, a spot or a share that there is not.
 */
int traffic_check(const struct traffic *, const char **why);
/* Where the next packet of a node goes; it may be the node itself. */
uint32_t traffic_target(const struct traffic *, uint32_t from, struct random *);

#endif
