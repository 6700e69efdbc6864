/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Distribution of packet lengths in flits: a list of lengths with weights. "4"
 * is always four; "1-16" is uniform; "1:9,16:1" nine packets of one flit for
 * each of sixteen.
 */
#ifndef CAY_NETWORK_TRAFFIC_LENGTH_H
#define CAY_NETWORK_TRAFFIC_LENGTH_H

#include <stdint.h>

#include "network/traffic/random.h"

#define LENGTH_CLASSES_MAX 32
#define LENGTH_MAX	   4096

struct length_class {
	uint32_t from, to; /* uniform within */
	double until;	   /* cumulative share of this and earlier classes */
};

struct length {
	unsigned count;
	struct length_class of[LENGTH_CLASSES_MAX];
};

/*
 * Parses a list. Returns 0, or -EINVAL: not a number, 0 or above LENGTH_MAX, a
 * weight of 0.
 */
int length_parse(const char *text, struct length *);
uint32_t length_draw(const struct length *, struct random *);
double length_mean(const struct length *);
uint32_t length_longest(const struct length *);

#endif
