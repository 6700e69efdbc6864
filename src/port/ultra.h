/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ends of ULTRA paths of a port. The list of them belongs to the consuming
 * thread.
 */
#ifndef CAY_PORT_ULTRA_H
#define CAY_PORT_ULTRA_H

#include "cay/ultra.h"
#include "port/port.h"

/* A message with CAY_ACK that is not acknowledged. */
struct ultra_ack {
	uint64_t position, tag;
	uint32_t length;
};

#define ULTRA_ACK_NONE UINT64_MAX

/* An end that is being set up. */
struct ultra_setup {
	struct node_request request; /* the next one, or that in flight */
	struct control_pending pending;
	bool started; /* it is in flight */
	bool fence;
	uint8_t slice_log2;
	int error; /* of a step: it has failed */
};

struct cay_ultra {
	struct cay_port *port;
	/* Origin, set up: 1 + CAY_ULTRA_LINE_MAX; else 0. */
	size_t line_end;
	union {
		struct ultra_requester out;
		struct ultra_completer in;
	};
	bool target;
	bool patient; /* closing it may wait for the node */
	bool alone;   /* target, set up: one consuming thread */
	bool local;   /* the other end is in this realm */
	bool peeked;  /* cay_ultra_peek() has found a message */
	uint8_t peeked_flags;
	_Atomic bool ended; /* target: -EPIPE or -EBADMSG was returned */
	uint16_t upid, peer_upid, peer_vpid; /* of a target: once ENABLED */
	struct list link; /* of port->ultra, ultra_setups, ultra_closed */
	struct ultra_setup *setup; /* NULL: it is set up */
	void *slices, *page;	   /* mappings */
	uint64_t slices_bytes;
	/* Origin: */
	uint32_t woken;		 /* the last sleep of the target that ended */
	_Atomic uint64_t sleeps; /* of this end */
	_Atomic bool wants_room; /* a message was refused */
	/* Position of the oldest entry of `acks`, or ULTRA_ACK_NONE. */
	_Atomic uint64_t ack_next;
	/* Under port->lock: a ring with an entry per slice; NULL: unused. */
	struct ultra_ack *acks;
	uint32_t ack_first, ack_count;
};

/* Loads the flags of the return page. Acquire: see device/ultra.c. */
static inline uint64_t ultra_flags(const struct cay_ultra *u)
{
	const struct ultra_return_page *page = u->page;
	return atomic_load_explicit(&page->flags, memory_order_acquire);
}

/* Closes the paths of a port. */
void ultra_port_close(struct cay_port *);

/* ---- ultra_wait.c ---- */

/* Target: copies the name of the origin. Returns false before ENABLED. */
bool ultra_learn_origin(struct cay_ultra *);

/* Wakes the port at the other end. */
void ultra_wake_peer(struct cay_ultra *, bool ring);

/*
 * Consuming thread. Returns true if a path has something for it: a message, its
 * end, room, an event.
 */
bool ultra_pending(struct cay_port *);
/* The caller learns of it now; room is reported once. */
void ultra_reported(struct cay_port *);
/*
 * Before the consumer sleeps on W: lets the other ends wake it. Returns false
 * if something has arrived. In any case ultra_awake() follows. *until is
 * reduced if the other ends may be unable to wake it.
 */
bool ultra_asleep(struct cay_port *, uint64_t *until);
void ultra_awake(struct cay_port *);
/* The same for a port that is armed, which it stays. */
bool ultra_arm(struct cay_port *);
/*
 * Origin, after it began to wait for room or an acknowledgement: lets the
 * target wake a thread that sleeps already.
 */
void ultra_call_back(struct cay_ultra *);

/* Allocates what ultra_ack_add() needs. Returns 0 or -ENOMEM. */
int ultra_ack_prepare(struct cay_ultra *);
/*
 * Remembers that a message is to be acknowledged. Returns 0, or -EBADMSG if the
 * target has returned an impossible position.
 */
int ultra_ack_add(
	struct cay_ultra *, struct op_record *, const struct ultra_ack *);
/* Writes the events of acknowledged messages into the port's own NQ. */
void ultra_acknowledge(struct cay_port *);
/* Does so for one path, and reports what is not acknowledged as lost. */
void ultra_acknowledge_end(struct cay_ultra *);
/* Writes a NOTIFY_ULTRA; its completion was reserved. */
void ultra_event(struct cay_ultra *, struct op_record *,
	const struct ultra_ack *, enum cay_ultra_flag, enum cay_error);

/*
 * Holds the NOTIFY_GONE at this position while paths of the peer are not
 * drained. Returns 1 (held: its entry stays unreleased), 0, or -ENOMEM.
 */
int ultra_hold_gone(struct cay_port *, struct cay_addr, uint64_t position);
/* Takes one whose paths are drained. Returns false if there is none. */
bool ultra_take_held(struct cay_port *, struct cay_addr *, uint64_t *position);
void ultra_held_free(struct cay_port *);
/* Returns true if one is held for this path. */
bool ultra_held(const struct cay_ultra *);

#endif
