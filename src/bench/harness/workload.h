/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A workload: one way to pass messages or to access remote memory, as a table
 * of functions that the workers of a group call. Rank 0 leads and is timed.
 */
#ifndef CAY_BENCH_HARNESS_WORKLOAD_H
#define CAY_BENCH_HARNESS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/harness/group.h"

/* One rank's part of one workload. */
struct side {
	const struct workload *workload;
	struct group *group;
	unsigned rank;
	size_t bytes;	       /* of a message or access */
	bool rewrite;	       /* rewrite the source before each batch */
	unsigned ports;	       /* of Cay, open besides those that are used */
	unsigned char *shared; /* by all ranks of this workload */
	void *state;	       /* private; set by setup */
};

/*
 * The functions return 0 or -errno, and return early when group_check() fails.
 * Every rank calls each of them, in the same order.
 */
struct workload {
	const char *name;
	int (*setup)(struct side *);	 /* optional, as all but run */
	void (*teardown)(struct side *); /* also after a failed setup */
	/* Before each batch, not timed; rank 0 prepares last. */
	int (*prepare)(struct side *);
	/* A batch. */
	int (*run)(struct side *, uint32_t iterations);
	/* After each batch, not timed. */
	int (*finish)(struct side *);
	/* Makes progress while the rank waits for the others. */
	int (*progress)(struct side *);
};

/* The hand-over of a cache line (L). */
extern const struct workload handover_workload;

/*
 * Ping-pong: rank 0 sends and receives, the others receive and send. Callers
 * pass named functions, so that this is compiled into a loop of direct calls.
 */
static inline int workload_ping_pong(struct side *s, uint32_t iterations,
	int (*send)(struct side *), int (*receive)(struct side *))
{
	int r = 0;

	if (s->rank == 0)
		while (!r && iterations--)
			r = (r = send(s)) ? r : receive(s);
	else
		while (!r && iterations--)
			r = (r = receive(s)) ? r : send(s);
	return r;
}

/* A stream: rank 1 answers the last message that rank 0 sends. */
static inline int workload_stream(struct side *s, uint32_t iterations,
	int (*send)(struct side *), int (*receive)(struct side *))
{
	int r = 0;

	while (!r && iterations--)
		r = s->rank == 0 ? send(s) : receive(s);
	if (r)
		return r;
	return s->rank == 0 ? receive(s) : send(s);
}

/* One-sided: rank 0 issues the operation, the target is idle. */
static inline int workload_one_sided(
	struct side *s, uint32_t iterations, int (*operation)(struct side *))
{
	int r = 0;

	while (s->rank == 0 && !r && iterations--)
		r = operation(s);
	return r;
}

#endif
