/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An RMA operation is cut into parts: each is one put or get of the device,
 * between one local piece and one remote piece, and ends in an event. What
 * finds no room in the middle of an operation waits in endpoint.rma_waiting;
 * no RMA that is posted later to the same peer overtakes it.
 */
#ifndef CAY_PROVIDER_RMA_H
#define CAY_PROVIDER_RMA_H

#include "provider/endpoint/endpoint.h"

/* A remote piece, as the device wants it. */
struct rma_piece {
	struct cay_key window;
	uint64_t offset;
	size_t length;
};

/* What of an operation has not been issued. In op->copy while it waits. */
struct rma_rest {
	bool writes;
	bool tells;  /* remote CQ data comes behind */
	size_t left; /* bytes */
	struct iovec *iov;
	struct rma_piece *piece;
	struct iovec iovs[PROVIDER_IOV_MAX];
	struct rma_piece pieces[PROVIDER_RMA_IOV_MAX];
	unsigned char bytes[]; /* injected */
};

/*
 * Issues an operation; with `inject` the source is free on return. 0: it is
 * under way, or has ended. Else it was dropped: -FI_EAGAIN (no room),
 * -FI_EHOSTUNREACH, -FI_ENOMEM.
 */
int rma_issue(struct op *, struct rma_rest *, bool inject);

/* Must something to this peer go, or with FI_FENCE be done, before it? */
bool rma_behind(struct endpoint *, const struct peer *, uint64_t flags);

#endif
