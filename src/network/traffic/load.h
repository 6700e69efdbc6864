/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network under load: every node creates packets by itself, at random times
 * with a given mean, and those that a study wants are measured.
 */
#ifndef CAY_NETWORK_TRAFFIC_LOAD_H
#define CAY_NETWORK_TRAFFIC_LOAD_H

#include "network/engine/network.h"
#include "network/stats/histogram.h"
#include "network/traffic/length.h"
#include "network/traffic/traffic.h"

/*
 * From now on, flits per node and cycle; 0 stops it. In each cycle a node
 * creates one packet at most, with the same chance. 0, -EINVAL (more than a
 * packet a cycle, lengths that the router cannot take), -ENOMEM.
 */
int load_start(struct network *, const struct traffic *, const struct length *,
	double load);

/* Whether packets created from now on are measured. */
void load_measure(struct network *, bool on);

struct load_sample {
	uint64_t created, done; /* of those that are measured */
	uint64_t latency, network_latency, hops;     /* sums */
	uint64_t flits_delivered, packets_delivered; /* of all */
	uint64_t queued;			     /* at sources, now */
};
void load_sample(const struct network *, struct load_sample *);
void load_latency(const struct network *, struct histogram *);

#endif
