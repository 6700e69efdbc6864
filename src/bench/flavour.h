/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flavour: one way to pass a message between processes, as a table of
 * functions that the rounds engine runs. Rank 0 plays ping and is timed, all
 * others play pong. Every table is full; flavour_nothing() stands where there
 * is nothing to do.
 */
#ifndef CAY_BENCH_FLAVOUR_H
#define CAY_BENCH_FLAVOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/party.h"

/* Shared memory that each flavour of a party has for itself, zeroed. */
#define FLAVOUR_SHARED_BYTES (8u << 20)

/* One process's part in one flavour. */
struct side {
	struct party *party;
	unsigned rank;
	size_t bytes;	       /* of a message */
	bool fresh;	       /* write the source anew before each message */
	unsigned char *shared; /* the flavour's, the same for all ranks */
	void *state;	       /* the flavour's, private; setup makes it */
};

/*
 * Notification entries of every queue, as log2: one page. A port has more
 * unless it asks, so that it takes bursts; each further page costs a message
 * some time, the sketch's as well as Cay's.
 */
#define FLAVOUR_NQ_LOG2 6

/* All return 0 or -errno, and end when party_check() says so. */
struct flavour {
	const char *name;
	int (*setup)(struct side *);   /* every rank, at the same time */
	int (*prepare)(struct side *); /* before each batch, not timed */
	int (*ping)(struct side *, uint32_t trips);
	int (*pong)(struct side *, uint32_t trips);
	void (*teardown)(struct side *); /* also after a failed setup */
};

extern const struct flavour handover_flavour;

extern const struct flavour sketch_fast_flavour;
extern const struct flavour sketch_send_flavour;
extern const struct flavour sketch_reference_flavour;
extern const struct flavour sketch_rate_flavour;

extern const struct flavour candidate_flavour;
extern const struct flavour candidate_malloc_flavour;
extern const struct flavour candidate_alloc_flavour;
extern const struct flavour candidate_rate_flavour;

/* Remote memory: rma.c, rma_sketch.c, bulk.c, posted.c. */
extern const struct flavour sketch_put_flavour;
extern const struct flavour sketch_put_flush_flavour;
extern const struct flavour sketch_fetch_add_flavour;
extern const struct flavour sketch_compare_swap_flavour;
extern const struct flavour sketch_get_flavour;

extern const struct flavour candidate_put_flavour;
extern const struct flavour candidate_put_flush_flavour;
extern const struct flavour candidate_fetch_add_flavour;
extern const struct flavour candidate_fetch_add_into_flavour;
extern const struct flavour candidate_compare_swap_flavour;
extern const struct flavour candidate_get_flavour;
extern const struct flavour candidate_masked_flavour;
extern const struct flavour candidate_fast_get_flavour;
extern const struct flavour candidate_emulated_flavour;

extern const struct flavour bulk_memcpy_put_flavour;
extern const struct flavour bulk_memcpy_get_flavour;
extern const struct flavour bulk_put_alloc_flavour;
extern const struct flavour bulk_put_malloc_flavour;
extern const struct flavour bulk_get_alloc_flavour;
extern const struct flavour bulk_get_malloc_flavour;

extern const struct flavour posted_copy_flavour;
extern const struct flavour posted_candidate_flavour;

extern const struct flavour ring_socket_flavour;
extern const struct flavour ring_word_flavour;
extern const struct flavour ring_candidate_flavour;

extern const struct flavour sleep_futex_flavour;
extern const struct flavour sleep_eventfd_flavour;
extern const struct flavour sleep_candidate_flavour;

static inline int flavour_nothing(struct side *s)
{
	(void)s;
	return 0;
}

static inline void flavour_leave(struct side *s)
{
	(void)s;
}

/*
 * What most pings and pongs are: first, second, first, ... until one fails.
 * Both are named where it is called, so that it becomes a loop of plain calls.
 */
static inline int flavour_turns(struct side *s, uint32_t trips,
	int (*first)(struct side *), int (*second)(struct side *))
{
	int r = 0;

	while (!r && trips--)
		if (!(r = first(s)))
			r = second(s);
	return r;
}

/* And of operations of one side: until one fails. */
static inline int flavour_repeat(
	struct side *s, uint32_t trips, int (*operation)(struct side *))
{
	int r = 0;

	while (!r && trips--)
		r = operation(s);
	return r;
}

/* The other side of those: it is idle. */
static inline int flavour_idle(struct side *s, uint32_t trips)
{
	(void)s;
	(void)trips;
	return 0;
}

#endif
