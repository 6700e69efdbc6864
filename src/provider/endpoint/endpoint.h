/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint: one port of the device. */
#ifndef CAY_PROVIDER_ENDPOINT_H
#define CAY_PROVIDER_ENDPOINT_H

#include "provider/av/address.h"
#include "provider/av/av.h"
#include "provider/endpoint/op.h"
#include "provider/endpoint/peer.h"
#include "provider/message/match.h"

struct desk;
struct key_table;

#define ENDPOINT_EVENTS 16
#define ENDPOINT_VPIDS	65536

/* Which counters an endpoint may have. */
enum endpoint_counter {
	COUNT_SEND,
	COUNT_RECV,
	COUNT_READ,
	COUNT_WRITE,
	COUNT_KINDS,
};

struct endpoint {
	struct fid_ep fid;
	struct domain *domain;
	struct list link;    /* domain->endpoints, when enabled */
	struct list av_link; /* av->endpoints */
	struct av *av;
	struct cq *tx_cq, *rx_cq;
	bool tx_selective, rx_selective;
	struct cntr *counters[COUNT_KINDS];
	struct eq *eq;
	uint64_t caps;
	uint64_t tx_flags, rx_flags; /* op_flags that are implied */
	size_t min_multi_recv;
	struct address address;

	struct cay_port *port; /* NULL until it is enabled */
	struct key_table *keys;
	struct cay_window *bulk; /* all our memory, to fetch long messages */
	struct cay_key bulk_key;
	struct desk *desk; /* share.h; NULL: none */
	bool armed;	   /* somebody may sleep on the port's descriptor */
	bool unsettled; /* something waits for room: pending, fetching, ... */
	unsigned sends; /* since the last progress */
	unsigned
		polls; /* progress made, for who wonders whether anybody does */
	unsigned rounds; /* of trying notes again: progress.c */

	struct matcher tagged, untagged;
	struct receive *spare;	/* receives that are not used */
	struct list claimed;	/* messages: claim.link, receive.c */
	unsigned awaited;	/* receives posted from anybody */
	size_t held_bytes;	/* of unexpected messages, claimed ones too */
	struct list halted;	/* peers that we told to wait */
	struct list peers;	/* all: peer.link */
	unsigned strangers;	/* of these, not in the address vector */
	struct peer **by_index; /* by fi_addr_t */
	size_t index_room;
	struct peer **by_vpid; /* ENDPOINT_VPIDS */
	struct op_table ops;
	struct list pending;	 /* small messages that found no room */
	struct list fetching;	 /* fetches that found no room */
	struct list rma_waiting; /* op.waiting: parts that found no room */

	/* Events that were polled and could not be dealt with yet. */
	struct cay_event events[ENDPOINT_EVENTS];
	int event_next, event_count;
	int batch; /* how many to poll next */
	bool look; /* poll once more: what was issued has its event */
};

static inline struct endpoint *endpoint_of(struct fid_ep *fid)
{
	return (struct endpoint *)(void *)fid;
}

/* Does an operation with these flags tell of errors only? */
static inline bool endpoint_tx_silent(const struct endpoint *ep, uint64_t flags)
{
	return ep->tx_selective && !(flags & FI_COMPLETION);
}

/* The peer to send to. As peer_get(). */
static inline int endpoint_peer(
	struct endpoint *ep, fi_addr_t at, struct peer **peer)
{
	if (likely(at < ep->index_room)) {
		struct peer *p = ep->by_index[at];
		if (likely(p && p->state == PEER_READY)) {
			*peer = p;
			return 0;
		}
	}
	return peer_get(ep, at, peer);
}

/* Takes up what has arrived, and tries again what found no room. */
void endpoint_progress(struct endpoint *);

/*
 * A small message that must not be lost: sent now, or kept until there is
 * room. 0, or -FI_ENOMEM.
 */
int endpoint_post(struct peer *, uint32_t head, uint64_t tag, const void *,
	size_t length);
/* Something found no room: it is tried again with the next progress. */
void endpoint_wait(struct endpoint *, struct list *queue, struct list *link);
/* Forgets what was kept for a peer. */
void endpoint_unpost(struct peer *);

/* The tables of calls, in the files of these. */
extern struct fi_ops_msg message_ops;
extern struct fi_ops_tagged tagged_ops;
extern struct fi_ops_rma rma_ops;
extern struct fi_ops_atomic atomic_ops;

/* Events of the device and messages of the provider, dealt with elsewhere.
 * The positions in the device's order; e is still unreleased. */
/* rma.c: a COMPLETE event of an OP_RMA operation. */
void rma_event(struct op *, const struct cay_event *);
/* rma.c: tries what is in rma_waiting again. */
void rma_continue(struct endpoint *);
/* rma.c: WIRE_WRITTEN arrived. 0 or -FI_EAGAIN. */
int rma_written(struct endpoint *, struct peer *, uint64_t data);
/* atomic.c: a COMPLETE event of an OP_ATOMIC operation. */
void atomic_event(struct op *, const struct cay_event *);
/* atomic.c: WIRE_ATOMIC arrived: executed and answered. 0 or -FI_ENOMEM. */
int atomic_serve(struct endpoint *, struct peer *, uint64_t id,
	const void *payload, size_t length);
/* atomic.c: WIRE_RESULT arrived. */
void atomic_result(struct op *, int status, const void *payload, size_t length);

#endif
