/* SPDX-License-Identifier: BSD-2-Clause */
/* Cay itself, as an application uses it: public calls and nothing else. */
#ifndef CAY_BENCH_NATIVE_ENDPOINT_H
#define CAY_BENCH_NATIVE_ENDPOINT_H

#include "bench/harness/workload.h"
#include "cay/cay.h"

struct endpoint {
	struct cay_port *port;
	struct cay_peer *next; /* the rank after this one */
	unsigned char *source; /* what is sent */
	unsigned char *copy;   /* where a long message ends up */
	bool allocated;	       /* source is from cay_alloc() */
	uint64_t sent, received;
	uint32_t pending; /* long messages that are not complete */
};

/* A port of its own, and the next rank as its peer. */
int endpoint_open(struct side *, struct endpoint *);

/* The source is private memory; endpoint_alloc_setup() in candidate.c. */
int endpoint_setup(struct side *);
void endpoint_teardown(struct side *);

/* Sends source, with its number in it. Waits, spinning, if there is no room. */
int endpoint_send(struct side *);

/* One event is a message that was due: checks it and gives it back. */
int endpoint_accept(struct side *, const struct cay_event *);

/* Spins for the next event, whatever it is. */
int endpoint_next(struct side *, struct cay_event *);

/* Spins for the next message. */
int endpoint_receive(struct side *);

/* Sleeps for it, in cay_wait(). */
int endpoint_receive_asleep(struct side *);

#endif
