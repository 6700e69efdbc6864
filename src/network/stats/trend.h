/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests whether a network under load has a steady state: if it is offered more
 * than it can accept, the packets in the network and in source queues grow.
 */
#ifndef CAY_NETWORK_STATS_TREND_H
#define CAY_NETWORK_STATS_TREND_H

#include <stdbool.h>
#include <stdint.h>

#define TREND_MAX 256 /* even */

struct trend_point {
	uint64_t sent; /* packets since the start */
	uint64_t busy; /* of these, not arrived */
};

/* All zeroes: empty. */
struct trend {
	unsigned count;
	unsigned log2_stride; /* one of 2^log2_stride points is kept */
	uint64_t added;	      /* points */
	struct trend_point at[TREND_MAX];
};

/* Adds a point; points are about equally spaced in time. */
void trend_add(struct trend *, uint64_t sent, uint64_t busy);
/* Returns true if `busy` grows as if without bound. */
bool trend_grows(const struct trend *);
/* Returns true if `busy` has increased from quarter to quarter. */
bool trend_rises(const struct trend *);

#endif
