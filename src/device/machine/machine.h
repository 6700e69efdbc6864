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

/* A port of this or another node. */
struct machine_peer {
	uint32_t node;
	uint32_t epoch; /* one of its epochs: no former port has it */
	uint16_t vpid;
};

struct machine_lock {
	uint16_t vpid, window; /* of a port of this machine */
	uint64_t capability;
	struct machine_peer holder; /* with its first epoch, not 0 */
};

/*
 * Where encoded packets leave: called with a packet, it returns false if the
 * wire is full, and is then called again in a later cycle. `response` is also
 * true for ULTRA messages, which as responses are executed in any case.
 */
struct wire_port {
	bool (*send)(struct wire_port *, uint32_t node, bool response,
		const void *bytes, size_t size);
};

#include "device/machine/ultra.h"

#define MACHINE(name) machine_##name
/* clang-format off */
#include "device/machine/entry.h"
/* clang-format on */
#undef MACHINE

#endif
