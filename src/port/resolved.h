/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resolved peers of a port by VPID, so that an event names the handle of
 * its peer, and cay_reply() finds it.
 *
 * A peer is in the table from its resolution to its release, or until its
 * NOTIFY_GONE is polled. This keeps an event of a port apart from the peers of
 * other ports that had its VPID or will have it: NOTIFY_GONE follows the last
 * entry of a port, and the node does not reuse a VPID while a queue of the
 * realm holds an entry that names it (node/vpid.c).
 */
#ifndef CAY_PORT_RESOLVED_H
#define CAY_PORT_RESOLVED_H

#include "port/port.h"

#define RESOLVED_SLOTS 256 /* of each of the two levels */

struct resolved_leaf {
	_Atomic(struct cay_peer *) peers[RESOLVED_SLOTS];
};

/*
 * Levels without a peer are resolved_none and its leaf, which no thread writes:
 * a look-up takes no branch.
 */
struct resolved {
	_Atomic(struct resolved_leaf *) leaves[RESOLVED_SLOTS];
};

extern struct resolved resolved_none;

/*
 * Returns the oldest peer with this VPID, or NULL. Any thread. Acquire pairs
 * with the releases in resolved.c: levels and peer are initialized.
 */
static inline struct cay_peer *resolved_find(
	const struct cay_port *port, uint16_t vpid)
{
	struct resolved *root =
		atomic_load_explicit(&port->resolved, memory_order_acquire);
	struct resolved_leaf *leaf = atomic_load_explicit(
		&root->leaves[vpid / RESOLVED_SLOTS], memory_order_acquire);
	return atomic_load_explicit(
		&leaf->peers[vpid % RESOLVED_SLOTS], memory_order_acquire);
}

/*
 * CAY_PORT_TELL_GONE: the consumer has polled a message of this VPID. The bit
 * is cleared when its NOTIFY_GONE is polled.
 */
static inline void resolved_heard(struct cay_port *port, uint16_t vpid)
{
	if (port->heard)
		port->heard[vpid / 64] |= 1ull << vpid % 64;
}

/* Under port->lock: lets the next resolved_add() of the VPID succeed. */
int resolved_reserve(struct cay_port *, uint16_t vpid);
/*
 * Under port->lock, with the first level: the same without allocating. Takes
 * *leaf, which is zeroed, and sets it to NULL if it is needed.
 */
void resolved_provide(
	struct cay_port *, uint16_t vpid, struct resolved_leaf **leaf);
/* Under port->lock: adds a peer. Returns 0 or -ENOMEM. */
int resolved_add(struct cay_port *, struct cay_peer *);
/* Under port->lock: removes a peer, which need not be in the table. */
void resolved_remove(struct cay_port *, struct cay_peer *);
/* Frees the table, not the peers. */
void resolved_free(struct cay_port *);

/*
 * The consumer polls the NOTIFY_GONE at this position: removes the oldest peer
 * with the VPID and stores it in *peer, or NULL. Returns false if the
 * application is not told: a port with CAY_PORT_TELL_GONE has neither a handle
 * of the peer nor polled a message of it.
 */
bool resolved_gone(struct cay_port *, uint16_t vpid, uint64_t position,
	struct cay_peer **peer);
/*
 * The consumer releases that event: the port may free the peer if cay_reply()
 * has resolved it.
 */
void resolved_gone_released(struct cay_port *, uint64_t position);

#endif
