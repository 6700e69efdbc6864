/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations under way: what was posted and needs an answer from its peer or
 * an event of the device. Others know one by its number, which is believed
 * only if the operation is still that one and belongs to who names it.
 */
#ifndef CAY_PROVIDER_OP_H
#define CAY_PROVIDER_OP_H

#include "provider/completion/cntr.h"
#include "provider/completion/cq.h"

struct endpoint;
struct peer;
struct receive;

enum op_kind {
	OP_NONE,
	OP_SEND,   /* until its peer has taken it: rendezvous, or delivery */
	OP_FETCH,  /* a long message of a peer, for a receive of ours */
	OP_PUSH,   /* helps the receiver of a long message of ours */
	OP_RMA,	   /* until as many events as it has parts have come */
	OP_ATOMIC, /* until the answer, or the event */
};

struct op {
	struct list link;    /* in peer->ops */
	struct list waiting; /* for room, in one of the endpoint's lists */
	struct op *next_free;
	uint32_t index, generation;
	enum op_kind kind;
	struct endpoint *ep;
	struct peer *peer;
	/* How it ends: see op_end(). */
	struct cq *cq; /* a completion is reserved there; or NULL */
	struct cntr *cntr;
	bool silent;	/* only an error is told */
	uint64_t flags; /* of the completion */
	void *context;
	uint64_t tag, data;
	size_t length;
	void *buffer; /* what the completion names */
	int error;    /* the first one: positive fi_errno */
	/* OP_RMA: events to come. */
	unsigned parts;
	/* OP_FETCH */
	struct receive *receive;
	uint64_t remote_id;	 /* the sender's operation */
	struct cay_key remote;	 /* its memory */
	uint64_t remote_address; /* of the piece */
	size_t base;		 /* where in the receive it begins */
	size_t piece;		 /* under way */
	bool flying;		 /* a get is under way */
	bool told; /* the receive has ended; the sender must be told */
	size_t done, total;
	/* OP_FETCH and OP_PUSH of one message: share.h */
	bool shared;	/* OP_FETCH: the sender may help; OP_SEND: it does */
	bool claimed;	/* a chunk that is not copied yet */
	uint32_t chunk; /* OP_FETCH: that one */
	uint32_t desk_slot; /* of the word in which chunks are claimed */
	uint32_t chunks;    /* that this end has copied */
	uint32_t pushed;    /* OP_FETCH: that the sender has copied */
	uint64_t seen;	    /* OP_PUSH: the word */
	uint64_t send;	    /* OP_PUSH: the number of the OP_SEND */
	struct cay_key desk;
	const void *source; /* OP_SEND, OP_PUSH: the long message */
	union {
		/* OP_ATOMIC: where results go. */
		struct fi_ioc results[PROVIDER_IOV_MAX];
		/* OP_RMA: little that was injected. */
		unsigned char injected[128];
	};
	uint32_t result_count;
	uint64_t word; /* OP_ATOMIC: for the device to fill */
	/* More that was injected, and the like; freed with the operation. */
	void *copy;
};

struct op_table {
	struct op **chunks;
	uint32_t chunk_count, used;
	struct op *free;
};

void op_table_free(struct op_table *);

/* A zeroed one in peer->ops; NULL without memory. */
struct op *op_new(struct endpoint *, struct peer *, enum op_kind);
/*
 * The same with a completion reserved in the endpoint's transmit queue, if it
 * has one, and with that counter (enum endpoint_counter).
 */
struct op *op_new_tx(
	struct endpoint *, struct peer *, enum op_kind, unsigned counter);
uint64_t op_id(const struct op *);
/* The operation of that number to that peer, or NULL. */
struct op *op_find(struct endpoint *, uint64_t id, const struct peer *);
/*
 * Ends it: tells cq and cntr of success or, if op->error, of failure, gives
 * the reservation back if there is nothing to tell, and frees it.
 */
void op_end(struct op *);
/* Frees it and tells nobody. */
void op_drop(struct op *);

#endif
