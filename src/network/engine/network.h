/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network that runs: routers at the nodes of a topology, cycle by cycle. Who
 * plugs something in sends packets at a time, lets it run, and takes them at
 * the other end with the time and the way that they took.
 *
 *	network_open(&n, &topology, &options, &why);
 *	network_send(n, 100, &(struct network_packet){ .from = 0, .to = 7,
 *		.length = 4 });
 *	network_run(n, 1000);
 *	while (network_take(n, &delivery))
 *		...
 *	network_close(n);
 *
 * One thread calls; inside, `threads` work, with the same results as one.
 */
#ifndef CAY_NETWORK_ENGINE_NETWORK_H
#define CAY_NETWORK_ENGINE_NETWORK_H

#include "network/barrier/barrier.h"
#include "network/router/router.h"
#include "network/routing/routing.h"

#define NETWORK_THREADS_MAX 64
#define NETWORK_EVERYBODY   (UINT32_MAX - 1) /* `to` of a multicast */

struct network;
struct traffic;
struct length;

struct network_options {
	struct router router;
	enum space_rule rule;
	uint64_t seed;
	unsigned threads;    /* 0: one */
	bool record;	     /* the way of packets that are sent by hand */
	double error_rate;   /* of a flit on a link */
	unsigned host_delay; /* cycles until a host has sent a packet on */
};

struct network_packet {
	uint64_t cookie; /* of the sender; comes back with it */
	uint32_t from, to;
	uint32_t length; /* flits */
};

enum network_fate {
	NETWORK_DELIVERED,
	NETWORK_CUT,	     /* was on a link or in a node that died */
	NETWORK_UNREACHABLE, /* no way leads there any more */
};

/* A router that a packet has left, and how. */
struct network_hop {
	uint64_t time; /* when its head left */
	uint32_t node;
	uint8_t port, channel;
};

struct network_delivery {
	struct network_packet packet;
	enum network_fate fate;
	uint32_t node;	  /* where: of a multicast, each of the nodes */
	uint64_t sent;	  /* when it was given to its source */
	uint64_t entered; /* when its head left the source */
	uint64_t arrived; /* when its tail came, or was reported */
	uint32_t hops;
	/* The way, if it is recorded; until the next call of the network. */
	const struct network_hop *way;
	uint32_t way_count;
};

struct network_counters {
	uint64_t packets_sent, packets_delivered, packets_reported;
	uint64_t flit_hops; /* over links */
	uint64_t flits_delivered;
	uint64_t flits_repeated;   /* by links, after a bit error */
	uint64_t interrupts;	   /* of all kinds */
	uint64_t masked;	   /* heads that found their port masked */
	uint64_t detours, drained; /* how these went on */
	uint64_t forwarded;	   /* by hosts, around what is dead */
	uint64_t deadlock_alarms, deadlock_false, deadlock_removed;
	uint64_t barrier_messages, barrier_releases, barrier_errors;
	uint64_t multicast_copies;
};

/* Of one direction of a link. */
struct network_link {
	uint32_t from, to;
	uint8_t port;
	bool dead;
	uint64_t flits, repeated;
	uint64_t blocked; /* how often a flit found no credit */
};

/*
 * 0; -EINVAL or -E2BIG and why in a sentence that lives for ever; -ENOMEM. The
 * topology must live as long, and is changed by links that die.
 */
int network_open(struct network **, struct topology *,
	const struct network_options *, const char **why);
void network_close(struct network *);

uint64_t network_now(const struct network *);
/* 0, -EINVAL (no such node, no length, a length that the router cannot take,
 * a time that is over), -ENOMEM. */
int network_send(
	struct network *, uint64_t time, const struct network_packet *);
/*
 * Simulates up to a time. 0; -EDEADLK: nothing can move any more; -ENOMEM: the
 * network can only be closed.
 */
int network_run(struct network *, uint64_t until);
/* Packets in source queues and on their way. */
uint64_t network_busy(const struct network *);
/* The next of those that have arrived or are reported, in order of time. */
bool network_take(struct network *, struct network_delivery *);
void network_count(const struct network *, struct network_counters *);
/* All directions of all links, count of them; or how many there are. */
uint64_t network_links(const struct network *, struct network_link *, uint64_t);

/* ---- faults; each at a time that is not over ---- */

enum network_fault {
	NETWORK_LINK_DIES, /* by a node and a port, both directions */
	NETWORK_NODE_DIES,
	NETWORK_BIT_ERROR, /* in the next flit there */
};
/* 0, -EINVAL, -ENOMEM. */
int network_fail(struct network *, uint64_t time, enum network_fault,
	uint32_t node, unsigned port);
/* What a masked port does instead: these legs, to the same neighbour. */
int network_detour(struct network *, uint32_t node, unsigned port,
	const uint32_t *legs, unsigned count);

/* ---- barriers: see barrier.h for the errors ---- */

/*
 * What the host of a node is told of a barrier. The end of a round is told to
 * all who take part, each once: that all have arrived (0), that there was a
 * reset (-ECANCELED), or that something in the network has died (-ENETRESET).
 * After a death, a round that some have heard the end of and others have not
 * ends once more, with that error, for all; who is dead or cut off takes part
 * no longer. What is found wrong with an arrival or a reset only when its time
 * comes is told in the same way, to its node alone, and does nothing: -EALREADY
 * (one arrival per node and round), -ENOTCONN (it does not take part).
 */
struct network_release {
	uint64_t time;
	uint32_t node;
	uint8_t id;
	int error;
};
/* 0, -EINVAL, -EHOSTUNREACH, -EBUSY, as barrier_set(). */
int network_barrier_set(struct network *, unsigned id, const bool *takes_part);
/* At a time. 0, -EINVAL (a time that is over, no such node or barrier),
 * -ENOMEM. */
int network_barrier_arrive(
	struct network *, uint64_t time, uint32_t node, unsigned id);
int network_barrier_reset(
	struct network *, uint64_t time, uint32_t node, unsigned id);
/* The next one, in order of time, node and barrier. */
bool network_barrier_take(struct network *, struct network_release *);

/* ---- what is there, for whoever looks ---- */

/*
 * Does everything add up: flits against credits and buffers, channels against
 * their owners, packets sent against those delivered, reported and on their
 * way? NULL, or what does not.
 */
const char *network_check(const struct network *);
/* The channels of a deadlock; see dependency.h. 0 or -ENOMEM. */
struct channel;
int network_deadlock(struct network *, struct channel **cycle, uint32_t *count);

#endif
