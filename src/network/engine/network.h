/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a simulated network: routers at the nodes of a topology,
 * simulated cycle by cycle. A user sends packets at given times, runs the
 * network, and polls for deliveries with their times and paths.
 *
 *	network_open(&n, &topology, &options, &why);
 *	network_send(n, 100, &(struct network_packet){ .from = 0, .to = 7,
 *		.length = 4 });
 *	network_run(n, 1000);
 *	while (network_poll(n, &delivery))
 *		...
 *	network_close(n);
 *
 * One thread calls. The network uses `threads` threads; the result does not
 * depend on their number.
 */
#ifndef CAY_NETWORK_ENGINE_NETWORK_H
#define CAY_NETWORK_ENGINE_NETWORK_H

#include "network/barrier/barrier.h"
#include "network/router/router.h"
#include "network/routing/routing.h"

#define NETWORK_THREADS_MAX 64
#define NETWORK_LINK_ERRORS 8 /* of one flit; then its link has failed */
#define NETWORK_MULTICAST   (UINT32_MAX - 1) /* `to` of a multicast */

struct network;
struct traffic;
struct length;

struct network_options {
	struct router router;
	const struct routing_class *routing; /* NULL: the usual one */
	uint64_t seed;
	unsigned threads;    /* 0: one */
	bool record;	     /* the paths of packets that the caller sends */
	double error_rate;   /* of a flit on a link */
	unsigned host_delay; /* cycles until a host has sent a packet on */
};

struct network_packet {
	uint64_t cookie;   /* returned with the delivery */
	uint32_t from, to; /* hosts */
	uint32_t length;   /* flits */
};

enum network_fate {
	NETWORK_DELIVERED,
	NETWORK_LOST,	     /* was on a link or in a node that failed */
	NETWORK_UNREACHABLE, /* there is no path to the destination */
};

/* The output by which a packet has left a router. */
struct network_hop {
	uint64_t time; /* of the head flit */
	uint32_t node;
	uint8_t port, channel;
};

struct network_delivery {
	struct network_packet packet;
	enum network_fate fate;
	uint32_t node;	  /* the host; of a multicast, one for each node */
	uint64_t sent;	  /* when the packet entered its source queue */
	uint64_t entered; /* when its head flit left the source queue */
	uint64_t arrived; /* when its tail flit arrived, or it was reported */
	uint32_t hops;
	/* The path, if recorded; valid until the next call of the network. */
	const struct network_hop *path;
	uint32_t path_count;
};

struct network_counters {
	/* Sent, and copies of multicasts, are the sum of the other three. */
	uint64_t packets_sent, packets_delivered, packets_reported;
	uint64_t packets_in_flight; /* or queued, or held by a host */
	uint64_t flit_hops;	    /* over links */
	uint64_t flits_delivered;
	uint64_t flits_repeated;   /* by links, after a bit error */
	uint64_t links_failed;	   /* because of repeated bit errors */
	uint64_t interrupts;	   /* of all kinds */
	uint64_t masked;	   /* packets whose output port was masked */
	uint64_t detours, drained; /* by a detour; to the debug port */
	uint64_t forwarded;	   /* by hosts, around failures */
	uint64_t deadlock_alarms, deadlock_false, deadlock_removed;
	uint64_t barrier_messages, barrier_releases, barrier_errors;
	uint64_t multicast_copies;
};

/* One direction of a link. */
struct network_link {
	uint32_t from, to;
	uint8_t port;
	bool dead;
	uint64_t flits, repeated;
	uint64_t blocked; /* requests of a flit without credit */
};

/*
 * Opens a network. Returns 0; -EINVAL or -E2BIG and the reason in *why, a
 * static string; -ENOMEM. The topology must outlive the network, which removes
 * failed links from it.
 */
int network_open(struct network **, struct topology *,
	const struct network_options *, const char **why);
void network_close(struct network *);

uint64_t network_now(const struct network *);
/*
 * Schedules a packet. Returns 0, -EINVAL (no such host, a length that the
 * router does not accept, a time in the past, a multicast in a topology without
 * exactly one host per node), -ENOMEM.
 */
int network_send(
	struct network *, uint64_t time, const struct network_packet *);
/*
 * Simulates up to a time. Returns 0; -EDEADLK: no packet can move any more;
 * -ENOMEM: the network can only be closed.
 */
int network_run(struct network *, uint64_t until);
/* Returns the number of packets that are scheduled, queued or in flight. */
uint64_t network_busy(const struct network *);
/* Gets the next delivery or report, in order of time. False: none is left. */
bool network_poll(struct network *, struct network_delivery *);
void network_count(const struct network *, struct network_counters *);
/*
 * Fills an array of `count` with the directions of all links. Returns their
 * number.
 */
uint64_t network_links(
	const struct network *, struct network_link *, uint64_t count);

/* ---- faults ---- */

enum network_fault {
	NETWORK_LINK_FAILS, /* both directions */
	NETWORK_NODE_FAILS,
	NETWORK_BIT_ERROR, /* in the next flit of a direction */
};
/* Schedules a fault. Returns 0, -EINVAL, -ENOMEM. */
int network_fail(struct network *, uint64_t time, enum network_fault,
	uint32_t node, unsigned port);
/*
 * Sets the legs that replace a port while it is masked; they must lead to the
 * same neighbour. Returns 0, -EINVAL, -ENOMEM.
 */
int network_detour(struct network *, uint32_t node, unsigned port,
	const uint32_t *legs, unsigned count);

/* ---- barriers: errors as in barrier.h ---- */

/*
 * An event of a barrier at the host of a node. Each participant gets the end of
 * each round once: 0 when all have arrived, -ECANCELED after a reset,
 * -ENETRESET after a failure in the network. After a failure, a round whose end
 * has reached some participants and not others ends again for all, with
 * -ENETRESET; dead and disconnected nodes stop participating.
 *
 * An arrival or reset that turns out to be invalid at its time has no effect,
 * and its node gets the error: -EALREADY (one arrival per node and round),
 * -ENOTCONN (the node does not participate).
 */
struct network_release {
	uint64_t time;
	uint32_t node;
	uint8_t id;
	int error;
};
/*
 * Returns 0, -EINVAL, -EHOSTUNREACH, -EBUSY, as barrier_set(); -EOPNOTSUPP: the
 * topology has not exactly one host per node.
 */
int network_barrier_set(
	struct network *, unsigned id, const bool *participates);
/*
 * Schedule an arrival or a reset. Return 0, -EINVAL (a time in the past, no
 * such node or barrier), -ENOMEM.
 */
int network_barrier_arrive(
	struct network *, uint64_t time, uint32_t node, unsigned id);
int network_barrier_reset(
	struct network *, uint64_t time, uint32_t node, unsigned id);
/* Gets the next event, in order of time, node and barrier. */
bool network_barrier_poll(struct network *, struct network_release *);

/* ---- inspection ---- */

/*
 * Checks the invariants of the state: flits against credits and buffers,
 * channels against their owners, packets sent against those delivered, reported
 * and in flight. Returns NULL, or the first violation.
 */
const char *network_check(const struct network *);
/* Finds the channels of a deadlock; see dependency.h. Returns 0 or -ENOMEM. */
struct channel;
int network_deadlock(struct network *, struct channel **cycle, uint32_t *count);

#endif
