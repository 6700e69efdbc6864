/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures a network under load: warms it up until it is steady, measures until
 * the mean latency is known well enough, and detects that there is no steady
 * state. Runs on the calling thread and the threads of the network.
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
	STUDY_DEADLOCKED, /* packets wait for each other forever */
	STUDY_UNSETTLED,  /* the limit came before the mean was known */
	/* Links have failed because of bit errors; the rest is not steady. */
	STUDY_LINKS_FAILED,
	STUDY_STOPPED, /* by the progress call */
};

struct study_options {
	double load; /* flits offered per node and cycle */
	struct traffic traffic;
	struct length length;
	uint64_t period; /* cycles of a sample; 0: chosen by size */
	/*
	 * Limit of warm-up and measurement; 0: chosen, so that it takes
	 * seconds, not minutes. Measured packets in flight still arrive.
	 */
	uint64_t max_cycles;
	/*
	 * Half width of the 95 % confidence interval, as a share of the mean;
	 * 0: chosen. If max_cycles is 0 and the limit comes first, 5 % are
	 * enough for a steady state.
	 */
	double precision;
	/* Called many times a second; true stops the study. May be NULL. */
	bool (*progress)(void *context, uint64_t cycle, double latency);
	void *context;
};

/*
 * Latencies and hops are those of the packets created after the warm-up. If the
 * network is steady or unsettled, of all of them; if saturated, deadlocked or
 * stopped, of those that had arrived at the end, which are the fast ones. If
 * there are none, `packets` and all these are 0.
 *
 * Accepted load and channel load are those of the time in which these packets
 * were created; of a saturated network, of the last part of it, when the
 * accepted load is constant.
 */
struct study_result {
	enum study_verdict verdict;
	double offered, accepted; /* flits per node and cycle */
	double packet_latency;	  /* cycles from creation to the last flit */
	double packet_error;	  /* half its 95 % interval; 0: unknown */
	double network_latency;	  /* from entering the network */
	double hops;		  /* links of a path */
	uint64_t latency_p50, latency_p90, latency_p99, latency_p999;
	uint64_t latency_least, latency_most;
	uint64_t packets;	  /* measured */
	uint64_t cycles, warm_up; /* all, and those of the warm-up */
	uint64_t flit_hops;
	uint64_t backlog; /* packets in source queues at the end */
	double channel_mean, channel_most; /* flits per cycle of a link */
	double seconds;			   /* of processor time */
	struct network_counters counters;  /* of everything since the start */
	struct histogram latency;
};

/*
 * Runs a study on a fresh network. Returns 0, -EINVAL (as traffic_check() and
 * load_start()), -ENOMEM.
 */
int study_run(
	struct network *, const struct study_options *, struct study_result *);
/* Sets the percentiles, least and most of a result from its histogram. */
void study_percentiles(struct study_result *);
const char *study_verdict_name(enum study_verdict);

#endif
