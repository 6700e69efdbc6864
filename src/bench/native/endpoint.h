/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint: a port of Cay, its peer and its buffers, by public calls. */
#ifndef CAY_BENCH_NATIVE_ENDPOINT_H
#define CAY_BENCH_NATIVE_ENDPOINT_H

#include "bench/native/workloads.h"
#include "cay/cay.h"

struct endpoint {
	struct cay_port *port;
	struct cay_peer *next; /* the rank after this one */
	/* Half of the side's further ports, which are only open. */
	struct cay_port **more;
	unsigned more_count;
	unsigned char *source; /* of what is sent */
	unsigned char *copy;   /* destination of long messages */
	bool allocated;	       /* source is from cay_alloc() */
	bool mapped;	       /* long messages are read in place */
	bool fetched;	       /* they are fetched by cay_event_fetch() */
	unsigned flags;	       /* of messages: 0 or CAY_BORROW */
	uint64_t sent, received;
	uint32_t pending; /* borrowed messages that are not complete */
};

/* Shared memory of Cay's workloads. Each rank writes its own elements. */
struct endpoint_page {
	struct cay_addr addr[GROUP_RANKS_MAX];
	_Alignas(CACHE_SEPARATION) struct cay_key key[2];
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t done; /* rank 0: batches */
};

static inline struct endpoint_page *endpoint_page(struct side *s)
{
	return (struct endpoint_page *)(void *)s->shared;
}

/* Opens a port and resolves the next rank; no buffers. */
int endpoint_open(struct side *, struct endpoint *);

/* Opens an endpoint whose source is from malloc(). */
int endpoint_setup(struct side *);
void endpoint_teardown(struct side *);

/* Sends the source with its number; spins while the queue is full. */
int endpoint_send(struct side *);

/* Checks that the event is the expected message. */
int endpoint_verify(struct side *, const struct cay_event *);
/* The same, and releases it. */
int endpoint_accept(struct side *, const struct cay_event *);

/* Spins for the next event. */
int endpoint_next(struct side *, struct cay_event *);

/* Spins for the next message. */
int endpoint_receive(struct side *);

/* Sleeps in cay_wait() for the next message. */
int endpoint_receive_asleep(struct side *);

#endif
