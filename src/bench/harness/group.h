/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A group: the processes of one measurement and the memory that they share.
 * The caller of group_run() is not one of them: it sleeps until they are done,
 * ends them if they are not done in time, and holds no port, so that nothing
 * it does disturbs what is measured.
 */
#ifndef CAY_BENCH_HARNESS_GROUP_H
#define CAY_BENCH_HARNESS_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cay/port.h"

#define GROUP_RANKS_MAX	 64u
#define CACHE_SEPARATION 128u
#define GROUP_TEXT_MAX	 200u
#define GROUP_TIMEOUT_NS                                   \
	(5 * CLOCK_NS_PER_S) /* for one slice, or a set-up \
			      */

/* One burst of work: batches of trips, then trips timed one by one. */
struct shape {
	uint32_t batches, trips;
	uint32_t singles;
	uint32_t hops; /* that a trip counts for: its time is divided by it */
};

/* Written by that rank, read by the others. */
struct group_member {
	_Alignas(
		CACHE_SEPARATION) _Atomic uint64_t ready; /* batches prepared */
	_Alignas(
		CACHE_SEPARATION) _Atomic uint32_t stage; /* barriers reached */
	_Atomic uint32_t switches; /* involuntary, since it began */
	struct cay_addr addr;	   /* of its port, before a barrier */
};

struct group_page {
	/* Rank 0: what all do next. `command` counts; it is a futex. */
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t command;
	uint32_t workload;
	struct shape shape;

	/* Rank 0, for whoever shows progress. */
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t tried;
	_Atomic uint32_t kept;

	/* Whoever fails first. */
	_Alignas(CACHE_SEPARATION) _Atomic uint32_t failed;
	char text[GROUP_TEXT_MAX];

	struct group_member member[GROUP_RANKS_MAX];
};

struct group {
	unsigned ranks;
	int core[2]; /* rank 0's, and that of the others */
	struct group_page *page;
	unsigned char *area; /* shared, zeroed, for the caller to divide */
	size_t area_bytes;
	int link[GROUP_RANKS_MAX][2]; /* socket pair from a rank to the next */
	int event[GROUP_RANKS_MAX];   /* eventfd of a rank */
	uint64_t deadline;	      /* this process's, of what it does now */
};

/* What each process runs. 0 or -errno, having called group_fail(). */
typedef int (*group_body)(struct group *, unsigned rank, void *argument);
/* Called by the parent a few times a second. */
typedef void (*group_watch)(const struct group_page *, void *argument);

struct group_job {
	group_body body;
	group_watch watch; /* NULL: the parent only sleeps */
	void *argument;
	uint64_t limit_ns; /* after which the processes are ended */
};

/* 0 or -errno. A group of two is pinned, a larger one shares the two cores. */
int group_open(
	struct group *, unsigned ranks, const int core[2], size_t area_bytes);
void group_close(struct group *);

/* Runs the job in every rank; -ECANCELED if one failed: see page->text. */
int group_run(struct group *, const struct group_job *);

/* ---- for the processes ---- */

/* A new slice begins: it may take GROUP_TIMEOUT_NS from now. */
void group_restart_timeout(struct group *);

/* 0; -ETIMEDOUT, or -ECANCELED when somebody has failed. */
int group_check(const struct group *);

/* Says why this run is over, unless somebody was faster. Gives -ECANCELED. */
__attribute__((format(printf, 2, 3))) int group_fail(
	struct group *, const char *format, ...);

/* Waits until all ranks are here. 0 or as group_check(). */
int group_barrier(struct group *, unsigned rank);

/* Rank 0: tells all what to do next. */
void group_command(struct group *, uint32_t workload, const struct shape *);

/* The others: waits for the command after *seen, and copies it. */
int group_await_command(
	struct group *, uint32_t *seen, uint32_t *workload, struct shape *);

/* Rank 0: waits until every other rank has prepared so many batches. */
int group_await_ready(struct group *, uint64_t batches);

/* The others: one batch more is prepared, or finished after the last. */
void group_ready(struct group *, unsigned rank);

/* Leaves the number of involuntary switches of this process for rank 0. */
void group_count_switches(struct group *, unsigned rank);
uint32_t group_switches(const struct group *);

/* ---- bounded spinning: while (...) if ((r = group_spin(p, &looks))) ---- */

#define GROUP_SPINS 4096u /* between two looks at the clock */

/*
 * With a pause, for every workload alike: two looks in a row at a line that is
 * about to change only take it away from its writer.
 */
static inline int group_spin(const struct group *p, uint32_t *looks)
{
	clock_relax();
	if (likely(++*looks % GROUP_SPINS))
		return 0;
	return group_check(p);
}

/* Until the line holds what is due. */
static inline int group_await(
	const struct group *p, const _Atomic uint64_t *line, uint64_t due)
{
	uint32_t looks = 0;
	int r;

	while (atomic_load_explicit(line, memory_order_acquire) != due)
		if (unlikely(r = group_spin(p, &looks)))
			return r;
	return 0;
}

static inline bool group_oversubscribed(const struct group *p)
{
	return p->ranks > 2;
}

#endif
