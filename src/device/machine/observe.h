/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Observation of a machine: a function that is called for every event of its
 * units. Without an observer an event costs one load.
 *
 *	static void note(void *to, const struct machine_note *n);
 *	machine_observe(m, note, to);
 */
#ifndef CAY_DEVICE_MACHINE_OBSERVE_H
#define CAY_DEVICE_MACHINE_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_header;

enum unit_kind {
	UNIT_REQUESTER,
	UNIT_COMPLETER,
	UNIT_RESPONDER,
	UNIT_HOST_KINDS, /* those above are of the host port */
	UNIT_ULTRA_REQUESTER = UNIT_HOST_KINDS,
	UNIT_ULTRA_COMPLETER,
	UNIT_KINDS,
};

enum machine_event {
	MACHINE_ACCEPTED,    /* a trigger, into the conditional store buffer; an
				ULTRA message, into the packet queue */
	MACHINE_REFUSED,     /* a trigger, an ULTRA message */
	MACHINE_FETCHED,     /* a VCI, into the issue queue */
	MACHINE_HELD,	     /* in front of the units for this cycle */
	MACHINE_ISSUED,	     /* to a requester */
	MACHINE_STAGE,	     /* a unit has executed a stage */
	MACHINE_TRANSMITTED, /* a packet leaves its node, or is handed over */
	MACHINE_ARRIVED,     /* a packet */
	MACHINE_DISPATCHED,  /* a packet, to a completer or responder */
	MACHINE_PARKED,	     /* a packet, for lack of room */
	MACHINE_NOTIFIED,    /* an entry is published */
	MACHINE_ANSWERED,    /* a response has found its request */
	MACHINE_RETIRED,     /* a request */
	MACHINE_DISCARDED,   /* an ULTRA message */
	MACHINE_INTERRUPTED, /* a port, by an ULTRA message */
	MACHINE_RETURNED,    /* a port has returned slices of a path */
	MACHINE_EVENTS,
};

/* Members that an event does not have are 0. */
struct machine_note {
	enum machine_event event;
	uint64_t cycle;
	uint32_t node;
	uint16_t vpid;	     /* the port on this node */
	uint64_t tag;	     /* user tag of the request */
	uint16_t command;    /* command word: of the request, or in an entry */
	enum unit_kind kind; /* HELD, ISSUED, STAGE, DISPATCHED: of unit */
	uint32_t unit;	     /* its number */
	uint32_t stage;	     /* STAGE */
	uint32_t items;	     /* ACCEPTED: of the trigger */
	uint32_t left;	   /* ACCEPTED: entries; REFUSED: the wait hint in ns */
	uint16_t upid;	   /* of an ULTRA port of this node */
	uint64_t position; /* ANSWERED, RETURNED, of a path */
	/*
	 * ISSUED, DISPATCHED: to this unit because it has an earlier request of
	 * the same origin and target. HELD: behind such a request; otherwise no
	 * unit accepts.
	 */
	bool ordered;
	bool waits; /* ISSUED, DISPATCHED: in the wait queue of the unit */
	const struct packet_header *packet; /* TRANSMITTED, ARRIVED */
	const void *bytes; /* TRANSMITTED: the packet; NULL: not encoded */
	size_t size;
};

typedef void (*machine_observer)(void *to, const struct machine_note *);

/* "requester", ... */
const char *machine_unit_name(enum unit_kind);
/* "context load", ... */
const char *machine_stage_name(enum unit_kind, uint32_t stage);
/* "accepted", ... */
const char *machine_event_name(enum machine_event);

#endif
