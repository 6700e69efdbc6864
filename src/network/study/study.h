/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measuring a network under load: warm it up until it is steady, measure until
 * the mean is known well enough, and say plainly if there is no steady state.
 * The calling thread does the work, with as many more as it asks for.
 */
#ifndef CAY_NETWORK_STUDY_STUDY_H
#define CAY_NETWORK_STUDY_STUDY_H

#include "network/engine/network.h"
#include "network/stats/histogram.h"
#include "network/traffic/length.h"
#include "network/traffic/traffic.h"

enum study_verdict {
	STUDY_STEADY,
	STUDY_SATURATED,  /* accepts less than is offered: queues grow */
	STUDY_DEADLOCKED, /* packets wait for each other for ever */
	STUDY_UNSETTLED,  /* the end came before the mean was known */
	STUDY_STOPPED,	  /* by the caller */
};

struct study_options {
	double load; /* flits offered per node and cycle */
	struct traffic traffic;
	struct length length;
	uint64_t period; /* cycles of a sample; 0: chosen by size */
	/* Then only packets that are measured and under way are waited for. 0:
	 * chosen, so that it takes seconds, not minutes. */
	uint64_t max_cycles;
	/* Half width of the 95 % interval, of the mean; 0: chosen. If the end
	 * was chosen and comes first, 5 % must do for a steady state. */
	double precision;
	/* Many times in a second; true stops it. May be NULL. */
	bool (*progress)(void *context, uint64_t cycle, double latency);
	void *context;
};

/*
 * Latencies and hops are of the packets that were created after warming up.
 * Steady or unsettled: of all of these. Saturated, deadlocked or stopped: of
 * those that had arrived at the end, which are the quick ones; if there are
 * none, packets and all these are 0.
 *
 * What a network accepts, and the load of its channels, is of the time in which
 * they were created; if it saturates, of the last part of it, when what it
 * accepts changes no more.
 */
struct study_result {
	enum study_verdict verdict;
	double offered, accepted; /* flits per node and cycle */
	double packet_latency;	  /* cycles from creation to the last flit */
	double packet_error;	  /* half its 95 % interval; 0: unknown */
	double network_latency;	  /* from entering the network */
	double hops;		  /* links on the way */
	uint64_t latency_p50, latency_p90, latency_p99, latency_p999;
	uint64_t latency_least, latency_most;
	uint64_t packets;	  /* that were measured */
	uint64_t cycles, warm_up; /* all, and those before these packets */
	uint64_t flit_hops;
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
