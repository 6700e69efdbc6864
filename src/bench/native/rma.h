/* SPDX-License-Identifier: BSD-2-Clause */
/* Remote memory: an endpoint with a window, and the key of its peer's. */
#ifndef CAY_BENCH_NATIVE_RMA_H
#define CAY_BENCH_NATIVE_RMA_H

#include "bench/native/endpoint.h"

/* The endpoint comes first, so that its functions work here too. */
struct rma {
	struct endpoint p; /* its source is the origin's local memory */
	struct cay_window *window;
	struct cay_key key;    /* of the peer's window */
	unsigned char *memory; /* of our window */
	bool mapped;	       /* memory is from cay_alloc() */
	uint64_t done;	       /* operations; in bulk.c, batches */
};

/* Open an endpoint with a window on cay_alloc() or on private memory. */
int rma_setup_mapped(struct side *);
int rma_setup_private(struct side *);
void rma_teardown(struct side *);

/*
 * Rank 1: polls its port, for emulated accesses, until rank 0 has published
 * `done` of the shared page. No event is expected.
 */
int rma_await_done(struct side *);

/* Rank 0: publishes `done`. */
void rma_publish_done(struct side *);

#endif
