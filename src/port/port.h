/* SPDX-License-Identifier: BSD-2-Clause */
/* What a port is inside the library; private to the process. */
#ifndef CAY_PORT_PORT_H
#define CAY_PORT_PORT_H

#include <errno.h>
#include <pthread.h>

#include "base/bits.h"
#include "cay/message.h"
#include "cay/peer.h"
#include "device/device.h"
#include "port/life.h"
#include "port/member.h"

/* What is known of one entry between poll and release. */
struct intake_slot {
	void *buffer;	    /* of a long message that was copied, or NULL */
	uint32_t rdr;	    /* RDR position behind it, if has_rdr */
	uint32_t reference; /* to be completed on release: 1 + index */
	uint32_t sequence;
	uint8_t has_rdr, completion, released;
	uint8_t special; /* anything but a fast message in the right order */
};

/* How far the consumer has got in one queue set. nq counts. */
struct intake {
	struct context *own;
	uint64_t next;	       /* the entry to look at next */
	uint64_t oldest;       /* not yet released */
	uint64_t returned;     /* what R says */
	uint32_t rdr;	       /* RDR position up to `oldest` */
	uint32_t returned_rdr; /* what R says */
	uint32_t completions;  /* among the released, not yet returned */
	struct intake_slot *slots;
	struct intake *former; /* set that moved, with entries still held */
};

/* A long message of ours that its target has not taken. */
struct outgoing {
	uint64_t tag;
	uint32_t api_tag;
	struct cay_peer *peer;
	void *staged; /* memory.c, or NULL */
	uint64_t length;
	uint16_t command;
	bool carried; /* an access that the target makes, not a message */
	bool silent;  /* nobody has asked for its event */
	void *local;  /* where got bytes go; NULL when they have gone there */
};

/* The window with this Win-ID, as its owner knows it. */
struct cay_window {
	struct cay_port *port;
	uint16_t id;
	unsigned char *base;
	uint64_t length;
	uint32_t rights;
	uint32_t refusals; /* that the application has been told of */
	bool closing;
};

struct cay_port {
	struct origin origin;
	struct member *member;
	_Atomic uint32_t life; /* of who opened it; inverted if disabled */
	uint32_t flags;	       /* enum cay_port_flag */
	struct intake intake;
	struct outgoing *outgoing;   /* by reference slot; when first needed */
	_Atomic bool announced;	     /* see outgoing_announce() */
	struct cay_window **windows; /* by Win-ID; when first needed */
	uint32_t posted_next;	     /* the slot to post next */

	pthread_mutex_t consume;  /* CAY_PORT_SHARED */
	pthread_mutex_t lock;	  /* routes, outgoing, windows, bell */
	int bell;		  /* eventfd or -1 */
	_Atomic uint64_t spin_ns; /* what the next wait may spin */
	struct {
		_Atomic uint64_t refused, received, completed, sleeps, voids,
			mapped, process, staged, emulated_requested,
			emulated_executed, posted;
	} count;
};

struct cay_peer {
	_Atomic(struct context *) context;
	struct cay_port *port;
	_Atomic uint32_t users; /* the application, and outgoing messages */
	uint32_t index;		/* in the peer table */
	uint16_t vpid;
	uint8_t path;
	_Atomic uint8_t bulk; /* enum peer_bulk */
};

/* How long messages from ordinary memory travel; learned from the target. */
enum peer_bulk {
	BULK_UNKNOWN = 0, /* staged, and the target is asked to try */
	BULK_PROCESS = 1, /* the target reads our memory */
	BULK_STAGED = 2,  /* it may not, so we copy into the arena */
};

/* Relaxed, here and below: a number that is compared and nothing more. */
static inline bool port_here(const struct cay_port *port)
{
	return life_valid(
		atomic_load_explicit(&port->life, memory_order_relaxed));
}

/* Why not: a child, or a port that was disabled. */
static inline int port_absent(const struct cay_port *port)
{
	uint32_t life = atomic_load_explicit(&port->life, memory_order_relaxed);
	return life_valid(~life) ? -EACCES : -ECHILD;
}

static inline void port_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/*
 * The port's queue set as it is now: the node may have replaced it since the
 * consumer looked last. Any thread.
 */
static inline struct context *port_own(struct cay_port *port)
{
	struct context *own =
		atomic_load_explicit(&port->origin.own, memory_order_acquire);
	while (unlikely(atomic_load_explicit(&own->control->access_epoch,
				memory_order_acquire) != own->epoch) &&
		context_follow_migration(&port->origin.own, own))
		own = atomic_load_explicit(
			&port->origin.own, memory_order_acquire);
	return own;
}

static inline void port_consume_begin(struct cay_port *port)
{
	if (port->flags & CAY_PORT_SHARED)
		pthread_mutex_lock(&port->consume);
}

static inline void port_consume_end(struct cay_port *port)
{
	if (port->flags & CAY_PORT_SHARED)
		pthread_mutex_unlock(&port->consume);
}

/* So many wrong capabilities are no mistake. */
#define PORT_WRONG_MAX 4096

void port_disable(struct cay_port *);

/* After what may have been refused. */
static inline void port_watch(struct cay_port *port)
{
	if (unlikely(atomic_load_explicit(&port->origin.invalid_capabilities,
			     memory_order_relaxed) >= PORT_WRONG_MAX))
		port_disable(port);
}

/* A capability was wrong, where the device does not see it. */
static inline void port_wrong(struct cay_port *port)
{
	atomic_fetch_add_explicit(
		&port->origin.invalid_capabilities, 1, memory_order_relaxed);
	port_watch(port);
}

void peer_put(struct cay_peer *);

#endif
