/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a network under load has done up to a moment. Everything about the time
 * between two such marks is a difference.
 */
#ifndef CAY_NETWORK_STUDY_SNAPSHOT_H
#define CAY_NETWORK_STUDY_SNAPSHOT_H

#include <stdint.h>

/* Sums since the start. */
struct snapshot {
	uint64_t cycle, arrived, flits;
	uint64_t busy; /* packets times cycles */
};

static inline double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* By Little's law; 0 as long as nothing has arrived. */
static inline double snapshot_latency(
	const struct snapshot *from, const struct snapshot *to)
{
	return ratio(to->busy - from->busy, to->arrived - from->arrived);
}

static inline double snapshot_packets(
	const struct snapshot *from, const struct snapshot *to)
{
	return ratio(to->arrived - from->arrived, to->cycle - from->cycle);
}

static inline double snapshot_flits(
	const struct snapshot *from, const struct snapshot *to)
{
	return ratio(to->flits - from->flits, to->cycle - from->cycle);
}

#endif
