/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of an endpoint about one other endpoint: found by its address (it
 * is in the address vector), by its VPID (it has sent a message), or by both. A
 * hello with the sender's address precedes the first message to a peer, so that
 * the peer can attribute messages to an address.
 */
#ifndef CAY_PROVIDER_PEER_H
#define CAY_PROVIDER_PEER_H

#include "provider/av/address.h"
#include "provider/provider.h"

struct endpoint;
struct key_cache;
struct path;

/* The bit PEER_READY says that the peer is resolved and a hello was sent. */
enum peer_state {
	PEER_UNKNOWN = 0, /* not resolved, or without a hello */
	PEER_READY = 1,
	PEER_GONE = 2,
	PEER_PATH = PEER_READY | 2, /* messages have sequence numbers */
};

/*
 * How a peer gets its port: the node resolves it, and reports the end with an
 * event. No call waits for that, since the node may be slow.
 */
enum peer_contact {
	CONTACT_NONE,	 /* resolved, or not asked for */
	CONTACT_WANTED,	 /* to be asked for, by progress */
	CONTACT_STARTED, /* asked for: CAY_EVENT_RESOLVED follows */
};

struct peer {
	struct list link; /* endpoint->peers */
	struct endpoint *ep;
	/* Both have 32 bits: the fast path checks them by one comparison. */
	enum peer_state state;
	uint32_t xoff;	       /* 1: it has sent XOFF: send no messages */
	bool xoff_sent;	       /* XOFF was sent to it */
	struct cay_peer *port; /* NULL unless resolved */
	uint16_t vpid;
	bool seen;	   /* it was resolved before */
	fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL: not in the address vector */
	struct address address;
	enum peer_contact contact;
	struct list contact_link; /* endpoint->contacts, unless CONTACT_NONE */
	bool contact_sends;	  /* a call waits for it, with -FI_EAGAIN */
	int contact_error;	  /* positive fi_errno, for that call */
	uint64_t contact_ns;	  /* when it failed last; 0: never */
	uint64_t first_try_ns;	  /* of resolving it in vain; 0: none */
	struct list ops;	  /* op.link */
	struct list xoff_link;	  /* endpoint->xoff_peers, while xoff_sent */
	unsigned control_count;	  /* control messages queued for it */
	unsigned full_round;	  /* retry round in which its queue was full */
	unsigned posted;	  /* receives posted with it as source */
	unsigned unexpected;	  /* unexpected messages from it */
	unsigned atomics;	  /* atomic operations without a result yet */
	struct key_cache *keys;	  /* key_table.c; NULL: nothing cached */
	struct path *path_in;	  /* path.h; from the peer; NULL: none */
	struct path *path_out;	  /* to the peer */
	uint32_t until_path; /* small messages until it may get a path_in */
	uint32_t batches;    /* endpoint->event_batches when that was set */
};

/*
 * Returns the peer to send to, resolved and with a hello sent; endpoint_peer()
 * is its fast path. Returns 0, or -FI_EAGAIN (not resolved yet, not up yet, or
 * backpressure), -FI_EINVAL (no such fi_addr_t), -FI_EHOSTUNREACH (not up in
 * time, or gone), -FI_ENOTCONN (the node has exited).
 */
int peer_get(struct endpoint *, fi_addr_t, struct peer **);
/* Resolves a peer, so that the device reports its death. */
void peer_watch(struct endpoint *, fi_addr_t);
/* Finds or makes the peer of an address. Returns 0 or -FI_ENOMEM. */
int peer_of_address(struct endpoint *, const struct address *, struct peer **);
/* Has the port of a peer resolved, if it is not under way. */
void peer_contact(struct peer *);
/* Starts what could not be started. Called by progress. */
void peer_contacts_retry(struct endpoint *);
/* Attributes the messages of this port to the peer. */
void peer_set_vpid(struct peer *, uint16_t vpid);
void peer_set_port(struct peer *, struct cay_peer *port);
/* Releases its port; the state becomes PEER_UNKNOWN. */
void peer_unresolve(struct peer *);

/* The address vector has a new entry, or has lost one. */
void peer_inserted(struct endpoint *, fi_addr_t);
void peer_removed(struct endpoint *, fi_addr_t);
/* Frees a peer that is gone, not in the AV, and not used any more. */
void peer_free_unused(struct peer *);
void peers_free(struct endpoint *);

/* Translates an error of a request to the peer; logs that it is gone. */
int peer_error(const struct peer *, int error);
/* Returns true if it has sent a hello and is not gone: its VPID is known. */
bool peer_heard(const struct peer *);
/* Frees a peer whose contact failed, if nothing needs it. */
void peer_free_failed(struct peer *);

/* ---- connection.c ---- */

/* Handles CAY_EVENT_RESOLVED. */
void peer_resolved(struct endpoint *, const struct cay_event *);
/* Handles WIRE_HELLO. Returns 0, -FI_ENOMEM, -FI_EAGAIN. */
int peer_hello_received(
	struct endpoint *, struct cay_addr, const void *, size_t);
/*
 * Handles the death or close of a peer: ends all operations to it and the
 * receives that name it as source with FI_EHOSTUNREACH.
 */
void peer_gone(struct endpoint *, uint16_t vpid);
/* The same for a peer that lives and violates the protocol of paths. */
void peer_damaged(struct peer *);

#endif
