/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A workload: one way to pass a message between processes, as a table of
 * functions that the rounds engine runs. Rank 0 plays ping and is timed, all
 * others play pong. Every table is full; workload_nothing() stands where there
 * is nothing to do.
 */
#ifndef CAY_BENCH_HARNESS_WORKLOAD_H
#define CAY_BENCH_HARNESS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/harness/group.h"

/* Shared memory that each workload of a group has for itself, zeroed. */
#define WORKLOAD_SHARED_BYTES (8u << 20)

/* One process's part in one workload. */
struct side {
	struct group *group;
	unsigned rank;
	size_t bytes;	       /* of a message */
	bool fresh;	       /* write the source anew before each message */
	unsigned char *shared; /* the workload's, the same for all ranks */
	void *state;	       /* the workload's, private; setup makes it */
};

/*
 * Notification entries of every queue, as log2: one page. A port has more
 * unless it asks, so that it takes bursts; each further page costs a message
 * some time, the baseline's as well as Cay's.
 */
#define WORKLOAD_NQ_LOG2 6

/* All return 0 or -errno, and end when group_check() says so. */
struct workload {
	const char *name;
	int (*setup)(struct side *);   /* every rank, at the same time */
	int (*prepare)(struct side *); /* before each batch, not timed */
	int (*ping)(struct side *, uint32_t trips);
	int (*pong)(struct side *, uint32_t trips);
	void (*teardown)(struct side *); /* also after a failed setup */
};

extern const struct workload handover_workload;

extern const struct workload baseline_fast_workload;
extern const struct workload baseline_send_workload;
extern const struct workload baseline_reference_workload;
extern const struct workload baseline_rate_workload;

extern const struct workload cay_message_workload;
extern const struct workload cay_malloc_workload;
extern const struct workload cay_alloc_workload;
extern const struct workload cay_rate_workload;

/* Remote memory: rma.c, rma_baseline.c, bulk.c, posted.c. */
extern const struct workload baseline_put_workload;
extern const struct workload baseline_put_flush_workload;
extern const struct workload baseline_fetch_add_workload;
extern const struct workload baseline_compare_swap_workload;
extern const struct workload baseline_get_workload;

extern const struct workload cay_put_workload;
extern const struct workload cay_put_flush_workload;
extern const struct workload cay_fetch_add_workload;
extern const struct workload cay_fetch_add_into_workload;
extern const struct workload cay_compare_swap_workload;
extern const struct workload cay_get_workload;
extern const struct workload cay_masked_workload;
extern const struct workload cay_fast_get_workload;
extern const struct workload cay_emulated_workload;

extern const struct workload bulk_memcpy_put_workload;
extern const struct workload bulk_memcpy_get_workload;
extern const struct workload bulk_put_alloc_workload;
extern const struct workload bulk_put_malloc_workload;
extern const struct workload bulk_get_alloc_workload;
extern const struct workload bulk_get_malloc_workload;

extern const struct workload posted_copy_workload;
extern const struct workload posted_cay_workload;

extern const struct workload ring_socket_workload;
extern const struct workload ring_word_workload;
extern const struct workload ring_cay_workload;

extern const struct workload sleep_futex_workload;
extern const struct workload sleep_eventfd_workload;
extern const struct workload sleep_cay_workload;

static inline int workload_nothing(struct side *s)
{
	(void)s;
	return 0;
}

static inline void workload_leave(struct side *s)
{
	(void)s;
}

/*
 * What most pings and pongs are: first, second, first, ... until one fails.
 * Both are named where it is called, so that it becomes a loop of plain calls.
 */
static inline int workload_turns(struct side *s, uint32_t trips,
	int (*first)(struct side *), int (*second)(struct side *))
{
	int r = 0;

	while (!r && trips--)
		if (!(r = first(s)))
			r = second(s);
	return r;
}

/* And of operations of one side: until one fails. */
static inline int workload_repeat(
	struct side *s, uint32_t trips, int (*operation)(struct side *))
{
	int r = 0;

	while (!r && trips--)
		r = operation(s);
	return r;
}

/* The other side of those: it is idle. */
static inline int workload_idle(struct side *s, uint32_t trips)
{
	(void)s;
	(void)trips;
	return 0;
}

#endif
