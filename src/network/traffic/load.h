/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offered load: every node creates packets at random times. Some of them are
 * measured for a study.
 */
#ifndef CAY_NETWORK_TRAFFIC_LOAD_H
#define CAY_NETWORK_TRAFFIC_LOAD_H

#include "network/engine/network.h"
#include "network/stats/histogram.h"
#include "network/traffic/length.h"
#include "network/traffic/traffic.h"

/*
 * Sets the load in flits per node and cycle; 0 stops it. In each cycle a node
 * creates at most one packet, with constant probability. Returns 0, -EINVAL
 * (more than a packet per cycle, lengths that the router does not accept),
 * -ENOMEM.
 */
int load_start(struct network *, const struct traffic *, const struct length *,
	double load);

/* Sets whether packets created from now on are measured. */
void load_measure(struct network *, bool on);

struct load_sample {
	uint64_t created, done;			     /* measured packets */
	uint64_t latency, network_latency, hops;     /* sums */
	uint64_t flits_delivered, packets_delivered; /* all */
	uint64_t queued;			     /* in source queues */
};
void load_sample(const struct network *, struct load_sample *);
void load_latency(const struct network *, struct histogram *);

#endif
