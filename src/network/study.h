/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measuring a network under load: warm it up until it is steady, measure until
 * the mean is known well enough, and say plainly if there is no steady state.
 * The calling thread does the work, with as many more as it asks for.
 */
#ifndef CAY_NETWORK_STUDY_H
#define CAY_NETWORK_STUDY_H

#include "network/histogram.h"
#include "network/length.h"
#include "network/network.h"
#include "network/traffic.h"

enum study_verdict {
	STUDY_STEADY,
	STUDY_SATURATED,  /* accepts less than is offered: queues grow */
	STUDY_DEADLOCKED, /* packets wait for each other for ever */
	STUDY_UNSETTLED,  /* max_cycles came first */
	STUDY_STOPPED,	  /* by the caller */
};

struct study_options {
	double load; /* flits offered per node and cycle */
	struct traffic traffic;
	struct length length;
	uint64_t period; /* cycles of a sample; 0: chosen by size */
	/* Then only packets that are measured and under way are waited for; 0:
	 * chosen. */
	uint64_t max_cycles;
	double precision; /* half width of the 95 % interval, of the mean */
	/* Many times in each period; true stops it. May be NULL. */
	bool (*progress)(void *context, uint64_t cycle, double latency);
	void *context;
};

/*
 * Of packets that were created after warming up, all of which have arrived. If
 * it is saturated or deadlocked: of what arrived, and the two mean latencies
 * are by Little's law, from packets that are there and those that arrive.
 */
struct study_result {
	enum study_verdict verdict;
	double offered, accepted; /* flits per node and cycle */
	double packet_latency;	  /* cycles from creation to the last flit */
	double packet_error;	  /* half width of its 95 % interval */
	double network_latency;	  /* from entering the network */
	double hops;		  /* links on the way */
	uint64_t latency_p50, latency_p90, latency_p99, latency_p999;
	uint64_t latency_least, latency_most;
	uint64_t packets; /* that were measured */
	uint64_t cycles, warm_up, flit_hops;
	uint64_t backlog;		   /* packets at sources, at the end */
	double channel_mean, channel_most; /* flits per cycle of a link */
	double seconds;			   /* of processor time */
	struct network_counters counters;  /* of everything since the start */
	struct histogram latency;
};

/*
 * The network must be fresh. 0, -EINVAL (what traffic_check() and such say),
 * -ENOMEM.
 */
int study_run(
	struct network *, const struct study_options *, struct study_result *);
/* The percentiles, least and most of a result, from its latencies. */
void study_percentiles(struct study_result *);
const char *study_verdict_name(enum study_verdict);

#endif
