/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A party: the processes of one measurement and the memory that they share.
 * The caller of party_run() is not one of them: it sleeps until they are done,
 * ends them if they are not done in time, and holds no port, so that nothing
 * it does disturbs what is measured.
 */
#ifndef CAY_BENCH_PARTY_H
#define CAY_BENCH_PARTY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cay/port.h"

#define PARTY_RANKS_MAX 64u
#define PARTY_APART	128u
#define PARTY_TEXT_MAX	200u
#define PARTY_PATIENCE_NS                                  \
	(5 * CLOCK_NS_PER_S) /* for one slice, or a set-up \
			      */

/* One burst of work: batches of trips, then trips timed one by one. */
struct shape {
	uint32_t batches, trips;
	uint32_t singles;
	uint32_t hops; /* that a trip counts for: its time is divided by it */
};

/* Written by that rank, read by the others. */
struct party_member {
	_Alignas(PARTY_APART) _Atomic uint64_t ready; /* batches prepared */
	_Alignas(PARTY_APART) _Atomic uint32_t stage; /* barriers reached */
	_Atomic uint32_t switches; /* involuntary, since it began */
	struct cay_addr addr;	   /* of its port, before a barrier */
};

struct party_page {
	/* Rank 0: what all do next. `command` counts; it is a futex. */
	_Alignas(PARTY_APART) _Atomic uint32_t command;
	uint32_t flavour;
	struct shape shape;

	/* Rank 0, for whoever shows progress. */
	_Alignas(PARTY_APART) _Atomic uint32_t tried;
	_Atomic uint32_t kept;

	/* Whoever fails first. */
	_Alignas(PARTY_APART) _Atomic uint32_t failed;
	char text[PARTY_TEXT_MAX];

	struct party_member member[PARTY_RANKS_MAX];
};

struct party {
	unsigned ranks;
	int core[2]; /* rank 0's, and that of the others */
	struct party_page *page;
	unsigned char *area; /* shared, zeroed, for the caller to divide */
	size_t area_bytes;
	int link[PARTY_RANKS_MAX][2]; /* socket pair from a rank to the next */
	int event[PARTY_RANKS_MAX];   /* eventfd of a rank */
	uint64_t deadline;	      /* this process's, of what it does now */
};

/* What each process runs. 0 or -errno, having called party_fail(). */
typedef int (*party_body)(struct party *, unsigned rank, void *argument);
/* Called by the parent a few times a second. */
typedef void (*party_watch)(const struct party_page *, void *argument);

struct party_job {
	party_body body;
	party_watch watch; /* NULL: the parent only sleeps */
	void *argument;
	uint64_t limit_ns; /* after which the processes are ended */
};

/* 0 or -errno. A party of two is pinned, a larger one shares the two cores. */
int party_open(
	struct party *, unsigned ranks, const int core[2], size_t area_bytes);
void party_close(struct party *);

/* Runs the job in every rank; -ECANCELED if one failed: see page->text. */
int party_run(struct party *, const struct party_job *);

/* ---- for the processes ---- */

/* A new slice begins: it may take PARTY_PATIENCE_NS from now. */
void party_renew(struct party *);

/* 0; -ETIMEDOUT, or -ECANCELED when somebody has failed. */
int party_check(const struct party *);

/* Says why this run is over, unless somebody was faster. Gives -ECANCELED. */
__attribute__((format(printf, 2, 3))) int party_fail(
	struct party *, const char *format, ...);

/* Waits until all ranks are here. 0 or as party_check(). */
int party_barrier(struct party *, unsigned rank);

/* Rank 0: tells all what to do next. */
void party_command(struct party *, uint32_t flavour, const struct shape *);

/* The others: waits for the command after *seen, and copies it. */
int party_await_command(
	struct party *, uint32_t *seen, uint32_t *flavour, struct shape *);

/* Rank 0: waits until every other rank has prepared so many batches. */
int party_await_ready(struct party *, uint64_t batches);

/* The others: one batch more is prepared, or finished after the last. */
void party_ready(struct party *, unsigned rank);

/* Leaves the number of involuntary switches of this process for rank 0. */
void party_count_switches(struct party *, unsigned rank);
uint32_t party_switches(const struct party *);

/* ---- bounded spinning: while (...) if ((r = party_spin(p, &looks))) ---- */

#define PARTY_LOOKS 4096u /* between two looks at the clock */

/*
 * With a pause, for every flavour alike: two looks in a row at a line that is
 * about to change only take it away from its writer.
 */
static inline int party_spin(const struct party *p, uint32_t *looks)
{
	clock_relax();
	if (likely(++*looks % PARTY_LOOKS))
		return 0;
	return party_check(p);
}

/* Until the line holds what is due. */
static inline int party_await(
	const struct party *p, const _Atomic uint64_t *line, uint64_t due)
{
	uint32_t looks = 0;
	int r;

	while (atomic_load_explicit(line, memory_order_acquire) != due)
		if (unlikely(r = party_spin(p, &looks)))
			return r;
	return 0;
}

static inline bool party_crowded(const struct party *p)
{
	return p->ranks > 2;
}

#endif
