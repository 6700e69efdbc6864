/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a machine, private to its units. */
#ifndef CAY_DEVICE_MACHINE_STATE_H
#define CAY_DEVICE_MACHINE_STATE_H

#include "device/machine/machine.h"
#include "device/machine/ring.h"
#include "device/packet.h"
#include "device/ultra.h"

#define NONE	       UINT32_MAX
#define MACHINE_ROUTES 256 /* routing strings to other nodes */

#define MACHINE_HOLDER_SHIFT 16 /* in a lock: 1 + number of the holder */

/* Of a trigger command: followed by a NOTIFY_STATUS. */
#define MACHINE_STATUS 8u

/* An accepted trigger. */
struct csb_entry {
	uint8_t command; /* enum cay_issue */
	uint32_t count;
	uint64_t accepted; /* cycle */
	uint32_t next;	   /* of the same port, or of the free list */
};

struct machine_port {
	struct origin origin;
	struct context *own; /* NULL: not in use */
	uint32_t first_epoch;
	uint32_t csb_first, csb_last, csb_count;
	bool active; /* in the ring of ports with accepted work */
	/* Requests from fetch to retirement, in order of issue. */
	uint32_t request_first, request_last, requests;
	uint32_t long_transfers; /* of them */
	bool retiring;
	/* Packets that wait for room, in order of arrival. */
	uint32_t parked_first, parked_last, parked;
	/* Cycle of the first failure since an entry was claimed; 0: none. */
	uint64_t stuck_since;
	bool retried; /* since then, in vain */
	struct machine_port_counts counts;
};

/* ---- origin: a work request from fetch to retirement ---- */

enum request_state {
	REQUEST_FREE,
	REQUEST_ISSUE,	   /* in the issue queue */
	REQUEST_EXECUTING, /* in a requester, or in its wait queue */
	REQUEST_SENT,	   /* the response will arrive as a packet */
	REQUEST_ANSWERED,
};

struct request {
	struct cay_vci vci; /* a private copy */
	struct packet packet;
	struct iovec data;
	uint64_t fetched[CAY_FAST_PUT_WORDS];
	uint64_t key;	   /* of the order; 0: none */
	uint64_t accepted; /* cycle of its trigger */
	uint64_t sent;	   /* bytes transmitted */
	uint64_t arrived;
	struct response response;
	uint32_t port;
	uint32_t generation;
	uint32_t next; /* of the same port */
	uint16_t target_vpid;
	struct machine_peer peer; /* of its route */
	uint8_t state, error;
	bool remote;	/* the target is on another node */
	bool abandoned; /* its port was detached */
	bool refused;	/* fails with `error` before its last packet is sent */
	bool checked;	/* its window at the origin, with the lock */
	bool resumed;	/* its segments are sent again */
	bool is_long;	/* transfer_is_long() */
	struct routing_string string; /* if `remote`; last: it is not cleared */
};

struct machine_route {
	struct machine_peer peer;
	struct routing_string string;
	bool used, gone; /* gone: the node is */
};

/* ---- target: a packet from arrival to execution ---- */

struct arrival {
	struct packet_header header;
	struct packet packet;
	struct iovec data;
	unsigned char *bytes; /* mtu */
	uint64_t key;
	uint32_t port;	   /* of the target */
	uint32_t assembly; /* NONE: not segmented */
	uint32_t next;
	struct access access;
	struct claim claim;
	struct cay_posted_receive slot; /* if `posted` */
	uint32_t slot_index;
	uint64_t fetched; /* by a responder, in bytes */
	uint64_t granted; /* cycle of the check of its window */
	struct response answer;
	bool remote, response, ultra, posted, answered;
	bool entered;  /* its window is checked, and it has not ended */
	uint8_t error; /* of a responder that cannot refuse it yet */
	bool dropped;  /* its node is gone */
	uint32_t path; /* of an ULTRA message: completer port, or NONE */
	/* Of a first segment that is parked: later ones, the last, came. */
	bool held, held_last;
	/* If `remote`, as received: has the way back. Not cleared, as what
	 * follows. */
	struct routing_string string;
	struct ultra_cursor slice; /* if `path`: where the message goes */
};

/* A segmented transfer, from its first segment to its last. */
enum assembly_state {
	ASSEMBLY_FREE,
	ASSEMBLY_OPEN,
	ASSEMBLY_REFUSED, /* its other segments are dropped */
};

struct assembly {
	struct packet_header first; /* node and request identify it */
	uint64_t arrived;	    /* bytes; where the next segment begins */
	uint32_t port;		    /* NONE: detached */
	uint8_t state;
	bool told;     /* the origin knows of the refusal */
	bool resumed;  /* its segments are sent again; its key waits */
	bool resuming; /* the first of them has not come */
	uint64_t key;  /* if `resumed` */
	bool claimed;  /* an entry, below */
	bool posted;
	struct claim claim; /* SEND: for the whole; PUT: a notification */
	struct cay_posted_receive slot;
	uint32_t slot_index;
};

/* ---- ULTRA: contexts of the two units ---- */

enum path_state {
	PATH_FREE,
	PATH_OPEN, /* not enabled */
	PATH_ENABLED,
	PATH_GONE,   /* the other end is */
	PATH_CLOSED, /* a requester port that has notifications to write */
};

struct ultra_end {
	uint8_t state;	    /* enum path_state */
	uint16_t upid;	    /* of a free port: the last one that it had */
	uint16_t peer_upid; /* 0: none */
	uint32_t port;
	struct machine_peer peer;
};

/* Positions count messages from 0. */
struct requester_port {
	struct ultra_end end;
	uint32_t line; /* its slice of the packet queue begins there */
	uint32_t entries, entry_bytes;
	uint32_t slices;		/* of the target's queue */
	uint64_t written, issued, read; /* issued: given to the unit */
	uint64_t returned;		/* the position of the target */
	uint32_t note_first, notes;	/* messages with ACK */
	bool active;			/* in the ring of ports with work */
	bool remote;
	struct routing_string string; /* if `remote` */
};

/* A message with ACK that the target has not taken. */
struct ultra_note {
	uint64_t position, tag;
	uint32_t length;
};

struct completer_port {
	struct ultra_end end;
	struct ultra_cursor next;
	uint64_t written, read;
	uint64_t discarded;
	struct packet_header message; /* the last one that was stored */
	bool returning;		      /* in the ring of ports with an ACK */
	bool remote;
	struct routing_string string; /* if `remote`: of that message */
};

/* ---- units ---- */

#define UNIT_STAGES_MAX 6

/* A pipeline: each stage holds one request or packet, or NONE. */
struct unit {
	uint32_t item[UNIT_STAGES_MAX];
	uint64_t ready[UNIT_STAGES_MAX]; /* cycle in which it may advance */
	uint64_t key[UNIT_STAGES_MAX];	 /* the scoreboard's entries */
	struct ring wait;
	uint64_t *wait_key; /* by position in the ring */
};

/* What the notification unit writes. */
enum notice_kind {
	NOTICE_COMPLETION,
	NOTICE_STATUS,
	NOTICE_ULTRA,
	NOTICE_MESSAGE, /* of an arrival */
	NOTICE_ACCESS,
	NOTICE_POSTED,
};

struct notice {
	enum notice_kind kind;
	uint32_t port;
	uint32_t arrival;
	struct completion completion;
};

/* What the acknowledge unit sends. */
struct acknowledge {
	struct packet_header header;
	struct routing_string string; /* of the request */
	uint32_t node;
	bool remote;
};

struct machine {
	struct machine_config config;
	uint32_t node;
	struct op_record op; /* of claims, in private memory */

	struct machine_port *ports;
	uint32_t port_max;
	uint32_t *by_vpid; /* hash table of port indices */
	uint32_t by_vpid_mask;

	struct ring retiring; /* ports with answered requests */
	struct csb_entry *csb;
	uint32_t csb_free, csb_used;
	struct ring active; /* ports with accepted work, for fetch */

	struct request *requests;
	uint32_t *request_free, request_free_count;
	struct ring issue;  /* requests */
	struct ring resume; /* requests whose segments are sent again */

	struct unit *units[UNIT_KINDS];
	uint32_t unit_count[UNIT_KINDS], unit_stages[UNIT_KINDS];

	struct arrival *arrivals;
	uint32_t arrival_count; /* packets + ultra_packets */
	uint32_t *arrival_free, arrival_free_count;
	uint32_t arrival_responses;    /* in use by responses */
	uint32_t arrival_ultra;	       /* in use by ULTRA messages */
	struct ring incoming, answers; /* arrivals: requests, responses */
	struct assembly *assemblies;
	uint32_t assembly_used, assembly_resumed;
	uint32_t parked; /* packets, of all ports */
	bool pressed;	 /* a packet or request found no room */

	struct notice *notices;
	struct ring notify;
	struct acknowledge *acks;
	struct ring ack;

	struct requester_port *requester_ports;
	struct completer_port *completer_ports;
	uint32_t requester_port_next, completer_port_next;
	unsigned char *ultra_queue; /* packet queue: lines */
	uint32_t *line_owner;	    /* requester port of each, or NONE */
	struct ultra_note *ultra_notes;
	struct ring ultra_active;    /* requester ports with work */
	struct ring ultra_returning; /* completer ports with an ACK */
	struct ring ultra_incoming;  /* arrivals: ULTRA messages */
	bool ultra_first;	     /* of the requesters, in this cycle */

	struct machine_peer *holders; /* on other nodes; epoch 0: none */
	uint32_t holder_count;	      /* entries that have been in use */

	struct machine_route *routes;
	struct wire_port *wire;
	unsigned char *encoded;	   /* PACKET_BYTES_MAX(mtu) */
	machine_observer observer; /* NULL: none */
	void *observer_to;

	uint32_t delay_max;
	uint64_t random;
	bool busy; /* in this cycle something happened */
	struct machine_counts counts;
};

#endif
