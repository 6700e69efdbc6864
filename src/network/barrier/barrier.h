/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers in the network: sixteen of them, on a spanning tree. A node that has
 * arrived, and has received UP from every child with participants in its
 * subtree, sends UP to its parent; the top sends the release down. The top is
 * the lowest node whose subtree contains all participants. Nodes above it, and
 * branches without participants, get no messages of the barrier.
 *
 * This is the module of each node, independent of time: transport.c moves
 * messages over links, in order, and calls barrier_receive() at the other end.
 * A call accesses only the state of the node that it names.
 *
 * Rounds. The top ends one round after the other: with a release when all
 * participants have arrived, or with an error when it receives a reset. All
 * participants see the same rounds, in the same order, each once; after each
 * they may arrive again, even while others have not seen its end yet.
 *
 * A reset ends the current round of its node with an error; or the next one, if
 * the top had released the current one before it received the reset: then all
 * participants see the release, and the error after it. A reset that is made
 * while an error is on the way to its node does not cause a second error.
 *
 * After a reset the nodes acknowledge: RESET_DONE goes up when the whole
 * subtree has received it. What a child sent before its RESET_DONE belongs to a
 * round that has ended, and is dropped; the top starts no other reset before
 * all children have acknowledged. A round number of a bit or a byte in each
 * message would not be enough: resets may follow each other as fast as one
 * branch can make them, while a message of the first round is still in flight
 * in another.
 */
#ifndef CAY_NETWORK_BARRIER_BARRIER_H
#define CAY_NETWORK_BARRIER_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "network/topology/tree.h"

#define BARRIER_COUNT 16

enum barrier_kind {
	BARRIER_UP,	    /* all participants of the subtree have arrived */
	BARRIER_DOWN,	    /* released */
	BARRIER_RESET_UP,   /* towards the top */
	BARRIER_RESET_DOWN, /* released with an error */
	BARRIER_RESET_DONE, /* the subtree has received RESET_DOWN */
	BARRIER_KINDS,
};

struct barrier_message {
	uint8_t id;
	uint8_t kind;
};

/* Calls that a module makes. */
struct barrier_calls {
	void (*send)(void *context, uint32_t node, unsigned port,
		struct barrier_message);
	/*
	 * Ends the round at the host of the node; error: by a reset. The host
	 * may call barrier_arrive() or barrier_reset() from here.
	 */
	void (*release)(void *context, uint32_t node, unsigned id, bool error);
};

struct barriers;

/* The tree must outlive the barriers. Returns 0 or -ENOMEM. */
int barrier_open(
	struct barriers **, const struct tree *, const struct barrier_calls *);
void barrier_close(struct barriers *);
/*
 * Sets the participants of a barrier; initially there are none. Must not run
 * concurrently with other calls. Returns 0, -EINVAL (no such barrier, no
 * participants), -EHOSTUNREACH (a participant is not in the tree, or a link of
 * the tree has failed since it was built), -EBUSY: a round is in progress.
 */
int barrier_set(struct barriers *, unsigned id, const bool *participates);
/*
 * A node arrives. Returns 0, -EINVAL (no such node or barrier), -EALREADY (one
 * arrival per node and round), -ENOTCONN: not a participant.
 */
int barrier_arrive(
	struct barriers *, void *context, uint32_t node, unsigned id);
/*
 * Ends the round with an error for all participants. The node must be a
 * participant, or between one and the top. Returns 0, -EINVAL, -ENOTCONN.
 */
int barrier_reset(struct barriers *, void *context, uint32_t node, unsigned id);
/*
 * A message arrives at a port. Stray messages (no such barrier or kind, a port
 * that is not part of the barrier, unexpected in the current state) are counted
 * and ignored.
 */
void barrier_receive(struct barriers *, void *context, uint32_t node,
	unsigned port, struct barrier_message);
uint64_t barrier_strays(const struct barriers *);

#endif
