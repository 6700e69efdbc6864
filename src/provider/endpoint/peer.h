/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer as an endpoint knows it: another endpoint, by its address (because it
 * is in the address vector), by its VPID (because it has written to us), or by
 * both. Before the first message to a peer goes a greeting with our address, so
 * that it knows who writes.
 */
#ifndef CAY_PROVIDER_PEER_H
#define CAY_PROVIDER_PEER_H

#include "provider/av/address.h"
#include "provider/provider.h"

struct endpoint;
struct key_cache;

enum peer_state {
	PEER_UNKNOWN, /* not resolved yet */
	PEER_READY,   /* resolved and greeted */
	PEER_GONE,
};

struct peer {
	struct list link; /* endpoint->peers */
	struct endpoint *ep;
	enum peer_state state;
	bool halted;	       /* it holds too much unexpected: send nothing */
	bool halting;	       /* we have told it so */
	struct cay_peer *port; /* NULL unless resolved */
	uint16_t vpid;
	bool seen;	   /* it was there once */
	fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL: not in the address vector */
	struct address address;
	uint64_t first_try_ns;	/* when it was first not there; 0: never */
	struct list ops;	/* op.link */
	struct list halt_link;	/* endpoint->halted, while halting */
	unsigned posts;		/* notes to it that found no room: progress.c */
	unsigned full_in;	/* the round in which it had no room */
	unsigned awaited;	/* receives posted from it */
	unsigned held;		/* unexpected messages of it */
	unsigned atomics;	/* executed by it, not answered yet */
	struct key_cache *keys; /* key_table.h; NULL: nothing cached */
};

/*
 * The peer to send to: resolved, greeted. The hot half is endpoint_peer() in
 * endpoint.h. 0, or -FI_EAGAIN (not there yet, no room), -FI_EINVAL (no such
 * fi_addr_t), -FI_EHOSTUNREACH (not there, or gone).
 */
int peer_get(struct endpoint *, fi_addr_t, struct peer **);
/* Somebody waits for a message from it: we want to hear of its death. */
void peer_watch(struct endpoint *, fi_addr_t);
/* Whom a message is from; NULL if it has not greeted us. */
struct peer *peer_from(struct endpoint *, uint16_t vpid);
/* A greeting came. 0, -FI_ENOMEM, -FI_EAGAIN. */
int peer_greeted(struct endpoint *, struct cay_addr, const void *, size_t);
/* It has died or closed: ends everything that was posted to or from it. */
void peer_gone(struct endpoint *, uint16_t vpid);
/* The address vector has a new entry, or has lost one. */
void peer_inserted(struct endpoint *, fi_addr_t);
void peer_removed(struct endpoint *, fi_addr_t);
/* Frees a stranger who is gone, once nobody needs what we know of it. */
void peer_settle(struct peer *);
void peers_free(struct endpoint *);

#endif
