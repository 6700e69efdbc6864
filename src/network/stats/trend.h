/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a network under load has a steady state: if more comes than it can
 * carry, the packets that are in it and wait at its sources grow with time.
 */
#ifndef CAY_NETWORK_STATS_TREND_H
#define CAY_NETWORK_STATS_TREND_H

#include <stdbool.h>
#include <stdint.h>

#define TREND_MAX 256 /* even */

struct trend_point {
	uint64_t sent; /* packets since the start */
	uint64_t busy; /* of these, not yet arrived */
};

/* All zeroes: empty. */
struct trend {
	unsigned count;
	unsigned rarer;	  /* one of 2^rarer points is kept */
	uint64_t offered; /* points */
	struct trend_point at[TREND_MAX];
};

/* At equal distances in time, roughly. */
void trend_add(struct trend *, uint64_t sent, uint64_t busy);
/* Does it grow as if it would for ever? */
bool trend_grows(const struct trend *);
/* The weaker question: was there more and more of it? */
bool trend_rises(const struct trend *);

#endif
