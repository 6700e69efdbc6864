/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A group: the processes of one measurement and the memory that they share.
 * Usually group_run() forks them; an MPI launcher can start them as well, and
 * then each calls group_attach().
 */
#ifndef CAY_BENCH_HARNESS_GROUP_H
#define CAY_BENCH_HARNESS_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/clock.h"

#define GROUP_RANKS_MAX	 64u
#define GROUP_TEXT_MAX	 200u
#define GROUP_TIMEOUT_NS (5 * CLOCK_NS_PER_S) /* default */
/* Bytes between objects that share neither a cache line nor a pair of lines
 * that the prefetcher fetches together. */
#define CACHE_SEPARATION 128u

/* How a slice is sampled: batches, then iterations timed one by one. */
struct sampling {
	uint32_t warm_up; /* batches that are not recorded */
	uint32_t batches;
	uint32_t iterations; /* of a batch */
	uint32_t singles;
	uint32_t hops; /* of an iteration: its time is divided by this */
};

/* Written by one rank, read by the others. */
struct group_member {
	/* Batches that the rank has prepared. */
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t ready;
	/* Barriers that it has reached. */
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t barriers;
	_Atomic uint32_t preemptions;
};

/* Shared, all zero at the start. */
struct group_page {
	/* The next slice, set by rank 0. `command` counts; it is a futex. */
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t command;
	uint32_t workload;
	struct sampling sampling;

	/* Rounds so far, set by rank 0 for the progress display. */
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t tried;
	_Atomic uint32_t kept;

	/* The first failure. */
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t failed;
	char text[GROUP_TEXT_MAX];

	/* The cache line of the hand-over. */
	_Alignas(CACHE_SEPARATION) _Atomic uint64_t line;

	struct group_member member[GROUP_RANKS_MAX];
};

/* A process's view of its group. */
struct group {
	unsigned ranks;
	int core[2]; /* rank 0's, and that of the others */
	struct group_page *page;
	unsigned char *area; /* shared, for the caller to divide */
	size_t area_bytes;
	/* Descriptors that forked ranks inherit. */
	int link[GROUP_RANKS_MAX][2]; /* socket pair from a rank to the next */
	int pipe[GROUP_RANKS_MAX][2]; /* pipe from a rank to the next */
	int event[GROUP_RANKS_MAX];   /* eventfd of a rank */
	uint64_t timeout_ns;	      /* of a slice or a set-up */
	/* Private to a rank. */
	uint64_t deadline; /* of the current slice */
	uint64_t line_at;  /* last value of page->line that it has seen */
	uint32_t command_seen;
	bool paused; /* the next command may be far away: sleep until then */
	int (*progress)(void *);
	void *progress_state;
};

/* ---- for the parent: launch.c ---- */

/* Called in each rank. Returns 0, or -errno after group_fail(). */
typedef int (*group_body)(struct group *, unsigned rank, void *argument);

struct group_job {
	group_body body;
	/* Called by the parent a few times per second; NULL: never. */
	void (*watch)(const struct group_page *, void *argument);
	void *argument;
	uint64_t limit_ns; /* after which the processes are ended */
};

/* Maps memory and opens descriptors. Returns 0 or -errno. */
int group_open(
	struct group *, unsigned ranks, const int core[2], size_t area_bytes);
void group_close(struct group *);

/*
 * Forks the ranks and waits for them. Two ranks are pinned to one core each,
 * more share both cores. The ranks end with the parent. Returns 0, or
 * -ECANCELED if a rank failed: see page->text.
 */
int group_run(struct group *, const struct group_job *);

/* ---- for the ranks: group.c ---- */

/* Returns the bytes of shared memory for the page and an area. */
size_t group_bytes(size_t area_bytes);

/* Uses memory of group_bytes() that is shared by other means. */
void group_attach(
	struct group *, unsigned ranks, void *memory, size_t area_bytes);

/* Restarts the time-out. */
void group_restart_timeout(struct group *);

/* Returns 0, -ETIMEDOUT, or -ECANCELED if a rank has failed. */
int group_check(const struct group *);

/* Records the reason of the first failure. Returns -ECANCELED. */
__attribute__((format(printf, 2, 3))) int group_fail(
	struct group *, const char *format, ...);

/* Waits for all ranks. Returns 0 or as group_check(). */
int group_barrier(struct group *, unsigned rank);

/* Rank 0: starts the next slice. */
void group_command(struct group *, uint32_t workload, const struct sampling *);

/* Other ranks: wait for the command after the last one, and copy it. */
int group_await_command(struct group *, uint32_t *workload, struct sampling *);

/* Rank 0: waits until every other rank has prepared so many batches. */
int group_await_ready(struct group *, uint64_t batches);

/* Other ranks: a batch is prepared, or the slice is complete. */
void group_ready(struct group *, unsigned rank);

/* Publishes how often the kernel has preempted this process. */
void group_count_preemptions(struct group *, unsigned rank);
/* Returns the sum over all ranks. */
uint32_t group_preemptions(const struct group *);

/* ---- bounded polling: while (...) if ((r = group_spin(g, &spins))) ---- */

#define GROUP_SPINS 4096u /* between two clock readings */

static inline int group_poll(const struct group *g, uint32_t *spins)
{
	return likely(++*spins % GROUP_SPINS) ? 0 : group_check(g);
}

/*
 * Pauses before each poll, in every workload alike: back-to-back loads of a
 * line only delay the store of its writer.
 */
static inline int group_spin(const struct group *g, uint32_t *spins)
{
	clock_relax();
	return group_poll(g, spins);
}

/* Spins until the word has the value. */
static inline int group_await(
	const struct group *g, const _Atomic uint64_t *word, uint64_t value)
{
	uint32_t spins = 0;
	int r;

	while (atomic_load_explicit(word, memory_order_acquire) != value)
		if (unlikely(r = group_spin(g, &spins)))
			return r;
	return 0;
}

static inline bool group_oversubscribed(const struct group *g)
{
	return g->ranks > 2;
}

#endif
