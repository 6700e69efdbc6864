/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Barriers in the network: sixteen of them, on a tree. A node that has arrived,
 * and has heard so from every child with somebody below who takes part, tells
 * its parent; the top sends the release down. The top is the lowest node that
 * has all who take part below it, or is one of them: the tree above it, and
 * what branches off to nobody, hears nothing of the barrier.
 *
 * This is the module of each node, without time: the network carries messages
 * over links, in order, and calls barrier_receive() at the other end. Only the
 * state of the node named in a call is touched.
 *
 * Rounds. The top ends one round after the other, either with a release, when
 * all who take part have arrived in it, or with an error, when a reset has come
 * to it, whoever has arrived. All who take part hear of the same rounds, in the
 * same order, each once; after each they may arrive anew, even while others
 * have not heard of it yet.
 *
 * A reset ends the round that its node is in with an error; or the next one, if
 * the top has released this one before the reset came to it: then all hear the
 * release first and the error behind it. A reset made while an error is on its
 * way to its node brings no second one.
 *
 * After a reset the nodes answer: RESET_DONE goes up when all below have heard
 * of it. What a child has sent before its answer is of a round that is over,
 * and is dropped; the top begins no other reset before all have answered. A
 * bit or a byte of the round in each message would not do instead: resets may
 * follow each other as fast as one branch can make them, while a message of
 * the first round is still on its way in another.
 */
#ifndef CAY_NETWORK_BARRIER_BARRIER_H
#define CAY_NETWORK_BARRIER_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "network/topology/tree.h"

#define BARRIER_COUNT 16

enum barrier_kind {
	BARRIER_UP,	    /* everybody below has arrived */
	BARRIER_DOWN,	    /* released */
	BARRIER_RESET_UP,   /* towards the top */
	BARRIER_RESET_DOWN, /* released with an error */
	BARRIER_RESET_DONE, /* everybody below has heard of that */
	BARRIER_KINDS,
};

struct barrier_message {
	uint8_t id;
	uint8_t kind;
};

/* What a module does with what it decides. */
struct barrier_calls {
	void (*send)(void *context, uint32_t node, unsigned port,
		struct barrier_message);
	/*
	 * To the host of the node: it may go on, or there was a reset. It may
	 * arrive or reset from here.
	 */
	void (*release)(void *context, uint32_t node, unsigned id, bool error);
};

struct barriers;

/* The tree must live as long. 0 or -ENOMEM. */
int barrier_open(
	struct barriers **, const struct tree *, const struct barrier_calls *);
void barrier_close(struct barriers *);
/*
 * Who takes part in a barrier: takes_part[node]; nobody is in it before. Not
 * while another call runs. 0, -EINVAL (no such barrier, nobody takes part),
 * -EHOSTUNREACH (somebody is cut off from the tree, or a link of the tree has
 * died since it was made), -EBUSY: it has begun and not ended.
 */
int barrier_set(struct barriers *, unsigned id, const bool *takes_part);
/* 0, -EINVAL (no such node or barrier), -EALREADY (one arrival per node and
 * round), -ENOTCONN: it does not take part. */
int barrier_arrive(
	struct barriers *, void *context, uint32_t node, unsigned id);
/* Ends the round with an error for all. By whoever takes part, or is between
 * such nodes and the top. 0, -EINVAL, -ENOTCONN. */
int barrier_reset(struct barriers *, void *context, uint32_t node, unsigned id);
/*
 * A message has come in by a port. Those that fit nothing (no such barrier or
 * kind, a port that is not of the barrier, nothing that it could be the answer
 * to) are counted and do nothing.
 */
void barrier_receive(struct barriers *, void *context, uint32_t node,
	unsigned port, struct barrier_message);
uint64_t barrier_strays(const struct barriers *);

#endif
