/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long packets are, in flits: a list of lengths with weights. "4" is always
 * four; "1-16" any of these alike; "1:9,16:1" nine short ones for each long
 * one.
 */
#ifndef CAY_NETWORK_TRAFFIC_LENGTH_H
#define CAY_NETWORK_TRAFFIC_LENGTH_H

#include <stdint.h>

#include "network/traffic/random.h"

#define LENGTH_CLASSES_MAX 32
#define LENGTH_MAX	   4096

struct length_class {
	uint32_t from, to; /* alike within */
	double until;	   /* up to this share of all packets, this class */
};

struct length {
	unsigned count;
	struct length_class of[LENGTH_CLASSES_MAX];
};

/* 0 or -EINVAL: no numbers, 0 or more than LENGTH_MAX, no weight. */
int length_parse(const char *text, struct length *);
uint32_t length_draw(const struct length *, struct random *);
double length_mean(const struct length *);
uint32_t length_longest(const struct length *);

#endif
