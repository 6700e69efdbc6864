/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device as a machine: units that hold state and advance in cycles. A
 * machine serves the ports of one node; several machines are connected by a
 * wire (wire.h).
 *
 *	struct machine *m;
 *	machine_open(&m, machine_preset("multi-wait"), node, ports);
 *	machine_attach(m, own);			for each port
 *	... machine_post(m, vpid, &vci);	software: fills in a VCI
 *	machine_trigger(m, vpid, CAY_ISSUE_VCI, 1);
 *	while (machine_step(m))
 *		;
 *	... the consumer: machine_peek(), machine_return_entries()
 *	machine_close(m);
 *
 * Accepting is not executing: a trigger only puts an entry into the conditional
 * store buffer. In each cycle of machine_step() every unit advances by at most
 * one stage:
 *
 *	csb -> fetch -> issue queue -> requesters -> transmit
 *	receive -> dispatch -> completers, responders -> notify, ack
 *	receive -> complete -> notify
 *	ULTRA requester -> transmit; receive -> ULTRA completer (ultra.h)
 *
 * All memory is allocated by machine_open(). One thread at a time.
 */
#ifndef CAY_DEVICE_MACHINE_MACHINE_H
#define CAY_DEVICE_MACHINE_MACHINE_H

#include "contract/packet.h"
#include "device/context.h"
#include "device/machine/config.h"
#include "device/machine/observe.h"

struct machine;

/* What a machine has done since it was opened. */
struct machine_counts {
	uint64_t cycles;
	uint64_t accepted, refused; /* triggers */
	uint64_t fetched;	    /* VCIs */
	uint64_t issued;	    /* to a requester */
	uint64_t same_unit;	    /* of them, for the order: to the unit of an
				       earlier request */
	uint64_t order_stalls;	    /* cycles in which order kept a request */
	uint64_t transmitted, received; /* packets */
	uint64_t parked;		/* for lack of room at the target */
	uint64_t evicted;		/* of them, refused */
	uint64_t resumed;		/* transfers that were sent again */
	uint64_t acknowledges;
	uint64_t notifications;
	uint64_t retired; /* requests */
	uint64_t stale;	  /* packets that name no request in flight */
	uint64_t voided;  /* entries of transfers that were abandoned */
	uint64_t ultra_refused, ultra_injected;	 /* messages, at the origin */
	uint64_t ultra_stored, ultra_discarded;	 /* and at the target */
	uint64_t csb_max, issue_max, flight_max; /* highest occupancy */
};

/* Of one port, since it was attached. */
struct machine_port_counts {
	uint64_t issued;	  /* VCIs that a requester has taken */
	uint64_t issue_delay_max; /* cycles from the trigger to that */
};

/*
 * Opens a machine for up to `ports` ports. Returns 0, -ENOMEM, or -EINVAL if
 * the configuration is invalid.
 */
int machine_open(struct machine **, const struct machine_config *,
	uint32_t node, uint32_t ports);
void machine_close(struct machine *);

/*
 * Enables a port, whose queue set must be empty of claims. The machine keeps
 * `own`. Returns 0, -ENOSPC, -EEXIST or -EBADMSG.
 */
int machine_attach(struct machine *, struct context *own);
/*
 * Disables a port: forgets its work, aborts the transfers that it has begun,
 * answers packets for it with CAY_ERROR_GONE, releases the locks that it holds
 * here, and ends its ULTRA paths.
 */
void machine_detach(struct machine *, uint16_t vpid);
/*
 * Another node is gone: what it had begun here becomes void, its ports hold no
 * locks, and their ULTRA paths end.
 */
void machine_node_gone(struct machine *, uint32_t node);

/* The origin of a port, to set windows and routes; NULL if it has none. */
struct origin *machine_origin(struct machine *, uint16_t vpid);

/* A port of this or another node. */
struct machine_peer {
	uint32_t node;
	uint32_t epoch; /* one of its epochs: no former port has it */
	uint16_t vpid;
};

/*
 * A route to a port of another node: VCIs whose routing offset is `index` and
 * whose routing length is not 1 take it. Returns 0 or -EINVAL.
 */
int machine_route(struct machine *, uint32_t index, const struct machine_peer *,
	const struct routing_string *);

/* Software: posts a VCI; false if the work queue is full. */
bool machine_post(struct machine *, uint16_t vpid, const struct cay_vci *);
struct cay_answer machine_trigger(
	struct machine *, uint16_t vpid, enum cay_issue, unsigned parameter);

/* Runs one cycle. Returns false if nothing is left to do. */
bool machine_step(struct machine *);
bool machine_idle(const struct machine *);

/* ---- management: what the node does on the real clock ---- */

struct machine_lock {
	uint16_t vpid, window; /* of a port of this machine */
	uint64_t capability;
	struct machine_peer holder; /* with its first epoch, not 0 */
};

/*
 * Locks a window, and all others of its port on the same memory: accesses that
 * arrive from now on are refused, but for those of the holder. Returns 0: no
 * other port has an access in progress; -EINPROGRESS: some have, the caller
 * runs the machine and calls machine_window_locked() until it returns 0, or
 * unlocks; -EAGAIN: another port holds a lock; -EALREADY: the holder has it;
 * -EPIPE, -ENXIO: no such port, window or holder; -EACCES: wrong capability;
 * -ENOSPC: too many ports of other nodes hold locks.
 */
int machine_window_lock(struct machine *, const struct machine_lock *);
/* Returns 0 or -EINPROGRESS; -EPERM: the holder has not locked it; as above. */
int machine_window_locked(struct machine *, const struct machine_lock *);
/* Returns 0 or -EPERM; -EPIPE, -ENXIO or -EACCES if it is not locked either. */
int machine_window_unlock(struct machine *, const struct machine_lock *);

/*
 * A port of this or another node is gone: releases its locks, and ends its
 * ULTRA paths.
 */
void machine_holder_gone(struct machine *, const struct machine_peer *);

/*
 * The owner has closed or revoked a window. Returns 0: no access to its memory
 * is in progress, and none will be; -EAGAIN: one is, for at most one cycle.
 */
int machine_window_quiesce(struct machine *, uint16_t vpid, uint16_t window);

/*
 * A packet from the wire. Returns 0, -EAGAIN (no room now), or an error of
 * packet_decode(), -EINVAL also if it claims to be of this node: it is dropped.
 */
int machine_receive(struct machine *, const void *bytes, size_t size);

/* The consumer's half. */
uint64_t machine_peek(struct context *own, uint64_t position);
void machine_return_entries(struct context *own, uint64_t r);
void machine_completions_returned(struct machine *, uint16_t vpid, uint32_t n);

/*
 * Where encoded packets leave: called with a packet, it returns false if the
 * wire is full, and is then called again in a later cycle. `response` is also
 * true for ULTRA messages, which as responses are executed in any case.
 */
struct wire_port {
	bool (*send)(struct wire_port *, uint32_t node, bool response,
		const void *bytes, size_t size);
};
void machine_connect(struct machine *, struct wire_port *);

/* Delays stages by 0 to `max` cycles, chosen by the seed. */
void machine_delay(struct machine *, uint32_t max, uint64_t seed);

/* Calls a function for every event; NULL: none. See observe.h. */
void machine_observe(struct machine *, machine_observer, void *to);

const struct machine_counts *machine_counts(const struct machine *);
/* NULL if there is no such port. */
const struct machine_port_counts *machine_port_counts(
	const struct machine *, uint16_t vpid);
const struct machine_config *machine_configuration(const struct machine *);

#endif
