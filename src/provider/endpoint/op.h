/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations in flight: requests that need a reply of their peer or an event of
 * the device. Messages and events name an operation by its ID, which is valid
 * only while the operation is in flight and for its own peer.
 */
#ifndef CAY_PROVIDER_OP_H
#define CAY_PROVIDER_OP_H

#include "provider/completion/cntr.h"
#include "provider/completion/cq.h"

struct endpoint;
struct peer;
struct receive;

enum op_kind {
	OP_NONE,   /* free */
	OP_SEND,   /* until WIRE_FIN: rendezvous, or delivery completion */
	OP_FETCH,  /* receives a rendezvous message */
	OP_COCOPY, /* copies chunks of a rendezvous message for its receiver */
	OP_RMA,	   /* until the events of all its parts */
	OP_ATOMIC, /* until WIRE_ATOMIC_RESULT, or the event of the device */
};

struct op_send {
	const void *source; /* the rendezvous message; NULL: eager */
	size_t length;
	bool cocopy; /* an OP_COCOPY exists for it */
};

/* See fetch.c; the members from `cocopy` on: cocopy.h. */
struct op_fetch {
	struct receive *receive;
	uint64_t send_id;   /* ID of the sender's OP_SEND */
	struct cay_key key; /* of the sender's bulk window */
	uint64_t address;   /* of the message in the sender's memory */
	uint64_t tag, data; /* of the message, for the completion */
	size_t length;	    /* of the message */
	size_t total;	    /* bytes of it that fit into the receive */
	size_t base;	    /* where in the receive it begins */
	size_t done;	    /* bytes copied, without co-copy */
	size_t piece;	    /* bytes of the get in flight */
	bool get_in_flight;
	bool completed; /* the receive has completed; FIN is not sent yet */
	bool cocopy;	/* the sender may copy chunks, too */
	bool claimed;	/* `chunk` is claimed and not copied yet */
	uint32_t chunk;
	uint32_t claim_slot;	/* index of the claim word */
	uint32_t copied;	/* chunks copied by the receiver */
	uint32_t sender_copied; /* chunks copied by the sender */
};

/* See cocopy.c. */
struct op_cocopy {
	uint64_t send_id;	  /* ID of the OP_SEND */
	const void *source;	  /* the message */
	size_t total;		  /* bytes that are to be copied */
	uint64_t fetch_id;	  /* ID of the receiver's OP_FETCH */
	struct cay_key key;	  /* of the receiver's bulk window */
	uint64_t address;	  /* of the receive buffer */
	struct cay_key claim_key; /* of the window with the claim words */
	uint32_t claim_slot;	  /* index of the claim word */
	uint32_t copied;	  /* chunks copied */
	bool claimed;		  /* a chunk is claimed and not copied yet */
	uint64_t seen;		  /* the claim word as last seen */
	uint64_t previous;	  /* result of the compare-and-swap */
};

/* See rma.h. */
struct op_rma {
	unsigned parts;		     /* puts and gets in flight */
	uint64_t data;		     /* remote CQ data */
	unsigned char injected[128]; /* short injected data */
};

/* See atomic_origin.c. */
struct op_atomic {
	bool by_target; /* the target executes it and sends the result */
	uint64_t word;	/* result of the device's own atomic operation */
	uint32_t result_count;
	size_t length; /* bytes of the results; 0: none */
	struct fi_ioc results[PROVIDER_IOV_MAX]; /* .count in bytes */
};

struct op {
	struct list link;	/* peer->ops */
	struct list retry_link; /* in a retry list of the endpoint */
	struct op *next_free;
	uint32_t index, generation;
	enum op_kind kind;
	struct endpoint *ep;
	struct peer *peer;
	/* The completion: see op_end(). */
	struct cq *cq; /* a slot is reserved there; or NULL */
	struct cntr *cntr;
	bool silent;	/* only an error is reported */
	uint64_t flags; /* of the completion */
	void *context;
	int error;  /* the first one: positive fi_errno */
	void *copy; /* injected data, or an rma_cursor; freed at the end */
	union {
		struct op_send send;
		struct op_fetch fetch;
		struct op_cocopy cocopy;
		struct op_rma rma;
		struct op_atomic atomic;
	};
};

/* Allocated in blocks, so that an operation keeps its address. */
struct op_table {
	struct op **blocks;
	uint32_t block_count;
	struct op *free;
};

void op_table_free(struct op_table *);

/* Returns a zeroed operation in peer->ops, or NULL without memory. */
struct op *op_new(struct endpoint *, struct peer *, enum op_kind);
/*
 * The same with a completion reserved in the endpoint's transmit queue, if it
 * has one, and with a counter (enum endpoint_counter).
 */
struct op *op_new_tx(
	struct endpoint *, struct peer *, enum op_kind, unsigned counter);
uint64_t op_id(const struct op *);
/* Returns the operation with this ID to this peer (NULL: any), or NULL. */
struct op *op_find(struct endpoint *, uint64_t id, const struct peer *);
/*
 * Ends an operation: reports success or, if op->error is set, failure to cq and
 * cntr, and frees it.
 */
void op_end(struct op *);
/* Frees an operation without a report. */
void op_drop(struct op *);

#endif
