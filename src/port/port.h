/* SPDX-License-Identifier: BSD-2-Clause */
/* The private state of a port, its peers and its windows. */
#ifndef CAY_PORT_PORT_H
#define CAY_PORT_PORT_H

#include <errno.h>
#include <pthread.h>

#include "base/bits.h"
#include "base/list.h"
#include "cay/message.h"
#include "cay/peer.h"
#include "device/device.h"
#include "port/member.h"
#include "port/process.h"

/* State of a notification entry between poll and release. */
struct consumer_slot {
	void *buffer;	    /* copy of a long message, or NULL */
	uint32_t rdr;	    /* RDR position after the entry, if has_rdr */
	uint32_t reference; /* to complete on release: 1 + index; 0: none */
	uint32_t sequence;  /* of that reference */
	uint8_t has_rdr, completion, released;
	uint8_t special; /* enum slot_special */
};

/* Which steps the release of an entry takes. */
enum slot_special {
	SLOT_INLINE = 0, /* an inline message */
	SLOT_OTHER = 1,	 /* or one released out of order */
	SLOT_GONE = 2,	 /* a NOTIFY_GONE */
	/* A message in the RDR, or a completion without a buffer: has_rdr. */
	SLOT_PLAIN = 3,
};

/* Progress of the consumer in one queue set. Positions are NQ counts. */
struct consumer {
	struct context *own;
	uint64_t next;	       /* next entry to poll */
	uint64_t oldest;       /* oldest entry that is not released */
	uint64_t returned;     /* R: returned up to here */
	uint32_t rdr;	       /* RDR position up to `oldest` */
	uint32_t returned_rdr; /* R: RDR returned up to here */
	uint32_t completions;  /* released, reservation not yet returned */
	/* Where the next payload in the RDR starts, after a first one. */
	const unsigned char *ahead;
	struct consumer_slot *slots;
	struct consumer *former; /* migrated sets with unreleased entries */
};

struct copied; /* copied.c */

/* A borrowed message or emulated access of this port in flight. */
struct pending {
	uint64_t tag;
	uint32_t api_tag;
	struct cay_peer *peer; /* NULL: the entry is free */
	void *staged;	       /* staging memory, or NULL */
	uint64_t length;
	uint16_t command;
	bool emulated;	    /* an access, not a message */
	bool silent;	    /* no completion was requested */
	bool stored;	    /* its results, and its failure, are recorded */
	void *destination;  /* of a get or fetched value, or NULL */
	const void *source; /* of a message in ordinary memory, or NULL */
};

/* Staging memory for the chunks of one message: cocopy_origin.c. */
struct cocopy_ring {
	_Atomic uint64_t helpable; /* a bit for each slot: a target may copy */
	/* Under port->lock: */
	void *block;	       /* of the heap, or NULL */
	unsigned char *memory; /* COCOPY_RING_BYTES of it */
	bool tried;	       /* to allocate it */
	uint32_t user;	 /* 1 + slot of the message that has it; 0: none */
	uint32_t staged; /* chunks of that message */
};

struct taken; /* fetch.c */

/* Borrowed messages that were polled without their bytes: fetch.c. */
struct taken_table {
	struct taken *entries; /* NULL until needed */
	uint32_t capacity;
	uint32_t free; /* 1 + first free entry; 0: none */
};

struct cay_window {
	struct cay_port *port;
	uint16_t id;
	unsigned char *base;
	uint64_t length;
	uint32_t rights;
	uint32_t refusals; /* already reported to the application */
	bool mapped;	   /* cay_alloc() memory, at `offset` of the arena */
	uint64_t offset;
	bool closing;
};

/* Why a poll is not the usual one; bits 63:32 of cay_port.state. */
enum port_attention {
	PORT_SPECIAL = 1 << 0,	  /* a flag of the port */
	PORT_ULTRA_HELD = 1 << 1, /* a NOTIFY_GONE is held */
	PORT_ULTRA_ACKS = 1 << 2, /* messages may be acknowledged */
	PORT_COCOPY = 1 << 3,	  /* targets may copy messages */
};

struct resolved;  /* resolved.h */
struct resolving; /* resolve.c */

struct cay_port {
	struct origin origin;
	struct member *member;
	/*
	 * Incarnation 31:0, complemented if the port is disabled, and enum
	 * port_attention 63:32: one comparison finds that a call is valid and
	 * that nothing special is to be done.
	 */
	_Atomic uint64_t state;
	uint32_t flags; /* enum cay_port_flag */
	struct consumer consumer;
	struct pending *pending; /* by reference slot; NULL until needed */
	struct cocopy_ring ring;
	struct taken_table taken;	 /* consuming thread */
	_Atomic(struct copied *) copied; /* copied.c; NULL until needed */
	/* By slot: private memory that is posted there; NULL until needed. */
	struct iovec *posted_private;
	_Atomic bool announced;		     /* see pending_announce() */
	_Atomic bool prepared;		     /* see pending_prepare() */
	struct cay_window **windows;	     /* by Win-ID; NULL until needed */
	_Atomic(struct resolved *) resolved; /* peers by VPID */
	struct resolving *resolving;	     /* under way; NULL until needed */
	_Atomic uint32_t resolving_count;
	uint64_t *heard;     /* CAY_PORT_TELL_GONE: a bit per sender; or NULL */
	struct list replied; /* peers that cay_reply() has resolved */
	struct list ultra;   /* ends of ULTRA paths; consuming thread */
	struct list ultra_setups; /* ends that are being set up; the same */
	struct list ultra_closed; /* those that the node must be told of */
	struct list ultra_held;	  /* NOTIFY_GONE; the same */
	bool ultra_armed;	  /* cay_port_arm() was called; the same */
	_Atomic uint32_t ultra_sleepers; /* threads, and the armed port */

	pthread_mutex_t consume;  /* CAY_PORT_SHARED: one consumer at a time */
	pthread_mutex_t lock;	  /* peers, pending, windows, doorbell */
	int doorbell;		  /* reading end, or -1 */
	_Atomic uint64_t spin_ns; /* limit of the next spin */
	struct {
		_Atomic uint64_t received, completed, sleeps, voids, mapped,
			process, staged, copied, emulated_requested,
			emulated_executed, posted;
	} count;
};

struct cay_peer {
	_Atomic(struct context *) context;
	struct cay_port *port;
	_Atomic uint32_t users; /* the application, and pending operations */
	uint32_t index;		/* in the peer table */
	uint16_t vpid;
	uint8_t path;
	_Atomic uint8_t bulk; /* enum peer_bulk */
	_Atomic bool refused; /* an access, since the last cay_flush() */
	void *data;	      /* of the application */
	/* Under port->lock: */
	struct cay_peer *younger; /* the next one with this VPID */
	struct list link;	  /* of port->replied */
	uint64_t gone_at;	  /* position of its NOTIFY_GONE */
	bool unused;		  /* of port->replied, and GONE is released */
};

/* Transfer of long messages from ordinary memory; the target probes it. */
enum peer_bulk {
	BULK_UNKNOWN = 0, /* staged, with a request to probe */
	BULK_PROCESS = 1, /* the target reads the memory of this process */
	BULK_STAGED = 2,  /* the target cannot: stage in the arena */
};

/*
 * Returns false in a forked child, and for a disabled port. Relaxed, here and
 * in port_error(): the number is only compared.
 */
static inline bool port_valid(const struct cay_port *port)
{
	return process_incarnation_valid((uint32_t)atomic_load_explicit(
		&port->state, memory_order_relaxed));
}

/* Returns true if the port is valid and nothing needs attention. */
static inline bool port_plain(const struct cay_port *port)
{
	return atomic_load_explicit(&port->state, memory_order_relaxed) ==
	       *process_incarnation;
}

/* The same, and false for NULL: for calls that are not on a hot path. */
static inline bool port_usable(const struct cay_port *port)
{
	return port && port_valid(port);
}

/* Returns the error number of calls on a port that is not usable. */
static inline int port_error(const struct cay_port *port)
{
	if (!port)
		return -EINVAL;
	uint32_t incarnation = (uint32_t)atomic_load_explicit(
		&port->state, memory_order_relaxed);
	return process_incarnation_valid(~incarnation) ? -EACCES : -ECHILD;
}

/* Returns true if the handle is one of this port: not NULL, not another's. */
static inline bool port_has_peer(
	const struct cay_port *port, const struct cay_peer *peer)
{
	return peer && peer->port == port;
}

static inline void port_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/*
 * Returns the current queue set of the port, following migrations that the
 * consumer has not noticed yet. Any thread.
 */
static inline struct context *port_context(struct cay_port *port)
{
	struct context *own = atomic_load_explicit(
		&port->origin.device.own, memory_order_acquire);
	while (unlikely(atomic_load_explicit(&own->control->access_epoch,
				memory_order_acquire) != own->epoch) &&
		context_follow_migration(&port->origin.device.own, own))
		own = atomic_load_explicit(
			&port->origin.device.own, memory_order_acquire);
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

/* Relaxed: what needs attention has locks or atomics of its own. */
static inline void port_attend(struct cay_port *port, enum port_attention why)
{
	atomic_fetch_or_explicit(
		&port->state, (uint64_t)why << 32, memory_order_relaxed);
}

static inline void port_attended(struct cay_port *port, enum port_attention why)
{
	atomic_fetch_and_explicit(
		&port->state, ~((uint64_t)why << 32), memory_order_relaxed);
}

static inline bool port_attends(
	const struct cay_port *port, enum port_attention why)
{
	return atomic_load_explicit(&port->state, memory_order_relaxed) >> 32 &
	       why;
}

/* More invalid capabilities than this are an attempt to guess one. */
#define PORT_INVALID_CAPABILITIES_MAX 4096

/* Disables the port: all further calls return -EACCES. */
void port_disable(struct cay_port *);

/* Call after a window has refused an operation. */
static inline void port_check_capabilities(struct cay_port *port)
{
	if (unlikely(atomic_load_explicit(
			     &port->origin.device.invalid_capabilities,
			     memory_order_relaxed) >=
		     PORT_INVALID_CAPABILITIES_MAX))
		port_disable(port);
}

/* Counts an invalid capability that the node or a peer has refused. */
static inline void port_invalid_capability(struct cay_port *port)
{
	atomic_fetch_add_explicit(&port->origin.device.invalid_capabilities, 1,
		memory_order_relaxed);
	port_check_capabilities(port);
}

/*
 * Lets the next cay_flush() to the peer fail. Relaxed: a flush covers
 * operations that happen before it.
 */
static inline void peer_refused(struct cay_peer *peer)
{
	atomic_store_explicit(&peer->refused, true, memory_order_relaxed);
}

/* Allocates a peer without a context; NULL if there is no memory. */
struct cay_peer *peer_alloc(struct cay_port *, uint16_t vpid);
/* Under port->lock: allocates the routes. Returns 0 or -ENOMEM. */
int peer_prepare(struct cay_port *);

/* Drops a reference to a peer; the last one frees it. */
void peer_put(struct cay_peer *);

#endif
