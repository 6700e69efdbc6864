/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory for benchmarks: a window per process, whose key the other one
 * has. What both need to know of each other is in the workload's shared part.
 */
#ifndef CAY_BENCH_NATIVE_RMA_H
#define CAY_BENCH_NATIVE_RMA_H

#include "bench/native/endpoint.h"

/* The workload's shared part. Each rank writes its own, but for `done`. */
struct remote_page {
	_Alignas(CACHE_SEPARATION) struct cay_key key[2];
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t done; /* rank 0 */
};

/* First its candidate, so that what is for that works here too. */
struct remote {
	struct endpoint c; /* its source is the origin's own memory */
	struct cay_window *window;
	struct cay_key key;    /* of the other's window */
	unsigned char *memory; /* of our window */
	bool mapped;	       /* it is from cay_alloc() */
	uint64_t done;	       /* operations; bulk.c: batches */
};

static inline struct remote_page *remote_page(struct side *s)
{
	return (struct remote_page *)(void *)s->shared;
}

/* Windows on cay_alloc() memory, or on the process's own. */
int remote_setup_mapped(struct side *);
int remote_setup_private(struct side *);
void remote_teardown(struct side *);

#endif
