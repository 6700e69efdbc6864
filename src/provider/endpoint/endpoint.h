/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint: one port of the device. */
#ifndef CAY_PROVIDER_ENDPOINT_H
#define CAY_PROVIDER_ENDPOINT_H

#include "provider/av/address.h"
#include "provider/av/av.h"
#include "provider/endpoint/op.h"
#include "provider/endpoint/peer.h"
#include "provider/message/match.h"

struct claim_table;
struct path;
struct key_table;

#define ENDPOINT_EVENTS 16
#define ENDPOINT_VPIDS	65536

/* The counters of an endpoint. */
enum endpoint_counter {
	COUNT_SEND,
	COUNT_RECV,
	COUNT_READ,
	COUNT_WRITE,
	COUNT_REMOTE_READ, /* accesses of peers to its memory: mr.h */
	COUNT_REMOTE_WRITE,
	COUNT_KINDS,
};

struct endpoint {
	struct fid_ep fid;
	struct domain *domain;
	struct list link;    /* domain->endpoints, while enabled */
	struct list av_link; /* av->endpoints */
	struct av *av;
	struct cq *tx_cq, *rx_cq;
	bool tx_selective, rx_selective; /* FI_SELECTIVE_COMPLETION */
	bool tx_fast; /* sends by default: eager, with a completion */
	bool rx_fast; /* receives by default: no peek, with a completion */
	struct cntr *counters[COUNT_KINDS];
	struct eq *eq;
	uint64_t caps;
	uint64_t tx_flags, rx_flags; /* op_flags of calls without flags */
	size_t min_multi_recv;
	struct address address;

	struct cay_port *port; /* NULL until it is enabled */
	struct key_table *keys;
	struct cay_window *bulk; /* all memory of the process: rendezvous */
	struct cay_key bulk_key;
	struct claim_table *claims; /* cocopy.h; NULL: no co-copy */

	bool armed;	      /* a thread may sleep on the doorbell: wait.h */
	bool needs_retry;     /* a retry list is not empty */
	unsigned sends;	      /* since the last progress */
	unsigned polls;	      /* calls of endpoint_progress() */
	unsigned retry_round; /* calls of control_retry() */

	struct matcher tagged, untagged;
	struct receive *free_receives;
	struct list claimed;	   /* FI_CLAIM: claim.link, recv.c */
	unsigned posted_any;	   /* receives posted without a source */
	size_t unexpected_bytes;   /* held, claimed messages included */
	struct list xoff_peers;	   /* peers to which XOFF was sent */
	struct list peers;	   /* all: peer.link */
	struct list contacts;	   /* to be resolved: peer.contact_link */
	bool node_lost;		   /* it has exited, and that is logged */
	uint64_t contact_check_ns; /* when to look whether the node lives */
	unsigned unlisted;	   /* peers that are not in the AV */
	struct peer **by_index;	   /* by fi_addr_t */
	size_t index_capacity;
	struct peer **by_vpid; /* ENDPOINT_VPIDS */
	struct op_table ops;

	/* ULTRA paths to this endpoint: path.h. */
	uint32_t event_batches; /* polls of the queue that found something */
	struct list paths;	/* in use: path.link */
	unsigned path_count;	/* of these */
	unsigned path_in_count; /* all, those that are set up included */
	unsigned path_full; /* with a message that cannot be delivered yet */
	struct path *path_last; /* that of the last message; valid if */
	unsigned path_hot;	/* polls of that path alone are left */
	unsigned path_streak;	/* times in a row that it was that path */
	unsigned path_shared; /* reviews in a row that found the core shared */
	unsigned path_looks;  /* calls of path_retry() */
	bool path_refused;    /* a quota was exhausted, and that is logged */

	/* Operations that met backpressure: progress retries them. */
	struct list control_retries;	/* control.c */
	struct list rendezvous_retries; /* OP_FETCH, OP_COCOPY: op.retry_link */
	struct list rma_retries;	/* OP_RMA: op.retry_link */
	struct list path_retries;	/* path.retry_link */

	/* Events that were polled and are not dispatched yet. */
	struct cay_event events[ENDPOINT_EVENTS];
	int event_next, event_count;
	int poll_batch;	 /* number of events to poll next */
	bool poll_again; /* an event of a request just issued is expected */
};

static inline struct endpoint *endpoint_of(struct fid_ep *fid)
{
	return (struct endpoint *)(void *)fid;
}

/* Returns true if an operation with these flags reports only errors. */
static inline bool endpoint_tx_silent(const struct endpoint *ep, uint64_t flags)
{
	return ep->tx_selective && !(flags & FI_COMPLETION);
}

/* Returns the peer to send to. As peer_get(). */
static inline int endpoint_peer(
	struct endpoint *ep, fi_addr_t at, struct peer **peer)
{
	if (likely(at < ep->index_capacity)) {
		struct peer *p = ep->by_index[at];
		if (likely(p && p->state & PEER_READY)) {
			*peer = p;
			return 0;
		}
	}
	return peer_get(ep, at, peer);
}

/* The tables of calls, in the files of these. */
extern struct fi_ops_msg msg_ops;
extern struct fi_ops_tagged tagged_ops;
extern struct fi_ops_rma rma_ops;
extern struct fi_ops_atomic atomic_ops;

#endif
