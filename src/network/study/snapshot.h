/* SPDX-License-Identifier: BSD-2-Clause */
/* Cumulative sums of a network under load; rates are differences of two. */
#ifndef CAY_NETWORK_STUDY_SNAPSHOT_H
#define CAY_NETWORK_STUDY_SNAPSHOT_H

#include <stdint.h>

/* Sums since the start. */
struct snapshot {
	uint64_t cycle, arrived, flits;
	uint64_t busy; /* integral of the packets in the network over time */
};

static inline double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* Mean latency by Little's law; 0 if nothing has arrived. */
static inline double snapshot_latency(
	const struct snapshot *from, const struct snapshot *to)
{
	return ratio(to->busy - from->busy, to->arrived - from->arrived);
}

/* Packets that arrived per cycle. */
static inline double snapshot_packets(
	const struct snapshot *from, const struct snapshot *to)
{
	return ratio(to->arrived - from->arrived, to->cycle - from->cycle);
}

/* Flits that arrived per cycle. */
static inline double snapshot_flits(
	const struct snapshot *from, const struct snapshot *to)
{
	return ratio(to->flits - from->flits, to->cycle - from->cycle);
}

#endif
