/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An RMA operation consists of parts: each is one put or get of the device
 * between one local and one remote segment, and ends with an event. Parts that
 * meet backpressure are retried (endpoint.rma_retries); no RMA operation that
 * is posted later to the same peer overtakes them.
 */
#ifndef CAY_PROVIDER_RMA_H
#define CAY_PROVIDER_RMA_H

#include "provider/endpoint/endpoint.h"

/* A remote segment. */
struct rma_segment {
	struct cay_key window;
	uint64_t offset;
	size_t length;
};

/* Messages to the target that follow the data. */
enum rma_after {
	RMA_AFTER_CQ_DATA = 1 << 0, /* remote CQ data */
	RMA_AFTER_COUNT = 1 << 1,   /* an access that it counts */
};

/* The part of an operation that is not issued. In op->copy while it waits. */
struct rma_cursor {
	bool writes;
	uint8_t after;			     /* enum rma_after */
	uint8_t key_count;		     /* with RMA_AFTER_COUNT */
	uint64_t keys[PROVIDER_RMA_IOV_MAX]; /* of regions that count it */
	size_t left;			     /* bytes */
	struct iovec *iov;
	struct rma_segment *segment;
	struct iovec iovs[PROVIDER_IOV_MAX];
	struct rma_segment segments[PROVIDER_RMA_IOV_MAX];
	unsigned char bytes[]; /* injected data */
};

/*
 * Issues an operation; with `inject` the source is copied. Returns 0 (in
 * flight, or ended), or drops it and returns -FI_EAGAIN (backpressure),
 * -FI_EHOSTUNREACH, -FI_ENOMEM.
 */
int rma_issue(struct op *, struct rma_cursor *, bool inject);
/*
 * Returns true if an operation must wait: for earlier RMA that met backpressure
 * or, with FI_FENCE, for all operations to this peer.
 */
bool rma_hazard(struct endpoint *, const struct peer *, uint64_t flags);
/* Handles the completion of a part. */
void rma_event(struct op *, const struct cay_event *);
/* Retries what is in endpoint.rma_retries. */
void rma_retry(struct endpoint *);
/* Handles WIRE_CQ_DATA. Returns 0 or -FI_EAGAIN. */
int rma_cq_data(struct endpoint *, struct peer *, const struct cay_event *);
/* Handles WIRE_ACCESS. */
void rma_accessed(struct endpoint *, const struct cay_event *);

#endif
